package effects

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a text shown to people, in characters.
const (
	displayMax  = 600
	displayTail = 200 // kept of the end of a longer text

	// displayRead is how many bytes of each end of a very long text are looked
	// at. It is so much more than what is shown that a token cut in two there
	// is not shown.
	displayRead = 32 << 10
)

// Display returns a text as it is shown to people and stored for them, on one
// line: recognised tokens and the user information of URLs are masked, control,
// bidirectional, zero-width and other invisible characters are escaped as
// \u{…} (a byte that is not UTF-8 as \x{…}), and a text of more than 600
// characters is cut in the middle, saying how much is left out.
//
// Masking knows the shapes of common tokens; it is no promise that a text holds
// no secret.
func Display(s string) string {
	unread := 0
	if len(s) > 2*displayRead {
		unread = len(s) - 2*displayRead
		s = s[:displayRead] + s[len(s)-displayRead:]
	}
	s = mask(s)
	if !needsEscape(s) && len(s) <= displayMax && unread == 0 {
		return s
	}
	return shorten(escape(s), unread)
}

func needsEscape(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return true
		}
	}
	return false
}

func escape(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, c := range s {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x{%x}`, s[i])
		case c < utf8.RuneSelf && unicode.IsPrint(c), visible(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// visible reports whether a character takes part in what a person sees. Spaces
// other than the common one look like it, and some letters show nothing.
func visible(c rune) bool {
	switch c {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0', '\u17b4', '\u17b5':
		return false
	}
	return unicode.IsPrint(c) && !invisible(c)
}

// shorten cuts the middle of a long text out, of which unread bytes are out
// already.
func shorten(s string, unread int) string {
	n := utf8.RuneCountInString(s)
	if n <= displayMax && unread == 0 {
		return s
	}
	if n <= displayMax { // masks took the rest
		return fmt.Sprintf("%s [%d characters left out]", s, unread)
	}
	head, tail, seen := 0, len(s), 0
	for i := range s {
		switch seen {
		case displayMax - displayTail:
			head = i
		case n - displayTail:
			tail = i
		}
		seen++
	}
	return fmt.Sprintf("%s … [%d characters left out] … %s", s[:head], n-displayMax+unread, s[tail:])
}

// masked stands for what is not shown.
const masked = "***"

// mask replaces tokens by their first letters and asterisks. Only characters
// that tokens are made of are ever replaced, so that nothing a shell would act
// on can hide behind a mask.
func mask(s string) string {
	var b strings.Builder
	done := 0 // of s, already in b
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != ':' && c != '-' && !maskStarts[c] || c != ':' && i > 0 && wordByte(s[i-1]) {
			continue
		}
		keep, end := secretAt(s, i)
		if end <= i {
			continue
		}
		b.WriteString(s[done : i+keep])
		b.WriteString(masked)
		done, i = end, end-1
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// tokenShapes are the beginnings of tokens, with the least number of token
// characters that follow.
var tokenShapes = []struct {
	head string
	min  int
}{
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

// authSchemes stand before a token of any shape.
var authSchemes = []string{"bearer ", "basic ", "token "}

var maskStarts = func() (starts [256]bool) {
	for _, t := range tokenShapes {
		starts[t.head[0]] = true
	}
	for _, a := range authSchemes {
		starts[a[0]], starts[a[0]-'a'+'A'] = true, true
	}
	return starts
}()

// secretAt looks for a secret that begins at s[i]. It returns how many bytes of
// it to show and where it ends; an end of 0 when there is none.
func secretAt(s string, i int) (keep, end int) {
	rest := s[i:]
	switch rest[0] {
	case ':':
		return userinfoAt(s, i)
	case '-':
		return keyBlockAt(s, i)
	}
	for _, t := range tokenShapes {
		if strings.HasPrefix(rest, t.head) {
			if n := tokenLen(rest[len(t.head):]); n >= t.min {
				return len(t.head), i + len(t.head) + n
			}
		}
	}
	for _, a := range authSchemes {
		if len(rest) > len(a) && strings.EqualFold(rest[:len(a)], a) {
			// "basic usage" is no secret: only what follows a header's colon
			// or is long is taken for one.
			n := tokenLen(rest[len(a):])
			if n >= 20 || n >= 8 && strings.HasSuffix(strings.TrimRight(s[:i], " "), ":") {
				return len(a), i + len(a) + n
			}
		}
	}
	return 0, 0
}

// userinfoAt finds "://user:password@" with the colon at s[i].
func userinfoAt(s string, i int) (keep, end int) {
	rest, ok := strings.CutPrefix(s[i:], "://")
	if !ok {
		return 0, 0
	}
	n := 0
	for n < len(rest) && (wordByte(rest[n]) || strings.IndexByte("-.~%!*+,=:@", rest[n]) >= 0) {
		n++
	}
	at := strings.LastIndexByte(rest[:n], '@')
	if at <= 0 || rest[:at] == "git" { // git@ is the name that all use
		return 0, 0
	}
	return len("://"), i + len("://") + at
}

// keyBlockAt finds a PEM block of a private key that begins at s[i].
func keyBlockAt(s string, i int) (keep, end int) {
	rest, ok := strings.CutPrefix(s[i:], "-----BEGIN ")
	if !ok {
		return 0, 0
	}
	label, body, ok := strings.Cut(rest, "-----")
	if !ok || len(label) > 40 || !strings.Contains(label, "PRIVATE KEY") {
		return 0, 0
	}
	keep = len(s) - i - len(body)
	// Only long lines of base64 are masked: a short line may be a command.
	for n := 0; ; {
		line := n
		for _, sep := range []string{"\r", "\n", `\r`, `\n`} {
			if strings.HasPrefix(body[line:], sep) {
				line += len(sep)
			}
		}
		stop := line
		for stop < len(body) && (wordByte(body[stop]) || strings.IndexByte("+/=", body[stop]) >= 0) {
			stop++
		}
		if stop-line < 32 {
			if n == 0 {
				return 0, 0
			}
			return keep, i + keep + n
		}
		n = stop
	}
}

// tokenLen counts the token characters that s begins with. The slash is not one
// of them, although some tokens hold it: it would let a path hide.
func tokenLen(s string) int {
	n := 0
	for n < len(s) && (wordByte(s[n]) || strings.IndexByte("-.+=~", s[n]) >= 0) {
		n++
	}
	return n
}

func wordByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '_'
}
