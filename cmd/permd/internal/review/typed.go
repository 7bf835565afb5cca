package review

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// typed is text that a person types, with a cursor.
type typed struct {
	text []rune
	at   int // the cursor is before this character
}

// newTyped returns text with the cursor at its end.
func newTyped(text string) *typed {
	t := &typed{text: []rune(text)}
	t.at = len(t.text)
	return t
}

// maxTyped bounds what is typed, in characters.
const maxTyped = 4000

// insert puts text before the cursor, in one line.
func (t *typed) insert(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.TrimRight(text, "\r\n"))
	in := []rune(text)
	if len(t.text)+len(in) > maxTyped {
		return
	}
	t.text = append(t.text[:t.at:t.at], append(in, t.text[t.at:]...)...)
	t.at += len(in)
}

// key handles a key of a line of text, and reports whether it is one.
func (t *typed) key(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		t.at = max(t.at-1, 0)
	case "right", "ctrl+f":
		t.at = min(t.at+1, len(t.text))
	case "home", "ctrl+a":
		t.at = 0
	case "end", "ctrl+e":
		t.at = len(t.text)
	case "backspace":
		if t.at > 0 {
			t.at--
			t.text = append(t.text[:t.at:t.at], t.text[t.at+1:]...)
		}
	case "delete", "ctrl+d":
		if t.at < len(t.text) {
			t.text = append(t.text[:t.at:t.at], t.text[t.at+1:]...)
		}
	case "ctrl+u":
		t.text, t.at = t.text[t.at:], 0
	case "ctrl+k":
		t.text = t.text[:t.at:t.at]
	default:
		if k.Text == "" {
			return false
		}
		t.insert(k.Text)
	}
	return true
}

// String is the text as it is sent: without the spaces around it.
func (t *typed) String() string { return strings.TrimSpace(string(t.text)) }

// shown is the text with the cursor, if it has one.
func (t *typed) shown(cursor bool) string {
	if !cursor {
		return string(t.text)
	}
	return string(t.text[:t.at]) + "│" + string(t.text[t.at:])
}
