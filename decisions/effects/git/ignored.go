package git

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Which files git certainly ignores is determined from .gitignore files alone, and from those of
// their lines that are plain. Any other line, and any other file of ignored names, can only
// cause more files to be ignored, unless it re-includes some: a line with ! that is not plain
// counts as re-including all (gitignore(5)).

// Bounds of reading .gitignore files.
const (
	maxIgnoreFile  = 64 << 10 // bytes
	maxIgnoreLines = 1024
	maxIgnoreWords = 16 // components of a line
)

// ignoreLine is one plain line of a .gitignore file.
type ignoreLine struct {
	words   []string // components, "**" for any number of them
	back    bool     // takes files back in
	folders bool     // matches folders only
}

// ignoreLines are the lines of a .gitignore file.
type ignoreLines struct {
	depth   int  // components of the path of its folder, from the root of the working tree
	unknown bool // it may take back anything but what its lines leave out
	lines   []ignoreLine
}

// readIgnoreLines reads the .gitignore file of a folder. Tracked is set if git tracks one there,
// which it may read in place of a file that is gone; ok is false for anything but a file, which
// git may read by a link.
func readIgnoreLines(fsys effects.FS, file string, depth int, tracked bool) (list ignoreLines, ok bool) {
	list.depth = depth
	data, err := fsys.ReadFile(file, maxIgnoreFile)
	if err != nil {
		return list, errors.Is(err, fs.ErrNotExist) && !tracked
	}
	text := string(data)
	// Git passes over a mark of the order of bytes, and ends a line at a zero byte.
	if strings.HasPrefix(text, "\ufeff") || strings.Contains(text, "\x00") || strings.Count(text, "\n") > maxIgnoreLines {
		list.unknown = true
		return list, true
	}
	for text := range strings.SplitSeq(text, "\n") {
		if text = strings.TrimRight(text, " "); text == "" || text[0] == '#' {
			continue
		}
		line, ok := plainIgnoreLine(text)
		switch {
		case ok:
			list.lines = append(list.lines, line)
		case text[0] == '!':
			list.lines, list.unknown = nil, true
		}
	}
	return list, true
}

// plainIgnoreLine reads a line, if it has nothing but letters, digits and usual marks, * in names,
// and ** for names.
func plainIgnoreLine(text string) (line ignoreLine, ok bool) {
	text, line.back = strings.CutPrefix(text, "!")
	text, line.folders = strings.CutSuffix(text, "/")
	anchored := strings.Contains(text, "/")
	line.words = strings.Split(strings.TrimPrefix(text, "/"), "/")
	if len(line.words) > maxIgnoreWords || strings.Count(text, "**") > 2 {
		return line, false
	}
	for _, word := range line.words {
		if word == "" || word == "." || word == ".." || word != "**" && (strings.Contains(word, "**") || !plainName(strings.ReplaceAll(word, "*", ""))) {
			return line, false
		}
	}
	if !anchored && line.words[0] != "**" {
		line.words = append([]string{"**"}, line.words...)
	}
	return line, true
}

// plainName reports whether a name has nothing but letters, digits and marks that mean nothing
// in patterns.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._-+@~,=%", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// leavesOut reports whether git certainly leaves out what is not tracked at a path, by the
// .gitignore files of the folders above it. The last line that matches decides.
func leavesOut(lists []ignoreLines, rel string, folder bool) bool {
	words := strings.Split(rel, "/")
	for _, word := range words {
		if !plainName(word) {
			return false
		}
	}
	folded := strings.Split(lexpath.Fold(rel), "/")
	out := false
	for _, list := range lists {
		if list.unknown {
			out = false
		}
		for i := range list.lines {
			switch line := &list.lines[i]; {
			case line.folders && !folder:
			case line.back: // git may compare without case
				out = out && !matchesNames(foldedNames(line.words), folded[list.depth:])
			default:
				out = out || matchesNames(line.words, words[list.depth:])
			}
		}
	}
	return out
}

func foldedNames(words []string) []string {
	return strings.Split(lexpath.Fold(strings.Join(words, "/")), "/")
}

// matchesNames reports whether a pattern's components match those of a path.
func matchesNames(pattern, names []string) bool {
	for i, p := range pattern {
		switch {
		case p == "**" && i == len(pattern)-1:
			return len(names) > 0
		case p == "**":
			for skip := range len(names) + 1 {
				if matchesNames(pattern[i+1:], names[skip:]) {
					return true
				}
			}
			return false
		case len(names) == 0:
			return false
		}
		if ok, err := path.Match(p, names[0]); err != nil || !ok {
			return false
		}
		names = names[1:]
	}
	return len(names) == 0
}
