package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text of one or more lines for a terminal: characters that move the cursor, or are
// not seen, are escaped as \u{…}, and bytes that are no text as \x{…}. They could hide a part of
// what a person decides by, such as the name of a folder.
func Visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x{%02x}`, text[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		text = text[size:]
	}
	return b.String()
}
