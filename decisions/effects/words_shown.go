package effects

import "strings"

// show is the word as a person would type it.
func showWord(w *word) string {
	switch {
	case w.dynamic(), w.tree:
		return w.shown
	case w.glob:
		return w.shown
	}
	return quoteWord(w.text)
}

// quoteWord quotes a word for a shell where it needs that.
func quoteWord(text string) string {
	if text == "" {
		return "''"
	}
	plain := true
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
		case strings.IndexByte("-_./=:,@%+", c) >= 0:
		case c == '^' || c == '{' || c == '}' || c == '~' && i > 0:
		default:
			plain = false
		}
	}
	if plain && !strings.Contains(text, "{") {
		return text
	}
	if plain && (text == "{}" || strings.Contains(text, "@{")) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
