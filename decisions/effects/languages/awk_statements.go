package languages

func (p *awk) program() bool {
	for p.skipEnds(); p.tok != awkEnd; p.skipEnds() {
		if !p.item() {
			return false
		}
	}
	return true
}

// item parses a function, or a pattern with or without its action.
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
	if p.tok != awkName || awkFunctions.Has(p.word) {
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
	for p.skipEnds(); !p.is("}"); p.skipEnds() {
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
		p.skipEnds()
		return p.is("while") && p.condition() && p.end()
	case p.is("for"):
		return p.loop() && p.body()
	}
	return p.simple() && p.end()
}

// body parses the statement of a loop or condition.
func (p *awk) body() bool {
	p.newlines()
	return p.statement()
}

func (p *awk) otherwise() bool {
	at := *p
	p.skipEnds()
	if !p.is("else") {
		*p = at
		return true
	}
	p.next()
	return p.body()
}

// end requires the end of a simple statement, and skips it unless it is a brace.
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

// nested parses something within brackets, where > is a comparison.
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
	if p.forIn() {
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

// forIn parses "NAME in NAME)".
func (p *awk) forIn() bool {
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

// variable reports whether the token is a variable's name, and records it.
func (p *awk) variable() bool {
	if p.tok != awkName || !plainAwkName(p.word) {
		return false
	}
	p.variables[p.word] = true
	return true
}

// simple parses a statement without its end.
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
	// A regular expression here may be a division of the preceding operand.
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
	return p.take("[") && p.nested(func(bool) bool { return p.list(true) }) && p.is("]") && p.closingBracket("]")
}

// closingBracket skips a bracket after which / divides.
func (p *awk) closingBracket(word string) bool {
	if !p.is(word) {
		return false
	}
	p.operand = true
	p.next()
	return true
}
