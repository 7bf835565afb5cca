package display

import (
	"iter"
	"strings"
	"sync"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/wordset"
)

// Masked replaces secrets in shown text.
const Masked = "***"

// mask replaces secrets by asterisks: tokens of a known form anywhere, and the values
// of names that denote secrets. Only characters that occur in tokens are replaced, so
// that masking never hides a character that is special to a shell.
func mask(s string) string { return maskText(s, false) }

// maskText is mask; word is set for one word of a command without its quotes.
func maskText(s string, word bool) string {
	var b strings.Builder
	done := 0 // bytes of s that are already in b
	for from, end := range secrets(s, word) {
		b.WriteString(s[done:from])
		if strings.HasSuffix(s[:from], keyBlockEnd) {
			b.WriteString(Masked) // its lines are base64, which may contain slashes
		} else {
			b.WriteString(hide(s[from:end]))
		}
		done = end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// secrets yields the bounds of the secrets in a text, in order: those that the words of a
// command tell, and between them those that a name or their own form tells.
func secrets(s string, word bool) iter.Seq2[int, int] {
	return func(yield func(from, end int) bool) {
		told := commandSecrets(s)
		if told == nil && !word && !mayHoldSecret(s) {
			return
		}
		m := masker{s: s, word: word}
		done := 0
		for i := 0; i < len(s); i++ {
			if len(told) > 0 && i >= told[0].from {
				from, end := max(told[0].from, done), told[0].end
				told = told[1:]
				if end > from {
					if !yield(from, end) {
						return
					}
					done, i = end, end-1
				}
				continue
			}
			c := s[i]
			if maskStarts[c] == 0 || maskStarts[c] == startsToken && i > 0 && WordByte(s[i-1]) && !afterLetter(s, i) {
				continue
			}
			from, end := m.secretAt(i)
			if end <= i || from < done {
				continue
			}
			if !yield(from, end) {
				return
			}
			done, i = end, end-1
		}
	}
}

// afterLetter reports whether the value of an option of one letter begins at i, in the word of the
// option: -fVALUE.
func afterLetter(s string, i int) bool {
	return i > 1 && s[i-2] == '-' && (i == 2 || strings.IndexByte(beforeOption, s[i-3]) >= 0)
}

// beforeOption are the characters before an option.
const beforeOption = " \t\n'\"(="

// mayHoldSecret returns false for most texts: those without a long word and without
// any character that introduces a secret.
func mayHoldSecret(s string) bool {
	run := 0
	for i := range len(s) {
		switch c := s[i]; {
		case maskStarts[c]&startsName != 0:
			return true
		case c == ' ':
			run = 0
		default:
			if run++; run >= shortestToken {
				return true
			}
		}
	}
	return false
}

// hide masks all but a shell's special characters.
func hide(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := i
		for n < len(s) && !special(s[n]) {
			n++
		}
		if n > i {
			b.WriteString(Masked)
			i = n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// special reports whether a character is never masked.
func special(c byte) bool { return strings.IndexByte(";|&$`()<>\"'{}#/\\ \t\r\n", c) >= 0 }

// Where a secret may begin, or be recognised by what precedes it.
const (
	startsToken = 1 << iota // a token or a scheme, at the beginning of a word
	startsName              // after a name, or an option
	startsText              // after a name and blanks, in quotes
)

var maskStarts = func() (starts [256]byte) {
	for _, t := range tokenShapes {
		starts[t.head[0]] |= startsToken
	}
	for _, a := range authSchemes {
		starts[a[0]] |= startsToken
		starts[a[0]-'a'+'A'] |= startsToken
	}
	for _, c := range ":=-" {
		starts[c] |= startsName
	}
	starts['"'], starts['\''], starts['<'] = startsText, startsText, startsText
	return starts
}()

// shortestToken is the minimum length of a token that is recognised by its form.
const shortestToken = 12

type tokenShape struct {
	head string
	min  int
}

// tokenShapes are the prefixes of tokens, with the minimum number of token characters
// that follow.
var tokenShapes = []tokenShape{
	{"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16}, // GitHub
	{"glpat-", 10}, {"gldt-", 10}, {"glrt-", 10}, {"glptt-", 10}, {"glcbt-", 10}, {"glsa_", 16}, // GitLab, Grafana
	{"sk-", 16}, {"sk_live_", 10}, {"sk_test_", 10}, {"rk_live_", 10}, {"rk_test_", 10}, {"whsec_", 16}, // OpenAI, Anthropic, Stripe
	{"gsk_", 16}, {"xai-", 16}, {"r8_", 16}, {"hf_", 16}, {"pplx-", 16}, // model services
	{"AKIA", 12}, {"ASIA", 12}, {"AIza", 20}, {"ya29.", 10}, {"GOCSPX-", 10}, // AWS, Google
	{"xoxb-", 8}, {"xoxp-", 8}, {"xoxa-", 8}, {"xoxr-", 8}, {"xoxs-", 8}, {"xoxe-", 8}, {"xapp-", 8}, // Slack
	{"npm_", 16}, {"pypi-", 16}, {"dckr_pat_", 10}, {"rubygems_", 16}, {"SG.", 16}, // registries, SendGrid
	{"dop_v1_", 16}, {"doo_v1_", 16}, {"hvs.", 10}, {"hvb.", 10}, {"shpat_", 16}, {"figd_", 16}, {"lin_api_", 16},
	{"ATATT3", 16}, {"nfp_", 16}, {"sbp_", 16}, {"vercel_", 16}, {"AGE-SECRET-KEY-", 10}, {"eyJ", 16},
}

// shapesFrom are the shapes by the first byte.
var shapesFrom = sync.OnceValue(func() *[256][]tokenShape {
	var by [256][]tokenShape
	for _, t := range tokenShapes {
		by[t.head[0]] = append(by[t.head[0]], t)
	}
	return &by
})

// authSchemes precede a token of any form.
var authSchemes = []string{"bearer ", "basic ", "token "}

// secretAt looks for a secret that begins at s[i] or is introduced by s[i]. It returns
// the secret's bounds; end is 0 if there is none.
func (m *masker) secretAt(i int) (from, end int) {
	s := m.s
	switch s[i] {
	case ':':
		if strings.HasPrefix(s[i:], "://") {
			if from, end = userinfoAt(s, i); end == 0 {
				return hookAt(s, i)
			}
			return from, end
		}
		if from, end = userinfoInPath(s, i); end != 0 {
			return from, end
		}
		if from, end = m.fieldAt(i); end == 0 {
			return m.loginAt(i)
		}
		return from, end
	case '=':
		return m.valueAt(i)
	case '<':
		return elementAt(s, i)
	case '"', '\'':
		return m.statementAt(i)
	case '-':
		if strings.HasPrefix(s[i:], keyBlock) {
			return keyBlockAt(s, i)
		}
		return m.optionAt(i)
	}
	rest := s[i:]
	if head, n := tokenAt(rest); n > 0 {
		return i + head, i + head + n
	}
	for _, a := range authSchemes {
		if rest[0]|0x20 == a[0] && len(rest) > len(a) && strings.EqualFold(rest[:len(a)], a) {
			// "basic usage" is no secret: the word must follow a header's colon or be
			// long.
			n := tokenLen(rest[len(a):])
			if n >= 20 || n >= 8 && strings.HasSuffix(strings.TrimRight(s[:i], " "), ":") {
				return i + len(a), i + len(a) + n
			}
		}
	}
	return 0, 0
}

// tokenAt returns the length of the token of a known form that s begins with, as the
// prefix that tells its type and the rest.
func tokenAt(s string) (head, n int) {
	for _, t := range shapesFrom()[s[0]] {
		if strings.HasPrefix(s, t.head) {
			if n := tokenLen(s[len(t.head):]); n >= t.min {
				return len(t.head), n
			}
		}
	}
	return 0, 0
}

// userinfoAt finds "://user:password@" with the colon at s[i].
func userinfoAt(s string, i int) (from, end int) {
	return userinfoIn(s, i+len("://"))
}

// userinfoInPath is userinfoAt for an address that was taken for a path, in which two slashes are
// one: "https:/user:password@".
func userinfoInPath(s string, i int) (from, end int) {
	for _, scheme := range []string{"http", "https", "ssh", "ftp", "git", "postgres", "postgresql", "mysql", "redis", "mongodb", "amqp"} {
		if strings.HasPrefix(s[i:], ":/") && strings.HasSuffix(s[:i], scheme) {
			return userinfoIn(s, i+len(":/"))
		}
	}
	return 0, 0
}

// userinfoIn finds "user:password@" at s[i].
func userinfoIn(s string, i int) (from, end int) {
	rest := s[i:]
	n := 0
	for n < len(rest) && (WordByte(rest[n]) || strings.IndexByte("-.~%!*+,=:@", rest[n]) >= 0) {
		n++
	}
	at := strings.LastIndexByte(rest[:n], '@')
	if at <= 0 || rest[:at] == "git" { // everybody uses the name git in git@
		return 0, 0
	}
	return i, i + at
}

// hookAddresses begin addresses whose rest is a secret: who knows it may send.
var hookAddresses = []string{
	"hooks.slack.com/services/", "hooks.slack.com/workflows/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
	"api.telegram.org/bot", "webhook.office.com/webhookb2/", "chat.googleapis.com/v1/spaces/",
}

// hookAt finds the secret of such an address, with the colon at s[i].
func hookAt(s string, i int) (from, end int) {
	for _, a := range hookAddresses {
		if rest := s[i+len("://"):]; strings.HasPrefix(rest, a) {
			from = i + len("://") + len(a)
			end = from
			for end < len(s) && (WordByte(s[end]) || strings.IndexByte("-/:.=", s[end]) >= 0) {
				end++
			}
			return from, end
		}
	}
	return 0, 0
}

// elementAt finds the text of <password>text</password>, with the first bracket at s[i].
func elementAt(s string, i int) (from, end int) {
	name, _, ok := strings.Cut(s[i+1:min(len(s), i+2+maxSecretName)], ">")
	if !ok || name == "" || nameBefore(name, len(name)) != name || !secretName(name, nameOfMember) {
		return 0, 0
	}
	from = i + len(name) + len("<>")
	n := plainLen(s[from:], false)
	if !strings.HasPrefix(s[from+n:], "</"+name+">") {
		return 0, 0
	}
	return excluded(s, from, from+n)
}

// notLogins are what a colon and an at sign follow in other addresses.
var notLogins = wordset.Of("npm", "jsr", "file", "workspace", "mailto", "sip", "acct", "git", "to", "cc", "from", "email", "mail", "user", "author", "committer", "owner", "assignee", "reviewer")

// loginAt finds the password of user:password@host, with the first colon at s[i].
func (m *masker) loginAt(i int) (from, end int) {
	s := m.s
	user := nameBefore(s, i)
	if user == "" || notLogins.Has(strings.ToLower(user)) {
		return 0, 0
	}
	rest := s[i+1 : min(len(s), i+1+maxLookBack)]
	rest = rest[:plainLen(rest, false)]
	at := strings.LastIndexByte(rest, '@')
	if at <= 0 || strings.ContainsAny(rest[:at], "/,") {
		return 0, 0
	}
	host := rest[at+1:]
	host = host[:len(host)-len(strings.TrimLeft(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"))]
	if name := strings.Trim(host, "0123456789."); host == "" || strings.HasPrefix(host, "sha256") || name == "" && strings.Count(host, ".") != 3 || name != "" && !chars.IsLetter(host[0]) {
		return 0, 0
	}
	if after := rest[at+1+len(host):]; !strings.Contains(host, ".") && !strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "/") {
		return 0, 0 // image:tag@digest, name:version@kind
	}
	return i + 1, i + 1 + at
}

const (
	keyBlock    = "-----BEGIN "
	keyBlockEnd = "-----"
)

// keyBlockAt finds a PEM block of a private key that begins at s[i].
func keyBlockAt(s string, i int) (from, end int) {
	label, body, ok := strings.Cut(s[i+len(keyBlock):], "-----")
	if !ok || len(label) > 40 || !strings.Contains(label, "PRIVATE KEY") {
		return 0, 0
	}
	from = len(s) - len(body)
	// Only long lines of base64 are masked: a short line may be a command.
	for n := 0; ; {
		line := n
		for _, sep := range []string{"\r", "\n", `\r`, `\n`} {
			if strings.HasPrefix(body[line:], sep) {
				line += len(sep)
			}
		}
		stop := line
		for stop < len(body) && (WordByte(body[stop]) || strings.IndexByte("+/=", body[stop]) >= 0) {
			stop++
		}
		if stop-line < 32 {
			if n == 0 {
				return 0, 0
			}
			return from, from + n
		}
		n = stop
	}
}

// tokenLen counts the token characters that s begins with. The slash is not one of
// them, although some tokens contain it: otherwise a path could be hidden.
func tokenLen(s string) int {
	n := 0
	for n < len(s) && (WordByte(s[n]) || strings.IndexByte("-.+=~", s[n]) >= 0) {
		n++
	}
	return n
}

func WordByte(c byte) bool {
	return chars.IsLetter(c) || '0' <= c && c <= '9' || c == '_'
}
