package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// ShowWord returns the word as a person would type it.
func ShowWord(w *effects.Word) string {
	switch {
	case w.Dynamic(), w.Tree:
		return w.Shown
	case w.Glob:
		return w.Shown
	}
	return QuoteWord(w.Text)
}

// QuoteWord quotes a word for a shell if necessary.
func QuoteWord(text string) string {
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
