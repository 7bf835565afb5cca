package display

import (
	"strings"

	"github.com/permd/permd/internal/chars"
)

// optionAt finds the value after an option that begins with the dash at s[i]: --token
// value, and -u or -p of some programs.
func (m *masker) optionAt(i int) (from, end int) {
	s := m.s
	if i > 0 && strings.IndexByte(beforeOption, s[i-1]) < 0 && (s[i-1] != '/' || !strings.HasPrefix(s[i:], "--")) {
		return 0, 0
	}
	stop := i
	for stop < len(s) && (WordByte(s[stop]) || s[stop] == '-') {
		stop++
	}
	name := s[i:stop]
	v := stop
	for v < len(s) && s[v] == ' ' {
		v++
	}
	var secret bool
	switch {
	case len(name) < 2:
		return 0, 0
	case chars.IsLetter(name[1]):
		form := m.letterOf(i, name[1])
		switch {
		case form == 0:
			secret = len(name) > 2 && secretName(name, nameOfOption)
		case len(name) == 2 && form == attachedValue, len(name) > 2 && form == nextValue:
			return 0, 0
		default:
			if len(name) > 2 {
				v = i + 2 // attached
			}
			return m.formed(i, v, form)
		}
	case userOption(name):
		if m.lookBack(i, func(word string) bool { return groupAfterColon.Has(word) }) {
			return 0, 0
		}
		if v < len(s) && s[v] == '=' {
			v++
		}
		return m.password(i, v, true)
	default:
		secret = !strings.HasPrefix(name, "--no-") && secretName(name, nameOfOption)
	}
	if !secret || v == stop || v >= len(s) || s[v] == '-' || strings.HasPrefix(s[v:], "id=") || strings.HasPrefix(s[v:], "type=") {
		return 0, 0
	}
	return m.value(i, v)
}

// formed finds the secret in an option's value of that form, at v.
func (m *masker) formed(start, v int, form valueForm) (from, end int) {
	if from, end = m.value(start, v); end == 0 {
		return 0, 0
	}
	i, keep := secretTail(0, m.s[from:end], 0, form)
	if i < 0 {
		return 0, 0
	}
	return from + keep, end
}

// password finds the password of user:password at v. numbers is set if numbers may be
// the IDs of a user and a group.
func (m *masker) password(start, v int, numbers bool) (from, end int) {
	from, end = m.value(start, v)
	user, password, ok := strings.Cut(m.s[from:end], ":")
	if !ok || password == "" || numbers && chars.AllDigits(user) && chars.AllDigits(password) {
		return 0, 0
	}
	return from + len(user) + 1, end
}
