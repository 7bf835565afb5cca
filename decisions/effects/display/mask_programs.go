package display

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// Some options take secrets although their names do not show it: curl -u, mysql -p.

// userOption reports whether an option takes user:password.
func userOption(name string) bool {
	return name == "--user" || name == "--proxy-user" || name == "--auth" || name == "--basic-auth"
}

// groupAfterColon are programs whose -u takes users of the system, with a group after
// the colon.
var groupAfterColon = wordset.Of("docker", "podman", "nerdctl", "crictl", "kubectl", "chown", "install", "sudo", "su", "runuser", "systemd-run", "rsync")

// letterOf returns the form of the value of a one-letter option at s[i], by the command
// that it is in; 0 if it has no secret.
func (m *masker) letterOf(i int, letter byte) (found valueForm) {
	option := "-" + string(letter)
	if !secretLetters()[letter] {
		return 0
	}
	m.lookBack(i, func(word string) bool {
		for _, rule := range secretRules()[programName(word)] {
			form := rule.options[option]
			if form == 0 {
				continue
			}
			all := true
			for _, with := range rule.with {
				all = all && m.lookBack(i, func(w string) bool { return matchesAny(with, w) })
			}
			if all {
				found = form
				return true
			}
		}
		return false
	})
	return found
}

// Bounds of the search for the command that an option is in.
const (
	maxLookBack = 256 // bytes
	maxScans    = 64  // in one text
)

// lookBack reports whether is holds for a word of the command before i, without the
// word's folder.
func (m *masker) lookBack(i int, is func(word string) bool) bool {
	if m.scans++; m.scans > maxScans {
		return false
	}
	s, start := m.s, i
	for start > 0 && i-start < maxLookBack && strings.IndexByte(";|&\n(`", s[start-1]) < 0 {
		start--
	}
	for word := range strings.FieldsSeq(s[start:i]) {
		word = strings.Trim(word, `"'`)
		if is(word[strings.LastIndexByte(word, '/')+1:]) {
			return true
		}
	}
	return false
}

// ShowWords returns a command as a person would type it. Words that are secrets are
// masked as a whole: their bounds are known here, so that blanks and quotes in a
// secret do not end the mask.
func ShowWords(words []effects.Word) string {
	return showCommand("", words, nil)
}

// showCommand is ShowWords with a prefix. If shown is not nil, it receives each word.
func showCommand(head string, words []effects.Word, shown []string) string {
	var b strings.Builder
	b.Grow(max(64, 16*len(words)))
	b.WriteString(head)
	masked := maskWords(words)
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		w := &words[i]
		if text, ok := masked[i]; ok {
			if strings.ContainsFunc(text, func(c rune) bool { return c < 0x80 && special(byte(c)) && c != '/' }) {
				text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
			}
			b.WriteString(text)
			continue
		}
		text := ShowWord(w)
		b.WriteString(text)
		if shown != nil {
			shown[i] = text
		}
	}
	return b.String()
}

// secretHeader returns how many bytes of a header are not secret: its name, and the
// scheme of its value.
func secretHeader(text string) int {
	name, value, ok := strings.Cut(text, ":")
	if !ok || !secretName(name, nameOfHeader) {
		return -1
	}
	keep := len(name) + 1 + len(value) - len(strings.TrimLeft(value, " "))
	for _, a := range authSchemes {
		if rest := text[keep:]; len(rest) > len(a) && strings.EqualFold(rest[:len(a)], a) {
			keep += len(a)
		}
	}
	return keep
}

// maskWords returns the masked texts of the words that hold secrets. What is inside of a
// word is searched before the word is quoted, because quotes would hide its structure.
func maskWords(words []effects.Word) map[int]string {
	var masked map[int]string
	put := func(i int, text string) {
		if masked == nil {
			masked = map[int]string{}
		}
		masked[i] = text
	}
	c := newCommands()
	defer c.release()
	texts := c.literals(words)
	secretParts(texts, func(i, keep int) {
		if _, done := masked[i]; i > 0 && !done && keep < len(texts[i]) && texts[i] != "-" {
			put(i, texts[i][:keep]+hide(texts[i][keep:]))
		}
	})
	for i, text := range texts {
		if _, done := masked[i]; done || i == 0 || !strings.ContainsAny(text, ` '"`) {
			continue
		}
		if text2 := maskText(text, true); text2 != text {
			put(i, text2)
		}
	}
	return masked
}
