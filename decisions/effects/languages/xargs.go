package languages

import "strings"

// XargsWords splits text as xargs does (POSIX, xargs): at blanks and newlines, where quotes
// hold together what is on one line, and a backslash takes the next character as it is.
// plain is false where implementations differ: in quotes, in other characters than those of
// ASCII that print, and in an underscore alone, which may end the words.
func XargsWords(text string) (words []string, plain bool) {
	plain = true
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			plain = plain && word.String() != "_"
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n':
			end()
			continue
		case '\'', '"':
			plain = false
			line, _, _ := strings.Cut(text[i+1:], "\n")
			if n := strings.IndexByte(line, c); n >= 0 {
				word.WriteString(line[:n])
				i += n + 1
			}
		case '\\':
			plain = false
			if i++; i < len(text) {
				word.WriteByte(text[i])
			}
		default:
			plain = plain && c > ' ' && c < 0x7f
			word.WriteByte(c)
		}
		inWord = true
	}
	end()
	return words, plain
}
