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

// letterRule is the value of a one-letter option in some program.
type letterRule struct {
	letter   byte
	means    letterMeans
	attached bool   // only in the same word
	with     string // only in a command that contains this word
}

type letterMeans uint8

const (
	letterPlain letterMeans = iota
	letterSecret
	letterUser // user:password
)

var letterRules = func() map[string][]letterRule {
	all := map[string][]letterRule{}
	for programs, rules := range map[string][]letterRule{
		"curl":                  {{letter: 'u', means: letterUser}, {letter: 'U', means: letterUser}},
		"http https xh xhs":     {{letter: 'a', means: letterUser}},
		"sshpass rabbitmqadmin": {{letter: 'p', means: letterSecret}},
		"mysql mysqldump mysqladmin mysqlimport mysqlshow mariadb mariadb-dump mariadb-admin 7z 7za": {{letter: 'p', means: letterSecret, attached: true}},
		"mongo mongosh mongodump mongorestore mongoexport mongoimport":                               {{letter: 'p', means: letterSecret}},
		"redis-cli valkey-cli":                                {{letter: 'a', means: letterSecret}},
		"sqlcmd bcp ipmitool zip unzip":                       {{letter: 'P', means: letterSecret}},
		"ldapsearch ldapadd ldapmodify ldapwhoami":            {{letter: 'w', means: letterSecret}},
		"docker podman nerdctl helm oras crane buildah az oc": {{letter: 'p', means: letterSecret, with: "login"}},
	} {
		for program := range strings.FieldsSeq(programs) {
			all[program] = rules
		}
	}
	return all
}()

// letterOf returns the rule for a one-letter option at s[i], by the command that it is
// in.
func (m *masker) letterOf(i int, letter byte) (found letterRule) {
	if strings.IndexByte("uUapPw", letter) < 0 {
		return found
	}
	m.lookBack(i, func(word string) bool {
		for _, rule := range letterRules[word] {
			if rule.letter == letter && (rule.with == "" || m.lookBack(i, func(w string) bool { return w == rule.with })) {
				found = rule
			}
		}
		return found.means != letterPlain
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
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		w := &words[i]
		if keep := secretWord(words, i); keep >= 0 {
			text := w.Text[:keep] + hide(w.Text[keep:])
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

// secretWord returns how many leading bytes of a command's word are not secret; -1 if
// the word as a whole is not known to be a secret.
func secretWord(words []effects.Word, i int) int {
	w := &words[i]
	if i == 0 || w.Dynamic() || w.Glob || w.Tree || len(w.Text) < 2 {
		return -1
	}
	if before := &words[i-1]; i > 1 && !before.Dynamic() && len(before.Text) > 1 && before.Text[0] == '-' && w.Text[0] != '-' {
		if keep := secretValue(words, before.Text, w.Text); keep >= 0 {
			return keep
		}
	}
	if i > 2 && w.Text[0] != '-' && setters[words[i-2].Text] && SecretName(words[i-1].Text, nameOfOption) {
		return 0 // "config set NAME VALUE"
	}
	if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' {
		if rule := letterRuleOf(words, w.Text[1]); rule.means == letterSecret {
			return 2
		}
	}
	return -1
}

// secretValue is secretWord for a word that may be the value of the preceding option.
func secretValue(words []effects.Word, option, text string) int {
	switch {
	case option == "-H" || option == "--header":
		return secretHeader(text)
	case strings.HasPrefix(option, "--no-") || strings.Contains(option, "="):
	case len(option) > 4 && SecretName(option, nameOfOption) && !strings.HasPrefix(text, "id=") && !strings.HasPrefix(text, "type="):
		if from, end := excluded(text, 0, len(text)); end > from && strings.IndexByte("/~.", text[0]) < 0 {
			return 0
		}
	case len(option) == 2:
		switch rule := letterRuleOf(words, option[1]); {
		case rule.means == letterSecret && !rule.attached:
			return 0
		case rule.means == letterUser:
			if user, password, ok := strings.Cut(text, ":"); ok && password != "" {
				return len(user) + 1
			}
		}
	}
	return -1
}

// secretHeader returns how many bytes of a header are not secret: its name, and the
// scheme of its value.
func secretHeader(text string) int {
	name, value, ok := strings.Cut(text, ":")
	if !ok || !SecretName(name, nameOfHeader) {
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

// setters precede a name and its value.
var setters = wordset.Of("set", "config", "put", "setx")

// letterRuleOf is letterOf for a list of words.
func letterRuleOf(words []effects.Word, letter byte) letterRule {
	if strings.IndexByte("uUapPw", letter) < 0 {
		return letterRule{}
	}
	for i := range min(len(words), 8) {
		program := words[i].Text
		for _, rule := range letterRules[program[strings.LastIndexByte(program, '/')+1:]] {
			if rule.letter != letter {
				continue
			}
			if rule.with == "" {
				return rule
			}
			for j := range min(len(words), 8) {
				if words[j].Text == rule.with {
					return rule
				}
			}
		}
	}
	return letterRule{}
}
