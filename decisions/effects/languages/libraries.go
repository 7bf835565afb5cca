package languages

import (
	"slices"
	"strings"
)

// Library is what a word for the linker names with -l.
type Library struct {
	Arg int
	// Files are what the linker looks for in the folders of -L, nil for a plain name, of which
	// it opens lib*.a and the like: see CompilerFinds.
	Files []string
	// Elsewhere is set if the name leads out of a folder, as the linker's own.
	Elsewhere bool
}

// Libraries returns the libraries that the words of a compiler may name, and the folders in which
// the linker looks for them. A word counts wherever it is, and in each way to hand it to the linker: -Wl,
// -Xlinker.
func Libraries(args []string) (libs []Library, folders []string) {
	for i, arg := range args {
		words := []string{arg}
		if rest, ok := strings.CutPrefix(arg, "-Wl,"); ok {
			words = strings.Split(rest, ",")
		}
		for k, word := range words {
			next := ""
			switch rest := slices.DeleteFunc(slices.Clone(args[i+1:min(i+3, len(args))]), func(a string) bool { return a == "-Xlinker" }); {
			case k+1 < len(words):
				next = words[k+1]
			case len(rest) > 0:
				next = strings.TrimPrefix(rest[0], "-Wl,")
			}
			if name, ok := valueOf(word, next, "-l", "library"); ok && name != "" {
				if lib := library(name); lib.Files != nil {
					lib.Arg = i
					libs = append(libs, lib)
				}
			}
			if dir, ok := valueOf(word, next, "-L", "library-path"); ok && dir != "" {
				folders = append(folders, dir)
				if below, ok := strings.CutPrefix(dir, "="); ok { // of the system's root
					folders = append(folders, below)
				}
				if below, ok := strings.CutPrefix(dir, "$SYSROOT"); ok {
					folders = append(folders, below)
				}
			}
		}
	}
	return libs, folders
}

// valueOf returns the value that a word gives to an option.
func valueOf(word, next, letter, name string) (value string, ok bool) {
	long, dashes := strings.CutPrefix(strings.TrimPrefix(word, "-"), "-")
	if !dashes {
		long, dashes = strings.CutPrefix(word, "-")
	}
	switch {
	case word == letter, dashes && long == name:
		return next, true
	case dashes && strings.HasPrefix(long, name+"="):
		return long[len(name)+1:], true
	}
	return strings.CutPrefix(word, letter)
}

// library returns what a name leads to. Only letters, digits and a few others are plain.
func library(name string) Library {
	file, exact := strings.CutPrefix(name, ":")
	lib := Library{Elsewhere: strings.Contains(name, "/") || strings.Contains(name, "..")}
	switch {
	case exact:
		lib.Files = []string{file}
	case lib.Elsewhere || strings.Trim(name, plainName) != "":
		lib.Files = []string{"lib" + name + ".a", "lib" + name + ".so", name}
	case strings.HasSuffix(name, ".o"): // as it is, to that of macOS
		lib.Files = []string{name}
	}
	return lib
}

const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-."
