package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// PrintsVariable reports whether echo or printf prints a variable with the name of a
// secret. Whether it is set, and its length, are not secret.
func PrintsVariable(program string, words []effects.Word) bool {
	if program != "echo" && program != "printf" {
		return false
	}
	for i := range words {
		for rest := words[i].Shown; words[i].Dynamic(); {
			_, after, found := strings.Cut(rest, "$")
			if !found {
				break
			}
			rest = after
			name := strings.TrimLeft(rest, "{!")
			if strings.HasPrefix(name, "#") {
				continue
			}
			end := 0
			for end < len(name) && (WordByte(name[end])) {
				end++
			}
			if asks := strings.TrimPrefix(name[end:], ":"); !strings.HasPrefix(asks, "+") && secretName(name[:end], nameOfVariable) {
				return true
			}
		}
	}
	return false
}
