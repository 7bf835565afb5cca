package settings

import "strings"

// readOwnGitConfig reads a configuration of git as git does (git-config(1), "Syntax"):
// with quotes, escapes, comments and continued lines, since a person's own files have
// them. It returns sections and keys in lower case; a subsection is one name, whatever
// it contains. A key without a value has the value true.
//
// It is only for files that the person writes. Those of a project are read by
// readGitConfig, which refuses what two readers may read differently.
func readOwnGitConfig(text string) ([]entry, error) {
	r := gitConfigReader{text: strings.TrimPrefix(text, "\ufeff")}
	var list []entry
	var section []string
	for {
		switch c := r.next(); {
		case c == endOfText:
			return list, nil
		case isGitBlank(c):
		case c == '#' || c == ';':
			r.line()
		case c == '[':
			if section = r.section(); section == nil {
				return nil, errRejected
			}
		case isLetter(c) && section != nil:
			r.at--
			key, value, ok := r.variable()
			if !ok || len(list) == maxSettings {
				return nil, errRejected
			}
			list = append(list, entry{append(section[:len(section):len(section)], key), value})
		default:
			return nil, errRejected
		}
	}
}

// gitConfigReader reads the bytes of a configuration.
type gitConfigReader struct {
	text string
	at   int
}

// endOfText is what next returns at the end of the text.
const endOfText = -1

// next returns the next byte. The end of a line is a newline, with or without a carriage
// return before it.
func (r *gitConfigReader) next() int {
	if r.at >= len(r.text) {
		return endOfText
	}
	if strings.HasPrefix(r.text[r.at:], "\r\n") {
		r.at++
	}
	r.at++
	return int(r.text[r.at-1])
}

// line skips the rest of a line.
func (r *gitConfigReader) line() {
	for c := r.next(); c != '\n' && c != endOfText; {
		c = r.next()
	}
}

// section reads the rest of a section's header, nil if it is malformed.
func (r *gitConfigReader) section() []string {
	var name []byte
	for {
		c := r.next()
		switch {
		case c == ']' && len(name) > 0:
			// [a.b] is an old form of [a "b"], in lower case.
			head, sub, dotted := strings.Cut(string(name), ".")
			if dotted {
				return []string{head, sub}
			}
			return []string{head}
		case isGitBlank(c) && c != '\n' && len(name) > 0:
			sub, ok := r.subsection()
			if !ok {
				return nil
			}
			if head, more, dotted := strings.Cut(string(name), "."); dotted {
				return []string{head, more + "." + sub}
			}
			return []string{string(name), sub}
		case isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '.':
			name = append(name, lower(c))
		default:
			return nil
		}
	}
}

// subsection reads a quoted name and the closing bracket.
func (r *gitConfigReader) subsection() (string, bool) {
	c := r.next()
	for isGitBlank(c) && c != '\n' {
		c = r.next()
	}
	if c != '"' {
		return "", false
	}
	var name []byte
	for {
		switch c = r.next(); c {
		case endOfText, '\n':
			return "", false
		case '"':
			return string(name), r.next() == ']'
		case '\\':
			if c = r.next(); c == endOfText || c == '\n' {
				return "", false
			}
		}
		name = append(name, byte(c))
	}
}

// variable reads a key and its value.
func (r *gitConfigReader) variable() (key, value string, ok bool) {
	var name []byte
	c := r.next()
	for isLetter(c) || c >= '0' && c <= '9' || c == '-' {
		name = append(name, lower(c))
		c = r.next()
	}
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	switch c {
	case '\n', endOfText:
		return string(name), "true", true
	case '=':
		value, ok = r.value()
	}
	return string(name), value, ok
}

// value reads a value to the end of its line.
func (r *gitConfigReader) value() (string, bool) {
	var value []byte
	quoted, kept := false, 0 // blanks at the end are cut, down to what was kept
	for {
		c := r.next()
		switch {
		case c == '\n' || c == endOfText:
			return string(value[:kept]), !quoted
		case isGitBlank(c) && !quoted:
			if len(value) > 0 {
				value = append(value, byte(c))
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			r.line()
			return string(value[:kept]), true
		case c == '\\':
			switch c = r.next(); c {
			case '\n':
				kept = len(value) // git keeps blanks before it, also where the value ends then
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", false
			}
		case c == '"':
			quoted = !quoted
			kept = len(value)
			continue
		}
		value = append(value, byte(c))
		kept = len(value)
	}
}

// isGitBlank reports whether git's own isspace takes a byte for a blank (its ctype.c).
func isGitBlank(c int) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isLetter(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lower(c int) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return byte(c)
}
