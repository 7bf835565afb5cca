package plainshell

// expansion reads what follows a $.
func (r *reader) expansion() bool {
	switch c := r.peek(1); {
	case c == '(' && r.peek(2) == '(':
		return r.arithmetic()
	case c == '(':
		return r.substitution(MarkSubstitution)
	case c == '{':
		return r.bracedParameter()
	case c == '?', c == '$', isNameStart(c):
		return r.parameter()
	case c == '\'' || c == '"':
		return r.refuse(Quote, r.pos, "a $ before a quote")
	case c == 0 || c != '@' && c != '*' && c != '#' && c != '-' && c != '!' && !isDigit(c):
		return r.refuse(Dollar, r.pos, "a $ before such a character")
	}
	return r.refuse(Parameter, r.pos, "the parameter "+r.text[r.pos:r.pos+2])
}

// parameter reads $NAME, $? or $$.
func (r *reader) parameter() bool {
	m, start := r.beginMark(MarkParameter), r.pos
	r.pos++
	switch n := nameAt(r.text[r.pos:]); {
	case n == 0:
		r.pos++
		if r.before() == '$' && isNamePart(r.next()) {
			return r.refuse(Parameter, start, "a name behind $$")
		}
	case n == 1 && r.next() == '_':
		return r.refuse(Parameter, start, "the parameter $_")
	default:
		r.pos += n
	}
	r.endMark(m)
	switch c := r.next(); {
	case c == '[':
		return r.refuse(Parameter, start, "a [ behind a parameter, which zsh takes for a subscript")
	case c == ':' && (isNameStart(r.peek(1)) || r.peek(1) == '&'):
		return r.refuse(Parameter, start, "a : behind a parameter, which zsh takes for a modifier")
	case c >= 0x80:
		return r.refuse(Parameter, start, "a letter beyond ASCII behind a parameter")
	}
	return true
}

// bracedParameter reads ${NAME}, ${#NAME}, and the forms with a default or with a prefix or suffix to
// remove.
func (r *reader) bracedParameter() bool {
	m, start := r.beginMark(MarkParameter), r.pos
	r.pos += 2
	length := r.next() == '#'
	if length {
		r.pos++
	}
	n := nameAt(r.text[r.pos:])
	if n == 0 || n == 1 && r.next() == '_' {
		return r.refuse(Parameter, start, "an expansion of another form than ${NAME}")
	}
	r.pos += n
	if c := r.next(); c != '}' && !length {
		switch c {
		case ':':
			if r.pos++; r.next() != '-' && r.next() != '+' {
				return r.refuse(Parameter, start, "${NAME"+r.text[r.pos-1:min(r.pos+1, len(r.text))]+"…}")
			}
			r.pos++
			r.run(plainByte)
		case '-', '+':
			r.pos++
			r.run(plainByte)
		case '%', '#':
			if r.pos++; r.next() == c {
				r.pos++
			}
			r.run(removable)
		}
	}
	if r.next() != '}' {
		return r.refuse(Parameter, start, "an expansion of another form than ${NAME}, ${NAME:-text} or ${NAME%text}")
	}
	r.pos++
	r.endMark(m)
	return true
}

// run reads bytes while is returns true.
func (r *reader) run(is func(byte) bool) {
	for r.pos < len(r.text) && is(r.text[r.pos]) {
		r.pos++
	}
}

// removable reports whether a byte may be in a prefix or suffix to remove.
func removable(c byte) bool {
	return isNamePart(c) || c == '.' || c == '/' || c == '*' || c == '-'
}

// substitution reads $(…) or <(…).
func (r *reader) substitution(kind Kind) bool {
	m, start := r.beginMark(kind), r.pos
	if len(r.docs) > 0 {
		return r.refuse(HereDocument, start, r.text[start:start+2]+"…) on a line with a here-document")
	}
	if r.openSubstitutions++; r.openSubstitutions > maxSubstitutions {
		return r.refuse(TooDeep, start, "more than four $(…) inside each other")
	}
	depth := r.depth
	r.depth = 0
	r.pos += 2
	if !r.list(untilParen, false) {
		return false
	}
	if len(r.docs) > 0 {
		return r.refuse(HereDocument, start, "a here-document that does not end inside its $(…)")
	}
	r.pos++
	r.depth = depth
	r.openSubstitutions--
	r.endMark(m)
	return true
}

// arithmetic reads $((…)) of numbers, and of sums and products with variables. The value of
// a variable is evaluated, which can run commands: whether it is a number, the reader of the
// text has to know.
func (r *reader) arithmetic() bool {
	m, start := r.beginMark(MarkArithmetic), r.pos
	r.pos += 3
	depth, operand := 0, true // whether an operand must follow
	for {
		c := r.next()
		switch {
		case isDigit(c):
			if !operand || c == '0' && isDigit(r.peek(1)) {
				return r.refuse(Arithmetic, r.pos, "a number with a leading zero, or behind another")
			}
			if r.run(isDigit); isNamePart(r.next()) {
				return r.refuse(Arithmetic, r.pos, "a name in $((…))")
			}
			operand = false
			continue
		case operand && (isNameStart(c) || c == '$'):
			if !r.calculated() {
				return r.refuse(Arithmetic, r.pos, "another form than NAME, $NAME or ${NAME} in $((…))")
			}
			operand = false
			continue
		case c == '(' && operand:
			depth++
		case c == ')' && depth > 0 && !operand:
			depth--
		case c == ')' && r.peek(1) == ')' && !operand:
			r.pos += 2
			r.endMark(m)
			return true
		case (c == '+' || c == '-' || c == '*' || c == '/' || c == '%') && !operand:
			operand = true
		case c != ' ' && c != '\t':
			return r.refuse(Arithmetic, start, "$((…)) with something else than numbers")
		}
		r.pos++
	}
}

// calculated reads NAME, $NAME or ${NAME} in $((…)).
func (r *reader) calculated() bool {
	from, to := 0, 0
	switch {
	case r.next() == '$' && r.peek(1) == '{':
		from, to = 2, 1
	case r.next() == '$':
		from = 1
	}
	n := nameAt(r.text[r.pos+from:])
	if n == 0 || n == 1 && r.text[r.pos+from] == '_' || to > 0 && (r.pos+from+n >= len(r.text) || r.text[r.pos+from+n] != '}') {
		return false
	}
	r.pos += from + n + to
	return true
}
