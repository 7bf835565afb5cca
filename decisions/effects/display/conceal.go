package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// ConcealWords masks the secrets of a run in what is said about its words: that one is not
// understood, or may be an address. The run is the first of the effects, and has that
// index.
func ConcealWords(effs []effects.Effect, index int, words []effects.Word) {
	var secrets map[int][]string
	for i := range effs {
		e := &effs[i]
		if e.Via == nil || e.Via.Effect != index || e.Run != nil || e.File != nil || e.Use != nil {
			continue
		}
		if secrets == nil {
			if secrets = wordSecrets(words); len(secrets) == 0 {
				return
			}
		}
		found := secrets[e.Via.Arg+1]
		if c := e.Connect; c != nil {
			for _, s := range found {
				if strings.EqualFold(s, c.Host) { // hosts are shown in lower case
					e.Text = Conceal(e.Text, []string{c.Host})
				}
			}
			continue
		}
		e.Why, e.Text = Conceal(e.Why, found), Conceal(e.Text, found)
	}
}

// wordSecrets returns the secrets in the words of a command, by the index of the word. A
// text that is made of one word alone, such as the address that it may be, can only be
// masked with what is known of the whole command.
func wordSecrets(words []effects.Word) map[int][]string {
	var found map[int][]string
	put := func(i int, secret string) {
		if len(secret) < shortestConcealed {
			return
		}
		if found == nil {
			found = map[int][]string{}
		}
		found[i] = append(found[i], secret)
	}
	c := newCommands()
	defer c.release()
	texts := c.literals(words)
	secretParts(texts, func(i, keep int) {
		if i > 0 && keep < len(texts[i]) {
			put(i, texts[i][keep:])
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
