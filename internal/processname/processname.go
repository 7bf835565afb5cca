// Package processname says which program a process runs, for people to read. Nothing may be decided
// by it: a process can run any program, and its id be that of another by now.
package processname

import (
	"strings"
	"unicode/utf8"
)

// maxName bounds a name in bytes.
const maxName = 64

// Of returns the name of the program that a process runs, "" if that is not known.
func Of(pid int32) string {
	if pid <= 0 {
		return "" // it is in another namespace
	}
	name := strings.ToValidUTF8(of(pid), "\uFFFD")
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
