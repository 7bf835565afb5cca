package own

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// packageProgram returns the name of the program in the name of a package:
// example.org/permd/cmd/permd@latest, nixpkgs#permd, registry/permd:1.
func packageProgram(word string) string {
	if i := strings.LastIndexByte(word, '#'); i >= 0 {
		word = word[i+1:]
	}
	if i := strings.IndexByte(word, '@'); i > 0 {
		word = word[:i]
	}
	if i := strings.LastIndexByte(word, ':'); i > strings.LastIndexByte(word, '/') {
		word = word[:i]
	}
	if strings.HasSuffix(word, ".go") {
		word = path.Dir(word)
	}
	return word
}

// useOfWords returns the use of permd by the words after its name. The name may be
// that of a file, so only the words of a command are a use.
func useOfWords(args []string) effects.OwnUse {
	if !startsCommand(args) {
		if len(args) == 0 {
			return effects.OwnReads
		}
		return effects.OwnNone
	}
	return command(args)
}

// startsCommand reports whether words begin with a command of permd, possibly after
// options.
func startsCommand(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "--":
		case w == "--root":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			_, ok := commands()[permd+" "+w]
			return ok
		}
	}
	return false
}
