package plainshell

// until is a set of terminators of a list.
type until uint16

const (
	untilEnd until = 1 << iota // the end of the text
	untilParen
	untilBrace
	untilThen
	untilElif
	untilElse
	untilFi
	untilDo
	untilDone
)

// closing are the words that terminate a list.
var closing = map[string]until{
	"}": untilBrace, "then": untilThen, "elif": untilElif, "else": untilElse, "fi": untilFi, "do": untilDo, "done": untilDone,
}

// token returns the bytes up to the next one that ends a word.
func (r *reader) token() string {
	end := r.pos
	for end < len(r.text) && !isEnd(r.text[end]) {
		end++
	}
	return r.text[r.pos:end]
}

// list reads commands up to the terminator, which it does not consume. A condition must not
// contain a group: zsh takes its brace for the body.
func (r *reader) list(end until, condition bool) bool {
	for empty := true; ; empty = false {
		if !r.newlines() {
			return false
		}
		switch c := r.next(); {
		case c == 0 && len(r.docs) > 0:
			return r.refuse(HereDocument, r.pos, "a here-document that does not end")
		case c == 0 && end&untilEnd != 0:
			return true // a text of comments only is plain
		case c == 0:
			return r.refuse(EmptyCommand, r.pos, "a group or a loop that does not end")
		case c == ')' && end&untilParen != 0 && !empty:
			return true
		case !empty && end&closing[r.token()] != 0:
			return true
		}
		if !r.andor(condition) || !r.blanks() {
			return false
		}
		switch c := r.next(); c {
		case 0, '\n', '#', ')': // read above
			if c == ')' && end&untilParen == 0 {
				return r.refuse(Parenthesis, r.pos, "a ) that closes nothing")
			}
		case ';':
			if !r.operator(1) {
				return false
			}
		case '&':
			m := r.beginMark(MarkBackground)
			if !r.operator(1) {
				return false
			}
			r.endMark(m)
		default:
			return r.refuse(Operator, r.pos, "something behind a command that no operator joins")
		}
	}
}

// andor reads pipelines that && and || join.
func (r *reader) andor(condition bool) bool {
	for {
		if !r.pipeline(condition) || !r.blanks() {
			return false
		}
		var kind Kind
		switch {
		case r.next() == '&' && r.peek(1) == '&':
			kind = MarkAnd
		case r.next() == '|' && r.peek(1) == '|':
			kind = MarkOr
		default:
			return true
		}
		if !r.joiningOperator(kind, 2) {
			return false
		}
	}
}

// joiningOperator reads an operator that must be followed by a command, on the same line or a later
// one.
func (r *reader) joiningOperator(kind Kind, n int) bool {
	m := r.beginMark(kind)
	if !r.operator(n) {
		return false
	}
	r.endMark(m)
	if !r.newlines() {
		return false
	}
	if r.next() == 0 {
		return r.refuse(EmptyCommand, r.pos, "an operator with nothing behind it")
	}
	return true
}

// pipeline reads commands joined by |. A pipe counts as a redirection of standard output:
// zsh writes to both.
func (r *reader) pipeline(condition bool) bool {
	if r.next() == '!' && (r.peek(1) == ' ' || r.peek(1) == '\t') {
		r.readMark(MarkNot, 1)
		if !r.blanks() {
			return false
		}
	}
	if r.token() == "time" && r.shells.within(Bash|Zsh) {
		r.readMark(MarkTime, 4)
		if !r.skip(0) || !r.blanks() {
			return false
		}
		if c := r.next(); c == '-' || c == '(' || c == '{' || isEnd(c) {
			return r.refuse(ReservedWord, r.pos, "time of another form")
		}
	}
	var used descriptors
	for {
		start := r.pos
		if !r.command(&used, condition) || !r.blanks() {
			return false
		}
		if r.next() != '|' || r.peek(1) == '|' {
			return true
		}
		if !used.add(1) {
			return r.refuse(Redirected, start, "standard output redirected before a pipe")
		}
		if !r.joiningOperator(MarkPipe, 1) {
			return false
		}
		used = 1 // standard input
	}
}

