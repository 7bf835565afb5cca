package display

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// ConcealWords masks the secrets in the words of effs[index], a run, in what is said about each of
// these words: that it is not understood, or may be an address. A word that is the value of an
// option by the option's name is masked in all that is made of it, also if the program may take it
// for a path or a command; what is made of other words is shown, whatever they are, as an agent
// chooses such values. The effects after that run are its own, and those of the runs in its words;
// more has others, which are kept aside.
func ConcealWords(effs []effects.Effect, index int, words []effects.Word, more ...[]effects.Effect) {
	if effs[index].Run.Shown != nil {
		return // it has none
	}
	var s *runSecrets
	for _, list := range append(more, effs[index+1:]) {
		for i := range list {
			e := &list[i]
			if e.Use != nil || e.Via == nil || e.Via.Effect != index {
				continue
			}
			if s == nil {
				if s = secretsOf(words); len(s.byWord) == 0 {
					return
				}
			}
			switch from := e.Via.Arg + 1; {
			case e.Run != nil:
				s.concealProgram(e, words, effs[index].Run.Args)
			case from == 0:
				s.concealRemote(e, words)
			case len(s.byWord[from]) > 0:
				conceal(e, s.byWord[from], s.told[from])
			}
		}
	}
}

// conceal masks secrets in an effect of the word that has them; whole is set if the words around
// it tell so.
func conceal(e *effects.Effect, secrets []string, whole bool) {
	switch {
	case e.File != nil:
		// The path of a word without a name is masked by its own form.
		if whole {
			e.Text = string(e.Kind) + " " + Masked // it is shown as it was resolved
		}
	case e.Connect != nil:
		for _, s := range secrets {
			if strings.EqualFold(s, e.Connect.Host) { // hosts are shown in lower case
				e.Text = Conceal(e.Text, []string{e.Connect.Host})
			} else if whole {
				e.Text = Conceal(e.Text, []string{s})
			}
		}
	default:
		text := Conceal(e.Text, secrets)
		e.Why = Conceal(e.Why, secrets)
		if whole && text == e.Text {
			for _, s := range secrets { // of the word without its first letters
				for at := 1; at < min(len(s)-shortestTail, displayTail); at++ {
					text, e.Why = Conceal(text, []string{s[at:]}), Conceal(e.Why, []string{s[at:]})
				}
			}
		}
		e.Text = text
	}
}

// concealProgram masks the name of the program of a run that is made of the last of the words,
// which have args after the first one, if a secret is taken for it. The names of programs that the
// table has are no secrets.
func (s *runSecrets) concealProgram(e *effects.Effect, words []effects.Word, args []string) {
	first := len(args) - len(e.Run.Args)
	if e.Run.Known || first < 1 || !s.told[first] || e.Via.Arg+1 < first || !slices.Equal(args[first:], e.Run.Args) {
		return
	}
	name := "run " + escape(ShowWord(&words[first]))
	if rest, ok := strings.CutPrefix(e.Text, name); ok {
		e.Text, e.Run.Shown = "run "+Masked+rest, nil
	} else if text := Conceal(e.Text, s.byWord[first]); text != e.Text {
		e.Text, e.Run.Shown = text, nil
	}
}

// concealRemote masks the name at the end of the text of a host that is not known by it, such as
// that of a remote of git, if it is that of a secret and of no other word.
func (s *runSecrets) concealRemote(e *effects.Effect, words []effects.Word) {
	if e.Connect == nil || e.Connect.Host != "" {
		return
	}
	for i := range s.told {
		for _, secret := range s.byWord[i] {
			name, ok := strings.CutSuffix(e.Text, Display(secret))
			if ok && strings.HasSuffix(name, " ") && !s.said(words, i, secret) {
				e.Text = name + Masked
				return
			}
		}
	}
}

// said reports whether a word other than words[but] is a text.
func (s *runSecrets) said(words []effects.Word, but int, text string) bool {
	for i := range words {
		if i != but && words[i].Text == text && !s.told[i] {
			return true
		}
	}
	return false
}

// shortestTail is the least length of the end of a secret that is masked by itself, in bytes.
const shortestTail = 4

// runSecrets are the secrets in the words of a command.
type runSecrets struct {
	byWord map[int][]string // by the index of the word
	told   map[int]bool     // those that the words around them tell
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
