// Package languages parses programs in the small languages with which agents examine text
// and data: awk, sed, jq, yq, SQL and a few formats.
//
// Each parser accepts a subset of its language: programs that only compute from their input
// and print. It reads tokens as all common implementations do and accepts only what its
// grammar contains; it rejects everything else, and everything that implementations read
// differently. A parser never searches a program for harmful constructs: such a list is
// never complete.
//
// The parsers access no files and are independent of the program that will run.
package languages

import "strings"

// maxProgram is the maximum length of a program, in bytes.
const maxProgram = 64 << 10

// maxNesting is the maximum nesting of brackets and blocks.
const maxNesting = 64

// readable reports whether a text contains no characters that implementations or locales
// read differently: control characters, and a multi-byte character before a byte that ends
// or escapes something, which might be read as part of the character.
func readable(text string) bool {
	if len(text) > maxProgram {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' && c != '\t' && c != '\n' || c == 0x7f:
			return false
		case c >= 0x80 && i+1 < len(text) && (text[i+1] == '\\' || text[i+1] == '[' || text[i+1] == ']'):
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// span returns the length of the prefix of text whose bytes satisfy is.
func span(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

// name returns the length of the identifier that text begins with, 0 for none.
func name(text string) int {
	if text == "" || !isLetter(text[0]) {
		return 0
	}
	return span(text, func(c byte) bool { return isLetter(c) || isDigit(c) })
}

// bracket returns the length of the bracket expression that text begins with, -1 unless all
// implementations find its end in the same place: those that know brackets, those that know
// classes such as [:alpha:], those in which a backslash escapes, and those that know none of
// this and search for the next delimiter.
func bracket(text string, delimiter byte) int {
	i := 1
	if i < len(text) && text[i] == '^' {
		i++
	}
	if i < len(text) && text[i] == ']' {
		// A member to most, the end to some: since no other bracket may begin in here, they
		// agree again at the end that the others see.
		i++
	}
	for ; i < len(text); i++ {
		switch c := text[i]; c {
		case ']':
			return i + 1
		case '[':
			n := span(text[i:], func(c byte) bool { return c == '[' || c == ':' || 'a' <= c && c <= 'z' })
			if n < len("[:x:") || !strings.HasPrefix(text[i:], "[:") || strings.Count(text[i:i+n], ":") != 2 || strings.Count(text[i:i+n], "[") != 1 ||
				!strings.HasPrefix(text[i+n-1:], ":]") {
				return -1
			}
			i += n
		case '\\':
			if i++; i >= len(text) || text[i] == delimiter || strings.IndexByte("[]\n", text[i]) >= 0 {
				return -1
			}
		case delimiter, '\n':
			return -1
		}
	}
	return -1
}

// delimited returns the length of a regular expression up to its delimiter, -1 if
// implementations may find its end elsewhere.
func delimited(text string, delimiter byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case delimiter:
			return i
		case '\n':
			return -1
		case '\\':
			if i++; i >= len(text) || text[i] == '\n' {
				return -1
			}
		case '[':
			n := bracket(text[i:], delimiter)
			if n < 0 {
				return -1
			}
			i += n - 1
		}
	}
	return -1
}
