package languages

import "strings"

// Sed reports whether a sed script only prints, deletes and changes lines, in GNU, BSD and
// busybox sed: none of its commands reads or writes a file (r, R, w, W, and the flag w of s)
// or runs a command (e, and the flag e of s). It may be one of several -e scripts.
func Sed(script string) bool {
	if script == "" || !readable(script) {
		// In sed -i '' SCRIPT, BSD takes the empty word as the option's value.
		return false
	}
	s := &sed{text: script}
	for {
		s.skip(" \t\n;}")
		if s.text == "" {
			return true
		}
		if s.text[0] == '#' {
			if !s.comment() {
				return false
			}
			continue
		}
		if !s.addresses() || s.text == "" || !s.command() {
			return false
		}
	}
}

type sed struct {
	text string
	// labelled is set if this line contains a label, which some implementations continue to
	// the end of the line.
	labelled bool
}

func (s *sed) skip(set string) {
	n := span(s.text, func(c byte) bool { return strings.IndexByte(set, c) >= 0 })
	s.labelled = s.labelled && !strings.Contains(s.text[:n], "\n")
	s.text = s.text[n:]
}

// comment skips a comment, which ends with its line unless a backslash ends the line.
func (s *sed) comment() bool {
	line, _, _ := strings.Cut(s.text, "\n")
	s.text = s.text[len(line):]
	return !strings.Contains(line, "\\")
}

// addresses skips the addresses of a command and their negation.
func (s *sed) addresses() bool {
	if !s.address() {
		return false
	}
	if strings.HasPrefix(s.text, ",") {
		s.text = s.text[1:]
		s.skip(" \t+~")
		before := s.text
		if !s.address() || s.text == before {
			return false
		}
	}
	s.skip(" \t!")
	return true
}

// address skips an address, if there is one.
func (s *sed) address() bool {
	if s.text == "" {
		return true
	}
	switch c := s.text[0]; {
	case isDigit(c):
		s.skip("0123456789~")
	case c == '$':
		s.text = s.text[1:]
	case c == '/':
		s.text = s.text[1:]
		if !s.regexp('/') {
			return false
		}
		s.skip("IM")
	case c == '\\':
		if len(s.text) < 2 || !sedDelimiter(s.text[1]) {
			return false
		}
		delimiter := s.text[1]
		s.text = s.text[2:]
		if !s.regexp(delimiter) {
			return false
		}
		s.skip("IM")
	}
	s.skip(" \t")
	return true
}

// sedDelimiter reports whether a character may delimit the parts of s and y: one without a
// meaning in regular expressions.
func sedDelimiter(c byte) bool { return strings.IndexByte("/|,#@:!_%~=;<>\"'", c) >= 0 }

// regexp skips a regular expression and its delimiter.
func (s *sed) regexp(delimiter byte) bool {
	n := delimited(s.text, delimiter)
	if n < 0 {
		return false
	}
	s.text = s.text[n+1:]
	return true
}

// replacement skips the second part of s, in which brackets have no meaning, and its
// delimiter.
func (s *sed) replacement(delimiter byte) bool {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case delimiter:
			s.text = s.text[i+1:]
			return true
		case '\n':
			return false
		case '\\':
			// \c is followed by one or two characters.
			if i++; i >= len(s.text) || s.text[i] == '\n' || s.text[i] == 'c' {
				return false
			}
		}
	}
	return false
}

func (s *sed) command() bool {
	c := s.text[0]
	s.text = s.text[1:]
	switch c {
	case '{':
		return true
	case 'p', 'd', '=', 'g', 'G', 'h', 'H', 'x', 'n', 'N', 'D', 'P', 'F', 'z':
	case 'q', 'Q', 'l':
		s.skip(" \t0123456789")
	case 's':
		if !s.parts(s.replacement) {
			return false
		}
		s.skip("gpiIm0123456789")
	case 'y':
		if !s.parts(s.replacement) {
			return false
		}
	case ':', 'b', 't', 'T':
		s.skip(" \t")
		n := span(s.text, func(c byte) bool { return isLetter(c) || isDigit(c) })
		if c == ':' && n == 0 {
			return false
		}
		s.text = s.text[n:]
		s.labelled = true
	case 'a', 'i', 'c':
		return s.lines()
	default:
		return false
	}
	s.skip(" \t")
	return s.text == "" || strings.IndexByte(";\n}#", s.text[0]) >= 0
}

// parts skips the two parts of s or y with their delimiters.
func (s *sed) parts(second func(byte) bool) bool {
	if s.text == "" || !sedDelimiter(s.text[0]) {
		return false
	}
	delimiter := s.text[0]
	s.text = s.text[1:]
	return s.regexp(delimiter) && second(delimiter)
}

// lines skips the text of a, i or c: one line, or the line after a backslash. After a label,
// some implementations take the text for part of the label.
func (s *sed) lines() bool {
	s.skip(" \t")
	if rest, ok := strings.CutPrefix(s.text, "\\"); ok {
		s.text = strings.TrimLeft(rest, " \t")
		if rest, ok := strings.CutPrefix(s.text, "\n"); ok {
			if s.labelled || rest != strings.TrimLeft(rest, " \t") {
				return false
			}
			s.text = rest
		}
	}
	line, _, _ := strings.Cut(s.text, "\n")
	s.text = s.text[len(line):]
	// An empty text is taken from the next script.
	return strings.TrimSpace(line) != "" && !strings.Contains(line, "\\")
}
