package setup

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"
)

// lineDiff shows what a change of a text does, as diff -u does. nil is no file.
func lineDiff(path string, before, after []byte) string {
	from, to := path, path
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	text := diff.Diff(from, before, to, after)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the line with the command
	return string(text)
}

// visibleLines is a text in which a terminal shows all that there is: what moves
// its cursor or is not seen could hide a part of a change from who is asked.
func visibleLines(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r), r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
