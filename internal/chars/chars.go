// Package chars classifies characters.
package chars

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// AllDigits reports whether s is not empty and consists of ASCII digits.
func AllDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Invisible reports whether a character is displayed as nothing.
func Invisible(c rune) bool {
	return c >= 0xad && (unicode.Is(unicode.Cf, c) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c) ||
		unicode.Is(unicode.Variation_Selector, c))
}

// HidesLine returns the line, from 1, of the first character that makes a text show other
// lines than a reader of YAML finds, 0 if there is none: what YAML takes for the end of a
// line and editors do not, so that a comment goes on as an entry, and what changes the
// direction of the text.
func HidesLine(text []byte) int {
	for n, line := range bytes.Split(text, []byte("\n")) {
		if strings.ContainsFunc(string(bytes.TrimSuffix(line, []byte("\r"))), func(c rune) bool {
			return c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)
		}) {
			return n + 1
		}
	}
	return 0
}

// EscapeJSON returns a JSON text with escapes in the place of characters that are displayed as
// nothing, end a line, control a terminal or change the direction of text. They are only in
// strings, whose values stay the same. A text without any is returned as it is.
func EscapeJSON(text []byte) []byte {
	hidden := func(c rune) bool {
		return 0x7f <= c && c <= 0x9f || c == '\u2028' || c == '\u2029' || Invisible(c)
	}
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b []byte
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case !hidden(c):
			b = append(b, text[:size]...)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
		text = text[size:]
	}
	return b
}
