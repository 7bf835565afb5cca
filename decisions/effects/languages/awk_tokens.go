package languages

import "strings"

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
			p.tok = awkBad // it may continue on the next line
			return
		}
		p.at += n
	}
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
		if awkKeywords.Has(rest[:n]) {
			p.tok = awkKeyword
		} else if awkOther.Has(rest[:n]) {
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

// awkOperator returns the length of an operator, 0 for one that is not supported.
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
	return 0 // including | & @ \ ' and `
}

// number returns the length of a decimal number, 0 if it is followed by characters that
// some implementations include.
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

// awkQuoted returns the length of a string, -1 for one with an escape that only some
// implementations know.
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
				// Three digits; after fewer, some implementations read further characters.
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

// take skips the given token, if it is next. An operand may follow it.
func (p *awk) take(word string) bool {
	if !p.is(word) {
		return false
	}
	p.operand = false
	p.next()
	return true
}

// skipEnds skips newlines and semicolons.
func (p *awk) skipEnds() {
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
