package shell

import "strings"

// tilde expands a leading ~ and returns what follows it.
func (s *walker) tilde(value string, whole bool, text *strings.Builder) (string, bool) {
	home := s.b.Call.User.Home
	if home == "" || s.maySet("HOME") {
		return value, false
	}
	switch {
	case strings.HasPrefix(value, "~/"), value == "~" && whole:
		text.WriteString(home)
		return value[1:], true
	}
	return value, false
}

// hasGlob reports whether an unquoted literal has a pattern character that no backslash
// escapes. In a word of several parts, a bracket may be closed in another part.
func hasGlob(value string, parts bool) bool {
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if parts || strings.IndexByte(value[i:], ']') > 0 {
				return true
			}
		}
	}
	return false
}

// unescape removes the backslashes from an unquoted literal.
func unescape(text *strings.Builder, value string) {
	if strings.IndexByte(value, '\\') < 0 {
		text.WriteString(value)
		return
	}
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
			if value[i] == '\n' {
				continue
			}
		}
		text.WriteByte(value[i])
	}
}

// unescapeQuoted removes the backslashes from a literal in double quotes or a
// here-document: only those before one of the special characters.
func unescapeQuoted(text *strings.Builder, value, special string) {
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			next := value[i+1]
			if next == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, next) >= 0 {
				i++
			}
		}
		text.WriteByte(value[i])
	}
}
