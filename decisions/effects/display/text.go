// Package display makes an agent's text safe for people to read: secrets are masked,
// characters that hide or reorder text are escaped, and long text is shortened.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/internal/chars"
)

// Bounds of a text shown to people, in characters.
const (
	displayMax  = 600
	displayTail = 200 // kept of the end of a longer text

	// displayRead is how many bytes of each end of a very long text are scanned. It is
	// so much more than what is shown that a token cut in two there is not shown.
	displayRead = 8 << 10
)

// Title returns a title that an agent gave its call, as Display does, or Masked alone if
// anything in it is masked: a title may be a command, of which only what reads it as one
// finds where a secret ends.
func Title(s string) string {
	shown := Display(s)
	if strings.Contains(shown, Masked) {
		return Masked
	}
	return shown
}

// Display returns a text as it is shown to people and stored for them, on one
// line: recognised tokens and the user information of URLs are masked; control,
// bidirectional, zero-width and other invisible characters are escaped as
// \u{…} (a byte that is not UTF-8 as \x{…}); and of a text of more than 600
// characters the middle is replaced by the number of characters left out.
//
// Masking knows the forms of common tokens; it does not guarantee that a text
// holds no secret.
func Display(s string) string {
	unread := 0
	if len(s) > 2*displayRead {
		unread = len(s) - 2*displayRead
		s = s[:displayRead] + s[len(s)-displayRead:]
	}
	s = mask(maskMembers(s))
	if !needsEscape(s) && len(s) <= displayMax && unread == 0 {
		return s
	}
	return shorten(escape(s), unread)
}

// HoldsSecret reports whether a text has anything that Display would mask, wherever in the
// text it is.
func HoldsSecret(s string) bool { return mask(maskMembers(s)) != s }

// Printable reports whether all characters of a text are shown as they are.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !visible(c) })
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

// visible reports whether a character is shown as it is. Spaces other than the common
// one look like it, and some letters are invisible.
func visible(c rune) bool {
	switch c {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0', '\u17b4', '\u17b5':
		return false
	}
	return unicode.IsPrint(c) && !chars.Invisible(c)
}

// shorten removes the middle of a long text, from which the unread bytes are already
// missing.
func shorten(s string, unread int) string {
	n := utf8.RuneCountInString(s)
	if n <= displayMax && unread == 0 {
		return s
	}
	if n <= displayMax { // masking made it short enough
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
