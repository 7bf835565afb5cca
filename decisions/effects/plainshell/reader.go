package plainshell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reader reads one text from beginning to end. Its methods return false once the text is
// refused, after which nothing is read.
type reader struct {
	text    string
	pos     int
	shells  Shells
	refusal *Refusal

	marks             []Mark
	words             []word     // of the commands being read, the innermost last
	docs              []document // documents whose bodies begin after the next newline
	commands          int32      // number of simple commands so far
	depth             int        // nesting of groups, loops and conditions
	openSubstitutions int        // number of open command substitutions
	patterns          bool       // a word with a pattern was read
}

func (r *reader) refuse(c Construct, at int, detail string) bool {
	if r.refusal == nil {
		r.refusal = &Refusal{Construct: c, Offset: at, Detail: detail}
	}
	return false
}

// beginMark appends a mark that begins at the next byte, and returns its index.
func (r *reader) beginMark(kind Kind) int {
	r.marks = append(r.marks, Mark{Start: int32(r.pos), Kind: kind})
	return len(r.marks) - 1
}

// endMark ends a mark before the next byte.
func (r *reader) endMark(mark int) { r.marks[mark].End = int32(r.pos) }

// readMark reads n bytes as one mark.
func (r *reader) readMark(kind Kind, n int) {
	m := r.beginMark(kind)
	r.pos += n
	r.endMark(m)
}

// next returns the next byte, 0 at the end.
func (r *reader) next() byte { return r.peek(0) }

// peek returns the byte n after the next one, 0 after the end. No text contains a zero byte.
func (r *reader) peek(n int) byte {
	if r.pos+n < len(r.text) {
		return r.text[r.pos+n]
	}
	return 0
}

// before returns the previous byte, a newline at the beginning.
func (r *reader) before() byte {
	if r.pos > 0 {
		return r.text[r.pos-1]
	}
	return '\n'
}

// characters rejects characters that must not occur anywhere in a text.
func (r *reader) characters() bool {
	if r.shells&All == 0 {
		return r.refuse(ShellUnknown, 0, "the shell is none whose language permd reads")
	}
	if len(r.text) > maxText {
		return r.refuse(TooLong, maxText, "text longer than 32 KiB")
	}
	ascii := true
	for i := range len(r.text) {
		switch c := r.text[i]; {
		case c >= utf8.RuneSelf:
			ascii = false
		case c < ' ' && c != '\t' && c != '\n', c == 0x7f:
			return r.refuse(Character, i, "a control character")
		case r.shells&Interactive == 0:
		case c == '\t' || c == '!' || c == '^' && (i == 0 || r.text[i-1] == '\n'):
			return r.refuse(History, i, "a tab, ! or ^ typed into a shell")
		}
	}
	if ascii {
		return true
	}
	for i, c := range r.text {
		if c < utf8.RuneSelf {
			continue
		}
		if c == utf8.RuneError && !strings.HasPrefix(r.text[i:], "\uFFFD") {
			return r.refuse(Character, i, "text that is not UTF-8")
		}
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r.refuse(Character, i, "an invisible character")
		}
	}
	return true
}

// blanks reads spaces, tabs, and newlines after a backslash.
func (r *reader) blanks() bool {
	for {
		switch r.next() {
		case ' ', '\t':
			r.pos++
		case '\\':
			if r.peek(1) != '\n' {
				return true
			}
			switch {
			case r.pos == 0 || !isSpace(r.before()):
				return r.refuse(Continuation, r.pos, `a backslash at the end of a line inside a word or behind an operator`)
			case len(r.docs) > 0:
				return r.refuse(Continuation, r.pos, `a backslash at the end of a line with a here-document`)
			case r.peek(2) == '#':
				return r.refuse(Continuation, r.pos, `a backslash at the end of a line before #`)
			}
			r.pos += 2
		default:
			return true
		}
	}
}

// newlines reads blanks, comments and newlines.
func (r *reader) newlines() bool {
	for {
		if !r.blanks() {
			return false
		}
		switch r.next() {
		case '\n':
			r.pos++
			if len(r.docs) > 0 && !r.bodies() {
				return false
			}
		case '#':
			if !r.comment() {
				return false
			}
		default:
			return true
		}
	}
}

// comment reads a comment up to the end of its line.
func (r *reader) comment() bool {
	start := r.pos
	switch {
	case !isSpace(r.before()):
		return r.refuse(Comment, start, "# behind something else than a blank")
	case r.openSubstitutions > 0:
		return r.refuse(Comment, start, "a comment inside $(…)")
	case len(r.docs) > 0:
		return r.refuse(Comment, start, "a comment on a line with a here-document")
	case r.shells&Interactive != 0:
		return r.refuse(Comment, start, "# typed into a shell")
	}
	end := strings.IndexByte(r.text[start:], '\n')
	if end < 0 {
		end = len(r.text) - start
	}
	r.pos = start + end
	if r.before() == '\\' {
		return r.refuse(Comment, r.pos-1, "a comment that ends in a backslash")
	}
	return true
}

// operator reads an operator of n bytes. It must not be followed directly by another operator
// character, since shells split these differently.
func (r *reader) operator(n int) bool {
	start := r.pos
	last := r.text[start+n-1]
	r.pos += n
	switch c := r.next(); c {
	case ';', '&', '|', '<', '>', '(', '!':
		return r.refuse(Operator, start, "the operator "+r.text[start:r.pos+1])
	case ')':
		if n > 1 || last == '|' {
			return r.refuse(EmptyCommand, start, "an operator with nothing behind it")
		}
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// isEnd reports whether a word ends before that byte; 0 is the end of the text.
func isEnd(c byte) bool {
	switch c {
	case 0, ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>':
		return true
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) }

// nameAt returns the length of the name that begins at a byte of the text, 0 for
// none.
func nameAt(text string) int {
	if text == "" || !isNameStart(text[0]) {
		return 0
	}
	n := 1
	for n < len(text) && isNamePart(text[n]) {
		n++
	}
	return n
}

// isName reports whether the text is a variable's name.
func isName(text string) bool { return text != "" && nameAt(text) == len(text) }
