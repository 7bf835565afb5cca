package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Whole reports whether a shown text is all that it was made of: nothing is
// masked, escaped or cut out. Where what was written looks as if something were,
// it says no.
func Whole(text string) bool {
	return !strings.Contains(text, Masked) && !strings.Contains(text, "characters left out]") &&
		!strings.Contains(text, `\u{`) && !strings.Contains(text, `\x{`)
}

// Command is the text of a command as Display shows it, and its words in it, in a
// shell's syntax: joined by blanks they are the text after head. They are nil
// when something is masked, escaped or cut out, so that they say nothing that the
// text does not.
func Command(head string, words []effects.Word) (text string, shown []string) {
	shown = make([]string, len(words))
	whole := showCommand(head, words, shown)
	if text = Display(whole); text != whole || !Whole(text) {
		return text, nil
	}
	return text, shown
}
