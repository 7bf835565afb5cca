package display

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// ConcealWords masks the secrets in the words of effs[index], a run, in what is said about it:
// that a word is not understood, or may be an address. A word that is the value of an option by
// the option's name is masked in all that is made of it, also if the program may take it for a path
// or a command. The effects after that run are its own, and those of the runs in its words; more
// has others, which are kept aside.
func ConcealWords(effs []effects.Effect, index int, words []effects.Word, more ...[]effects.Effect) {
	if effs[index].Run.Shown != nil {
		return // it has none
	}
	var s *runSecrets
	for _, list := range append(more, effs[index+1:]) {
		for i := range list {
			e := &list[i]
			if e.Use != nil {
				continue
			}
			if s == nil {
				if s = secretsOf(words); len(s.byWord) == 0 {
					return
				}
			}
			if e.Via != nil && e.Via.Effect == index {
				s.conceal(e, append(slices.Clone(s.all), s.byWord[e.Via.Arg+1]...), s.told[e.Via.Arg+1])
			} else {
				s.conceal(e, s.all, false)
			}
		}
	}
}

// conceal masks secrets in an effect; whole is set if it is one of a word that is a secret.
func (s *runSecrets) conceal(e *effects.Effect, secrets []string, whole bool) {
	if len(secrets) == 0 {
		return
	}
	text := Conceal(e.Text, secrets)
	switch {
	case e.File != nil:
		// The path of a word without a name is masked by its own form.
		if whole && text == e.Text {
			text = string(e.Kind) + " " + Masked // it is shown as it was resolved
		}
	case e.Run != nil:
		if text != e.Text {
			e.Run.Shown = nil
		}
	case e.Connect != nil:
		for _, s := range secrets {
			if strings.EqualFold(s, e.Connect.Host) { // hosts are shown in lower case
				text = Conceal(text, []string{e.Connect.Host})
			}
		}
	default:
		e.Why = Conceal(e.Why, secrets)
		if whole && text == e.Text {
			for _, s := range secrets { // of the word without its first letters
				for at := 1; at < min(len(s)-shortestTail, displayTail); at++ {
					text, e.Why = Conceal(text, []string{s[at:]}), Conceal(e.Why, []string{s[at:]})
				}
			}
		}
	}
	e.Text = text
}

// shortestTail is the least length of the end of a secret that is masked by itself, in bytes.
const shortestTail = 4

// runSecrets are the secrets in the words of a command.
type runSecrets struct {
	byWord map[int][]string // by the index of the word
	told   map[int]bool     // those that the words around them tell
	all    []string         // of these words
}

// secretsOf returns the secrets in the words of a command. A text that is made of one word alone,
// such as the address that it may be, can only be masked with what is known of the whole command.
func secretsOf(words []effects.Word) *runSecrets {
	found := &runSecrets{}
	put := func(i int, secret string) bool {
		if len(secret) < shortestConcealed {
			return false
		}
		if found.byWord == nil {
			found.byWord, found.told = map[int][]string{}, map[int]bool{}
		}
		found.byWord[i] = append(found.byWord[i], secret)
		return true
	}
	c := newCommands()
	defer c.release()
	texts := c.literals(words)
	secretParts(texts, func(i, keep int) {
		if i > 0 && keep < len(texts[i]) && put(i, texts[i][keep:]) {
			found.told[i] = true
			found.all = append(found.all, texts[i][keep:])
		}
	})
	for i, text := range texts {
		if i == 0 || strings.Contains(text, "://") {
			continue // the user information of an address is masked in its text
		}
		for from, end := range secrets(text, true) {
			put(i, text[from:end])
		}
	}
	return found
}

// shortestConcealed is the least length of a secret that Conceal replaces, in bytes. A
// shorter one may be part of any word.
const shortestConcealed = 3

// Conceal masks the secrets in a text that Display made.
func Conceal(text string, secrets []string) string {
	for _, s := range secrets {
		s = escape(s)
		if len(s) > displayTail {
			s = s[:displayTail] // the text may end in the middle of it
		}
		text = strings.ReplaceAll(text, s, Masked)
		text = strings.ReplaceAll(text, strings.ReplaceAll(s, "'", `'\''`), Masked)
	}
	return text
}
