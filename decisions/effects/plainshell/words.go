package plainshell

import "strings"

// word is a word of a simple command.
type word struct {
	start, end int
	has        features
}

// features are properties of a word.
type features uint8

const (
	hasExpansion features = 1 << iota // of any kind
	hasOpen                           // an unquoted expansion: it may be split into several words
	hasPattern                        // * or ?
	hasQuotes                         // quotes or a backslash
	hasExtended                       // ~, ^ or #, which are pattern characters with EXTENDED_GLOB
)

// place is the position of a word.
type place uint8

const (
	inName     place = iota // the first word of a command
	inOperands              // any other word
	inItems                 // a word of a for loop
	inValue                 // after the = of an assignment
	inTarget                // after a redirection
)

// plainByte reports whether a byte is literal anywhere in a word.
func plainByte(c byte) bool {
	switch c {
	case '.', '/', ',', ':', '@', '%', '+', '-':
		return true
	}
	return isNamePart(c)
}

// word reads a word as one mark.
func (r *reader) word(at place, kind Kind) (word, bool) {
	m := r.beginMark(kind)
	w, ok := r.parts(at)
	if ok {
		r.endMark(m)
	}
	return w, ok
}

// parts reads the parts of a word, or of an assignment's value.
func (r *reader) parts(at place) (word, bool) {
	w := word{start: r.pos}
	if n := r.wholeWordLen(at); n > 0 {
		r.pos += n
		w.end = r.pos
		return w, true
	}
	prev := byte(0) // the previous byte, if it is plain
	for {
		c := r.next()
		switch {
		case plainByte(c):
			if c == '@' && r.peek(1) == '{' {
				if !r.revision(at) {
					return w, false
				}
				prev = 0
				continue
			}
			prev = c
			r.pos++
			continue
		case c == '=', c == '~', c == '^', c == '#':
			if !r.checkSpecial(c, prev, at, &w) {
				return w, false
			}
			if prev = 0; c == '^' {
				prev = c
			}
			r.pos++
			continue
		case c == '*', c == '?':
			if at != inOperands && at != inItems {
				return w, r.refuse(Pattern, r.pos, "a pattern as a command, a value or a target")
			}
			if c == '*' && r.peek(1) == '*' {
				return w, r.refuse(Pattern, r.pos, "the pattern **")
			}
			w.has |= hasPattern
			r.patterns = true
			r.pos++
		case c == '\\':
			if c := r.peek(1); c < ' ' || c > '~' {
				if c == '\n' {
					return w, r.refuse(Continuation, r.pos, "a backslash at the end of a line inside a word")
				}
				return w, r.refuse(Escape, r.pos, "a backslash before such a character")
			}
			w.has |= hasQuotes
			r.pos += 2
		case c == '\'':
			if !r.single() {
				return w, false
			}
			w.has |= hasQuotes
		case c == '"':
			expands, ok := r.double()
			if !ok {
				return w, false
			}
			if w.has |= hasQuotes; expands {
				w.has |= hasExpansion
			}
		case c == '$':
			if at == inTarget {
				return w, r.refuse(Redirection, r.pos, "a target with an expansion that is not quoted")
			}
			if !r.expansion() {
				return w, false
			}
			w.has |= hasExpansion | hasOpen
		case c == '{' && r.peek(1) == '}' && at == inOperands:
			r.pos += 2
		case c == '(' || c == '<' || c == '>':
			return w, r.rejectAdjacent(c)
		case isEnd(c):
			w.end = r.pos
			if w.has&(hasPattern|hasExtended) == hasPattern|hasExtended {
				return w, r.refuse(Pattern, w.start, "a pattern with ~, ^ or #")
			}
			return w, true
		default:
			return w, r.rejectUnquoted(c)
		}
		prev = 0
	}
}

// wholeWordLen returns the length of a word that is only allowed as a whole.
func (r *reader) wholeWordLen(at place) int {
	switch token := r.token(); {
	case token == "[" && at == inName, token == "]" && at == inOperands:
		return 1
	case (token == "=" || token == "!=" || token == "!") && at == inOperands:
		return len(token)
	case token == "==" && at == inOperands && r.shells.within(Bash):
		return 2
	}
	return 0
}

