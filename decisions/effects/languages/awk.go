package languages

import "strings"

// Awk reports whether an awk program only computes from its input and prints to
// its standard output, for gawk, mawk, the original awk and that of busybox. It
// has no redirection, pipe, getline, command, include or indirect call, sees
// neither the environment nor the list of files, and what > , / and quotes mean
// in it is the same for all.
func Awk(program string) bool {
	if !readable(program) {
		return false
	}
	p := &awk{text: program, functions: map[string]bool{}, called: map[string]bool{}, variables: map[string]bool{}}
	p.next()
	if !p.program() || p.tok != awkEnd {
		return false
	}
	for word := range p.called {
		if !p.functions[word] {
			return false // of an extension, or of another implementation
		}
	}
	for word := range p.functions {
		if p.variables[word] {
			return false
		}
	}
	return true
}

// plainAwkName reports whether a name is a variable in all implementations and
// gives no access to the environment, the operands or other functions.
func plainAwkName(name string) bool {
	return !awkKeywords[name] && !awkFunctions[name] && !awkOther[name]
}

var (
	awkKeywords = words(`BEGIN END function if else while for do break continue return next nextfile exit delete in print printf`)
	// awkFunctions only compute.
	awkFunctions = words(`
		length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper
		gensub strftime systime mktime patsplit strtonum and or xor lshift rshift compl isarray typeof`)
	// awkOther are words that mean more than a variable in some implementation.
	// Those in front reach files, commands, the environment or functions by their
	// names.
	awkOther = words(`
		ARGC ARGIND ARGV ENVIRON ERRNO FUNCTAB PROCINFO SYMTAB TEXTDOMAIN LINT BINMODE getline system close fflush
		func switch case default BEGINFILE ENDFILE asort asorti dcgettext dcngettext bindtextdomain mkbool include load namespace eval _`)
)

type awkToken byte

const (
	awkEnd awkToken = iota
	awkBad
	awkNewline
	awkNumber
	awkString
	awkRegexp
	awkName    // a variable or function
	awkKeyword // a keyword
	awkSign    // an operator or bracket
)

type awk struct {
	text      string
	at        int // behind the token
	tok       awkToken
	word      string          // the token
	begin     int             // of the token
	operand   bool            // an operand stands before the token: / divides
	depth     int             // of brackets and blocks
	functions map[string]bool // that are defined
	called    map[string]bool // functions, which may be defined later
	variables map[string]bool
}

// next reads a token.
func (p *awk) next() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '#' {
		n := strings.IndexByte(p.text[p.at:], '\n')
		if n < 0 {
			n = len(p.text) - p.at
		}
		if strings.Contains(p.text[p.at:p.at+n], "\\") {
			p.tok = awkBad // it may go on in the next line
			return
		}
		p.at += n
	}
	p.begin = p.at
	p.tok, p.word = awkEnd, ""
	if p.at == len(p.text) {
		return
	}
	rest := p.text[p.at:]
	n := 1
	switch c := rest[0]; {
	case c == '\n':
		p.tok = awkNewline
	case isLetter(c):
		n = name(rest)
		p.tok = awkName
		if awkKeywords[rest[:n]] {
			p.tok = awkKeyword
		} else if awkOther[rest[:n]] {
			p.tok = awkBad
		}
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		p.tok, n = awkNumber, number(rest)
	case c == '"':
		p.tok, n = awkString, awkQuoted(rest)
	case c == '/' && !p.operand:
		p.tok, n = awkRegexp, delimited(rest[1:], '/')
		if n > 0 && rest[1] != '=' { // /= may assign
			n += 2
		} else {
			n = -1
		}
	default:
		p.tok, n = awkSign, awkOperator(rest)
	}
	if n <= 0 {
		p.tok = awkBad
		return
	}
	p.at += n
	p.word = rest[:n]
}

