package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// Whole reports whether a shown text is complete: nothing is masked, escaped or cut
// out. It returns false if the original text only looks like that.
func Whole(text string) bool {
	return !strings.Contains(text, Masked) && !strings.Contains(text, "characters left out]") &&
		!strings.Contains(text, `\u{`) && !strings.Contains(text, `\x{`)
}

// Command returns the text of a command as Display shows it, and its words as they
// appear in it, in shell syntax: joined by blanks they are the text after head. The
// words are nil if anything is masked, escaped or cut out, so that they never reveal
// more than the text.
func Command(head string, words []effects.Word) (text string, shown []string) {
	shown = make([]string, len(words))
	whole := showCommand(head, words, shown)
	if text = Display(whole); text != whole || !Whole(text) {
		return text, nil
	}
	return text, shown
}

// ShowsWords reports whether a line of the list language, as it is displayed, holds no word
// that the text of a run masks. A line alone does not tell that one of its words is a
// secret, as the whole command does.
func ShowsWords(e *effects.Effect, line string) bool {
	if e.Run == nil || !strings.Contains(e.Text, Masked) {
		return true
	}
	shown := wordset.Fields(e.Text)
	for word := range strings.FieldsSeq(line) {
		if !shown.Has(word) && strings.Trim(word, "*") != "" {
			return false
		}
	}
	return true
}
