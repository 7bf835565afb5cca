package languages

import (
	"path"
	"strings"
)

// Interpreter returns the base name of the program in the first line of a script (#!), or of the
// argument of env there; ok is false if the text has no such line.
func Interpreter(text string) (program string, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	words, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return "", false
	}
	list := strings.Fields(words)
	if len(list) > 1 && path.Base(list[0]) == "env" {
		list = list[1:]
	}
	if len(list) == 0 {
		return "", true
	}
	return path.Base(list[0]), true
}
