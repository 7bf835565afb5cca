package own

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Word returns the name of the program in the name of a package:
// example.org/permd/cmd/permd@latest, nixpkgs#permd, registry/permd:1.
func Word(word string) string {
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

// UseOfWords returns the use of permd by the words after its name. The name may be
// that of a file, so only the words of a command are a use.
func UseOfWords(args []string) effects.OwnUse {
	if !StartsCommand(args) {
		if len(args) == 0 {
			return effects.OwnReads
		}
		return effects.OwnNone
	}
	return Command(args)
}

// StartsCommand reports whether words begin with a command of permd, possibly after
// options.
func StartsCommand(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "--":
		case w == "--root":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			_, ok := commands()[Name+" "+w]
			return ok
		}
	}
	return false
}