// command reads a simple command, or a group with its redirections.
func (r *reader) command(used *descriptors, condition bool) bool {
	start := r.pos
	if r.next() == '(' {
		if r.peek(1) == '(' {
			return r.refuse(Parenthesis, start, "((")
		}
		return r.group(used, condition, (*reader).subshell)
	}
	word := r.token()
	var read func(*reader) bool
	switch word {
	case "{":
		return r.group(used, condition, (*reader).block)
	case "if":
		read = (*reader).ifClause
	case "while", "until":
		read = (*reader).loop
	case "for":
		read = (*reader).forClause
	default:
		if reserved()[word]&r.shells != 0 && word != "export" {
			return r.refuse(ReservedWord, start, "the word "+word+" here")
		}
		return r.simple(used)
	}
	return r.group(used, false, read)
}

// group reads a compound command, and the redirections after it.
func (r *reader) group(used *descriptors, condition bool, read func(*reader) bool) bool {
	if condition {
		return r.refuse(ReservedWord, r.pos, "a group in a condition")
	}
	if r.depth++; r.depth > maxNesting {
		return r.refuse(TooDeep, r.pos, "more than 16 groups inside each other")
	}
	if !read(r) {
		return false
	}
	r.depth--
	if !isEnd(r.next()) {
		return r.refuse(Operator, r.pos, "something directly behind a group")
	}
	for {
		if !r.blanks() {
			return false
		}
		redirects, ok := r.redirection(used)
		if !ok {
			return false
		}
		if !redirects {
			return true
		}
	}
}

// subshell reads ( list ).
func (r *reader) subshell() bool {
	m := r.beginMark(MarkSubshell)
	if !r.operator(1) {
		return false
	}
	r.endMark(m)
	if !r.list(untilParen, false) {
		return false
	}
	r.pos++
	return true
}

// block reads { list; }.
func (r *reader) block() bool {
	return r.keyword(MarkBlock, 1) && r.list(untilBrace, false) && r.end(1)
}

// ifClause reads if … then … elif … else … fi.
func (r *reader) ifClause() bool {
	if !r.keyword(MarkIf, 2) {
		return false
	}
	for {
		if !r.list(untilThen, true) || !r.skip(4) || !r.list(untilElif|untilElse|untilFi, false) {
			return false
		}
		if r.token() != "elif" {
			break
		}
		if !r.keyword(MarkIf, 4) {
			return false
		}
	}
	if r.token() == "else" {
		if !r.skip(4) || !r.list(untilFi, false) {
			return false
		}
	}
	return r.end(2)
}

// loop reads while or until … do … done.
func (r *reader) loop() bool {
	return r.keyword(MarkLoop, 5) && r.list(untilDo, true) && r.body()
}

// body reads do … done.
func (r *reader) body() bool { return r.skip(2) && r.list(untilDone, false) && r.end(4) }

// forClause reads for NAME in words; do … done.
func (r *reader) forClause() bool {
	if !r.keyword(MarkFor, 3) || !r.blanks() {
		return false
	}
	name := r.token()
	if !isName(name) {
		return r.refuse(ReservedWord, r.pos, "a for loop of another form")
	}
	if special(name) {
		return r.refuse(SpecialName, r.pos, "the variable "+name+" in a loop")
	}
	r.pos += len(name)
	if !r.blanks() {
		return false
	}
	if r.token() != "in" || !r.skip(2) {
		return r.refuse(ReservedWord, r.pos, "a for loop of another form")
	}
	for n := 0; ; n++ {
		if !r.blanks() {
			return false
		}
		if c := r.next(); isEnd(c) {
			if n == 0 || c != ';' && c != '\n' {
				return r.refuse(ReservedWord, r.pos, "a for loop of another form")
			}
			break
		}
		if _, ok := r.word(inItems, MarkItem); !ok {
			return false
		}
	}
	if r.next() == ';' && !r.operator(1) || !r.newlines() {
		return false
	}
	if r.token() != "do" {
		return r.refuse(ReservedWord, r.pos, "a for loop without do")
	}
	return r.body()
}

// keyword reads a word of n bytes that begins a construct, and marks its first.
func (r *reader) keyword(kind Kind, n int) bool {
	r.readMark(kind, 1)
	return r.skip(n - 1)
}

// skip reads a reserved word of n bytes, which must be followed by a blank or a
// newline.
func (r *reader) skip(n int) bool {
	r.pos += n
	if !isSpace(r.next()) {
		return r.refuse(ReservedWord, r.pos, "a reserved word without a blank behind it")
	}
	return true
}

// end reads a word of n bytes that ends a construct.
func (r *reader) end(n int) bool {
	r.pos += n
	return true
}
