package setup

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"
)

// lineDiff returns the change of a text in the format of diff -u. nil means that there
// is no file.
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

// visibleLines escapes characters that move the cursor or are invisible: they could hide
// a part of a change from the user.
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
