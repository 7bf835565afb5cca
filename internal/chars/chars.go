// Package chars classifies characters.
package chars

import "unicode"

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