// awkOperator is the length of an operator, 0 for one that is not understood.
func awkOperator(rest string) int {
	for _, o := range []string{"==", "!=", "<=", ">=", "&&", "||", "!~", "++", "--", "+=", "-=", "*=", "%=", "^="} {
		if strings.HasPrefix(rest, o) {
			if len(rest) > 2 && rest[2] == '=' {
				return 0
			}
			return 2
		}
	}
	if strings.HasPrefix(rest, "/=") || strings.HasPrefix(rest, ">>") || strings.HasPrefix(rest, "**") {
		return 0
	}
	if strings.IndexByte("{}()[];,+-*/%^!<>~?:=$", rest[0]) >= 0 {
		return 1
	}
	return 0 // among them | & @ \ ' and `
}

// number is the length of a decimal number, 0 when something sticks to it that
// some take for a part of it.
func number(text string) int {
	n := span(text, isDigit)
	if n < len(text) && text[n] == '.' {
		n++
		n += span(text[n:], isDigit)
	}
	if n < len(text) && text[n]|0x20 == 'e' {
		m := n + 1
		if m < len(text) && (text[m] == '+' || text[m] == '-') {
			m++
		}
		digits := span(text[m:], isDigit)
		if digits == 0 {
			return 0
		}
		n = m + digits
	}
	if n < len(text) && (isLetter(text[n]) || isDigit(text[n]) || text[n] == '.') {
		return 0
	}
	return n
}

// awkQuoted is the length of a string, -1 for one with an escape that not all
// know.
func awkQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\n':
			return -1
		case '\\':
			i++
			switch {
			case i >= len(text):
				return -1
			case '0' <= text[i] && text[i] <= '3':
				// Three digits; with less, some take what follows.
				if n := span(text[i:], isDigit); n < 3 || text[i:i+3] == "000" {
					return -1
				}
			case isDigit(text[i]), text[i] == '\n', text[i] >= 0x80, strings.IndexByte("xuUcC", text[i]) >= 0:
				return -1
			}
		}
	}
	return -1
}

func (p *awk) is(word string) bool {
	return p.word == word && (p.tok == awkSign || p.tok == awkKeyword)
}

// take passes a token if it is the given one. What follows stands where an
// operand may.
func (p *awk) take(word string) bool {
	if !p.is(word) {
		return false
	}
	p.operand = false
	p.next()
	return true
}

// ends passes newlines and semicolons.
func (p *awk) ends() {
	for p.tok == awkNewline || p.is(";") {
		p.operand = false
		p.next()
	}
}

func (p *awk) newlines() {
	for p.tok == awkNewline {
		p.operand = false
		p.next()
	}
}

func (p *awk) deeper() bool {
	p.depth++
	return p.depth <= maxNesting
}

func (p *awk) program() bool {
	for p.ends(); p.tok != awkEnd; p.ends() {
		if !p.item() {
			return false
		}
	}
	return true
}

// item reads a function, or a pattern with or without its action.
func (p *awk) item() bool {
	switch {
	case p.is("function"):
		return p.function()
	case p.is("{"):
		return p.block()
	case p.is("BEGIN"), p.is("END"):
		p.next()
		return p.is("{") && p.block()
	}
	if !p.expression(false) {
		return false
	}
	if p.take(",") {
		p.newlines()
		if !p.expression(false) {
			return false
		}
	}
	if p.is("{") {
		return p.block()
	}
	return p.tok == awkNewline || p.tok == awkEnd || p.is(";")
}

func (p *awk) function() bool {
	p.next()
	if p.tok != awkName || awkFunctions[p.word] {
		return false
	}
	p.functions[p.word] = true
	p.next()
	if !p.take("(") {
		return false
	}
	for !p.is(")") {
		if !p.variable() {
			return false
		}
		p.next()
		if !p.take(",") && !p.is(")") {
			return false
		}
	}
	p.take(")")
	p.newlines()
	return p.is("{") && p.block()
}

