package languages

// beforeRegexp are the operators after which / always begins a regular expression, "" for
// the beginning of an expression.
var beforeRegexp = map[string]bool{"": true, "!": true, "~": true, "!~": true, "&&": true, "||": true, "?": true}

// expression parses an expression. bare is set if > may be a redirection in it, as in a
// print statement: there a comparison must be in parentheses.
func (p *awk) expression(bare bool) bool {
	have := false // an operand precedes
	before := ""  // the preceding operator
	divides := true
	p.operand = false
	for {
		switch p.tok {
		case awkNumber:
			if have && before == "number" {
				return false
			}
			have, divides, before = p.afterOperand(), true, "number"
			continue
		case awkString:
			p.operand = true
			p.next()
			have, divides, before = true, false, "string"
			continue
		case awkRegexp:
			// Only if no other reading is possible.
			if have || !beforeRegexp[before] {
				return false
			}
			p.operand = true
			p.next()
			have, divides, before = true, false, "regexp"
			continue
		case awkName:
			plain, ok := p.name()
			if !ok {
				return false
			}
			have, divides, before = true, plain, "name"
			continue
		case awkKeyword:
			if !p.is("in") {
				return have
			}
			if !have || !p.take("in") || !p.variable() {
				return false
			}
			have, divides, before = p.afterOperand(), false, "name"
			continue
		case awkSign:
		case awkEnd, awkNewline:
			return have
		case awkBad:
			return false
		}
		switch o := p.word; o {
		case "(":
			if before == "name" || !p.take("(") || !p.nested(p.list) || !p.closingBracket(")") {
				return false
			}
			have, divides, before = true, true, ")"
		case "$":
			p.take("$")
			if p.tok != awkNumber && p.tok != awkName && !p.is("(") && !p.is("$") && !p.is("++") && !p.is("--") {
				return false
			}
			have, before = false, o
		case "++", "--":
			if have && before != "name" && before != ")" && before != "number" {
				return false
			}
			if have {
				// After an operand it belongs to that operand.
				p.operand = true
				p.next()
				divides, before = false, "name"
				continue
			}
			p.take(o)
			before = o
			if p.tok != awkName && !p.is("$") {
				return false
			}
		case "!":
			if have || !p.take(o) {
				return false
			}
			before = o
		case "+", "-":
			p.take(o)
			have, before = false, o
		case "/":
			if !have || !divides || !p.take(o) {
				return false
			}
			have, before = false, o
		case ">", ">=":
			if !have || bare || !p.take(o) {
				return false
			}
			have, before = false, o
		case "*", "%", "^", "==", "!=", "<", "<=", "~", "!~", "?", ":", "=", "+=", "-=", "*=", "%=", "^=":
			if !have || !p.take(o) {
				return false
			}
			have, before = false, o
		case "&&", "||":
			if !have || !p.take(o) {
				return false
			}
			p.newlines()
			have, before = false, o
		default:
			return have
		}
	}
}

// afterOperand continues after an operand that may be divided.
func (p *awk) afterOperand() bool {
	p.operand = true
	p.next()
	return true
}

// name parses a variable, an element or a call, and reports whether all implementations
// take a / after it for a division.
func (p *awk) name() (divides, ok bool) {
	word := p.word
	p.operand = true
	sticks := p.at < len(p.text) && p.text[p.at] == '('
	p.next()
	switch {
	case awkFunctions.Has(word) && p.is("("), sticks:
		if !awkFunctions.Has(word) {
			p.called[word] = true
		}
		p.take("(")
		if p.is(")") {
			return true, p.closingBracket(")")
		}
		return true, p.nested(p.list) && p.closingBracket(")")
	case word == "length":
		return false, true
	case awkFunctions.Has(word), p.is("("):
		return false, false
	}
	p.variables[word] = true
	if p.is("[") {
		return true, p.subscript()
	}
	return true, true
}