// checkSpecial checks =, ~, ^ and #, which are special at the beginning of a word and after a quote
// or an expansion.
func (r *reader) checkSpecial(c, prev byte, at place, w *word) bool {
	start := r.pos == w.start && at != inValue
	switch {
	case c == '=' && at == inName:
		return r.refuse(Tilde, r.pos, "a command whose name has = in it")
	case start && c == '~' && (r.peek(1) == '/' || isEnd(r.peek(1))):
		return true
	case start && c == '^' && at == inOperands:
	case prev == 0, c == '~' && (prev == '=' || prev == ':'):
		return r.refuse(Tilde, r.pos, "a "+string(c)+" at the beginning of a word or behind a quote")
	}
	if c != '=' {
		w.has |= hasExtended
	}
	return true
}

// revision reads git's @{…}.
func (r *reader) revision(at place) bool {
	start := r.pos
	r.pos += 2
	first := r.pos
	for c := r.next(); isNamePart(c) || c == '/' || c == '-'; c = r.next() {
		r.pos++
	}
	if at != inOperands || r.pos == first || r.next() != '}' {
		return r.refuse(Brace, start, "a brace that is not quoted")
	}
	r.pos++
	return true
}

// rejectAdjacent rejects a byte that directly follows a word.
func (r *reader) rejectAdjacent(c byte) bool {
	if c == '(' {
		return r.refuse(Parenthesis, r.pos, "a parenthesis directly behind a word")
	}
	return r.refuse(Redirection, r.pos, "a redirection directly behind a word")
}

// rejectUnquoted rejects a byte that must not occur unquoted in a word.
func (r *reader) rejectUnquoted(c byte) bool {
	switch c {
	case '{', '}':
		return r.refuse(Brace, r.pos, "a brace that is not quoted")
	case '[', ']':
		return r.refuse(Bracket, r.pos, "a bracket that is not quoted")
	case '!':
		return r.refuse(Character, r.pos, "a ! that is not quoted")
	case '`':
		return r.refuse(Backquote, r.pos, "a backquote")
	}
	return r.refuse(Character, r.pos, "a letter beyond ASCII outside of quotes")
}

// single reads '…'.
func (r *reader) single() bool {
	m := r.beginMark(MarkSingle)
	n := strings.IndexByte(r.text[r.pos+1:], '\'')
	if n < 0 {
		return r.refuse(Quote, r.pos, "a quote that does not end")
	}
	if len(r.docs) > 0 && strings.Contains(r.text[r.pos+1:r.pos+1+n], "\n") {
		return r.refuse(HereDocument, r.pos, "a newline in quotes on a line with a here-document")
	}
	r.pos += n + 2
	r.endMark(m)
	return true
}

// double reads "…" and reports whether it contains an expansion.
func (r *reader) double() (expands, ok bool) {
	m, start := r.beginMark(MarkDouble), r.pos
	r.pos++
	for {
		switch c := r.next(); c {
		case 0:
			return expands, r.refuse(Quote, start, "a quote that does not end")
		case '"':
			r.pos++
			r.endMark(m)
			return expands, true
		case '\\':
			if c := r.peek(1); c < ' ' || c > '~' {
				return expands, r.refuse(Escape, r.pos, "a backslash before a newline or a letter beyond ASCII in double quotes")
			}
			r.pos += 2
		case '`':
			return expands, r.refuse(Backquote, r.pos, "a backquote in double quotes")
		case '$':
			switch r.peek(1) {
			case '"', ' ', '\t', '/', '\\', '|', ')', ',', '.', ';', '%', '&', '>':
				r.pos++ // literal
				continue
			}
			if !r.expansion() {
				return expands, false
			}
			expands = true
		case '\n':
			if len(r.docs) > 0 {
				return expands, r.refuse(HereDocument, r.pos, "a newline in quotes on a line with a here-document")
			}
			r.pos++
		default:
			r.pos++
		}
	}
}