func (p *awk) block() bool {
	if !p.deeper() || !p.take("{") {
		return false
	}
	for p.ends(); !p.is("}"); p.ends() {
		if !p.statement() {
			return false
		}
	}
	p.depth--
	return p.take("}")
}

func (p *awk) statement() bool {
	if !p.deeper() {
		return false
	}
	defer func() { p.depth-- }()
	switch {
	case p.is("{"):
		return p.block()
	case p.is(";"):
		return p.take(";")
	case p.is("if"):
		return p.condition() && p.body() && p.otherwise()
	case p.is("while"):
		return p.condition() && p.body()
	case p.is("do"):
		p.next()
		if !p.body() {
			return false
		}
		p.ends()
		return p.is("while") && p.condition() && p.end()
	case p.is("for"):
		return p.loop() && p.body()
	}
	return p.simple() && p.end()
}

// body is the statement of a loop or condition.
func (p *awk) body() bool {
	p.newlines()
	return p.statement()
}

func (p *awk) otherwise() bool {
	at := *p
	p.ends()
	if !p.is("else") {
		*p = at
		return true
	}
	p.next()
	return p.body()
}

// end wants the end of a simple statement, and passes it unless it is a brace.
func (p *awk) end() bool {
	if p.tok == awkNewline || p.is(";") {
		p.operand = false
		p.next()
		return true
	}
	return p.is("}")
}

func (p *awk) condition() bool {
	p.next()
	return p.take("(") && p.nested(p.expression) && p.take(")")
}

// nested reads something within brackets, where > compares.
func (p *awk) nested(read func(bool) bool) bool {
	if !p.deeper() || !read(false) {
		return false
	}
	p.depth--
	return true
}

func (p *awk) loop() bool {
	p.next()
	if !p.take("(") {
		return false
	}
	at := *p
	if p.each() {
		return true
	}
	*p = at
	if !p.is(";") && !p.simple() || !p.take(";") {
		return false
	}
	p.newlines()
	if !p.is(";") && !p.expression(false) || !p.take(";") {
		return false
	}
	p.newlines()
	return (p.is(")") || p.simple()) && p.take(")")
}

// each reads NAME in NAME).
func (p *awk) each() bool {
	for range 2 {
		if !p.variable() {
			return false
		}
		p.next()
		if p.take(")") {
			return true
		}
		if !p.take("in") {
			return false
		}
	}
	return false
}

// variable reports whether the token is a variable's name, and notes it.
func (p *awk) variable() bool {
	if p.tok != awkName || !plainAwkName(p.word) {
		return false
	}
	p.variables[p.word] = true
	return true
}

// simple reads a statement without its end.
func (p *awk) simple() bool {
	switch {
	case p.is("next"), p.is("nextfile"), p.is("break"), p.is("continue"):
		p.next()
		return true
	case p.is("exit"), p.is("return"):
		p.next()
		if p.done() {
			return true
		}
		return p.tok != awkRegexp && p.expression(true)
	case p.is("delete"):
		p.next()
		if !p.variable() {
			return false
		}
		p.next()
		return !p.is("[") || p.subscript()
	case p.is("print"), p.is("printf"):
		p.next()
		if p.done() {
			return true
		}
		return p.list(true)
	}
	// A regular expression here may be a division of what stands before.
	return p.tok != awkRegexp && p.expression(true)
}

func (p *awk) done() bool {
	return p.tok == awkNewline || p.is(";") || p.is("}") || p.is(")")
}

func (p *awk) list(bare bool) bool {
	for {
		if !p.expression(bare) {
			return false
		}
		if !p.take(",") {
			return true
		}
		p.newlines()
	}
}

func (p *awk) subscript() bool {
	return p.take("[") && p.nested(func(bool) bool { return p.list(true) }) && p.is("]") && p.closed("]")
}

// closed passes a bracket behind which / divides.
func (p *awk) closed(word string) bool {
	if !p.is(word) {
		return false
	}
	p.operand = true
	p.next()
	return true
}
