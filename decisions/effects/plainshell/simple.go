package plainshell

import "strings"

// descriptors is a set of descriptors from 0 to 9.
type descriptors uint16

// add reports whether the descriptor was not in the set, and adds it.
func (d *descriptors) add(fd byte) bool {
	if *d&(1<<fd) != 0 {
		return false
	}
	*d |= 1 << fd
	return true
}

// simple reads a simple command: assignments, words and redirections.
func (r *reader) simple(used *descriptors) bool {
	start, first := r.pos, len(r.words)
	number := r.commands
	r.commands++
	assigned, ifs, redirected := false, false, false
	for {
		if !r.blanks() {
			return false
		}
		if r.next() == '<' && r.peek(1) == '(' && len(r.words) > first && r.shells.within(Bash|Zsh) {
			if !r.processWord(number) {
				return false
			}
			continue
		}
		redirects, ok := r.redirection(used)
		if !ok {
			return false
		}
		if redirects {
			redirected = true
			continue
		}
		c := r.next()
		if c == '(' {
			return r.refuse(Parenthesis, r.pos, "a parenthesis behind a word")
		}
		if isEnd(c) || c == '#' && isSpace(r.before()) {
			break
		}
		place, kind := inOperands, MarkWord
		if len(r.words) == first {
			if n := nameAt(r.text[r.pos:]); n > 0 && r.peek(n) == '=' {
				assigned, ifs = true, ifs || r.text[r.pos:r.pos+n] == "IFS"
				if !r.assignment(number) {
					return false
				}
				continue
			}
			place, kind = inName, MarkName
		}
		mark := len(r.marks)
		w, ok := r.word(place, kind)
		if !ok {
			return false
		}
		r.marks[mark].Command = number
		r.words = append(r.words, w)
	}
	words := r.words[first:]
	r.words = r.words[:first]
	switch {
	case len(words) > 0:
		return r.checkName(words, assigned, ifs)
	case !assigned && redirected:
		return r.refuse(EmptyCommand, start, "redirections without a command, for which zsh runs one")
	case !assigned:
		return r.refuse(EmptyCommand, start, "an operator with no command before it")
	case redirected:
		return r.refuse(Assignment, start, "an assignment with a redirection and no command")
	case ifs:
		return r.refuse(SpecialName, start, "the variable IFS")
	}
	return true
}

// processWord reads <(…) as a word of a command. To yash it is a redirection, and dash does
// not accept it.
func (r *reader) processWord(command int32) bool {
	if !isSpace(r.before()) {
		return r.refuse(Redirection, r.pos, "<(…) without a blank before it")
	}
	w := word{start: r.pos, has: hasExpansion | hasOpen}
	m := r.beginMark(MarkWord)
	r.marks[m].Command = command
	if !r.substitution(MarkProcess) {
		return false
	}
	if c := r.next(); !isEnd(c) || c == '<' || c == '>' || c == '(' {
		return r.refuse(Redirection, r.pos, "something directly behind <(…)")
	}
	r.endMark(m)
	w.end = r.pos
	r.words = append(r.words, w)
	return true
}

// assignment reads NAME=word.
func (r *reader) assignment(number int32) bool {
	m := r.beginMark(MarkAssignment)
	r.marks[m].Command = number
	name := r.token()
	name = name[:strings.IndexByte(name, '=')]
	if special(name) && name != "IFS" && !harmlessSpecial[name] {
		return r.refuse(SpecialName, r.pos, "the variable "+name+", which means something to a shell")
	}
	r.pos += len(name) + 1
	if !isEnd(r.next()) {
		if _, ok := r.parts(inValue); !ok {
			return false
		}
	}
	r.endMark(m)
	return true
}

// redirection reads a redirection, if there is one. A descriptor is one digit after a blank or
// an operator, so that no shell can take it for part of a word.
func (r *reader) redirection(used *descriptors) (redirects, ok bool) {
	start := r.pos
	if r.next() == '&' && r.peek(1) == '>' && r.shells.within(Bash|Zsh) {
		return r.redirectBoth(used)
	}
	n := 0
	if isDigit(r.next()) {
		n = 1
	}
	c := r.peek(n)
	if c != '<' && c != '>' {
		return false, true
	}
	fd := byte(1)
	if c == '<' {
		fd = 0
	}
	if n == 1 {
		fd = r.next() - '0'
	}
	if b := r.before(); !isSpace(b) {
		return false, r.refuse(Redirection, start, "a redirection without a blank before it")
	}
	if !used.add(fd) {
		return false, r.refuse(Redirected, start, "a descriptor that is redirected twice")
	}
	r.pos += n + 1
	switch {
	case c == '<' && r.next() == '<':
		r.pos++
		return true, r.hereDocument(start)
	case c == '>' && r.next() == '&':
		r.pos++
		if !isDigit(r.next()) && r.next() != '-' || !isEnd(r.peek(1)) || r.peek(1) == '<' || r.peek(1) == '>' {
			return false, r.refuse(Redirection, start, "a redirection of another form than >&1")
		}
		m := r.beginMark(MarkTarget)
		r.pos++
		r.endMark(m)
		return true, true
	case c == '>' && r.next() == '>':
		r.pos++
	}
	switch r.next() {
	case '<', '>', '&', '|', '!', '(':
		return false, r.refuse(Redirection, start, "the redirection "+r.text[start:r.pos+1])
	}
	if !r.blanks() {
		return false, false
	}
	if isEnd(r.next()) || r.next() == '#' {
		return false, r.refuse(Redirection, start, "a redirection without a target")
	}
	_, ok = r.word(inTarget, MarkTarget)
	return true, ok
}

// redirectBoth reads &> and its target, which dash reads as & and >.
func (r *reader) redirectBoth(used *descriptors) (redirects, ok bool) {
	start := r.pos
	if !isSpace(r.before()) || r.peek(2) == '>' || r.peek(2) == '&' {
		return false, r.refuse(Redirection, start, "&> of another form")
	}
	if !used.add(1) || !used.add(2) {
		return false, r.refuse(Redirected, start, "a descriptor that is redirected twice")
	}
	r.pos += 2
	if !r.blanks() {
		return false, false
	}
	if isEnd(r.next()) || r.next() == '#' || r.next() == '!' {
		return false, r.refuse(Redirection, start, "a redirection without a target")
	}
	_, ok = r.word(inTarget, MarkTarget)
	return true, ok
}

// document is a here-document whose body is not read yet.
type document struct {
	delimiter string
	bare      bool
}

// hereDocument reads the delimiter after <<.
func (r *reader) hereDocument(start int) bool {
	if c := r.next(); c == '<' || c == '-' {
		return r.refuse(HereDocument, start, "<<"+string(c))
	}
	if r.openSubstitutions > 0 && r.shells&Old != 0 && r.shells&(Bash|Sh) != 0 {
		return r.refuse(HereDocument, start, "a here-document inside $(…), which bash 3.2 ends elsewhere")
	}
	if !r.blanks() {
		return false
	}
	m := r.beginMark(MarkDelimiter)
	quote := r.next()
	if quote == '\'' || quote == '"' {
		if quote == '\'' {
			r.beginMark(MarkSingle)
		} else {
			r.beginMark(MarkDouble)
		}
		r.pos++
	} else {
		quote = 0
	}
	n := nameAt(r.text[r.pos:])
	doc := document{delimiter: r.text[r.pos : r.pos+n], bare: quote == 0}
	r.pos += n
	if quote != 0 && r.next() == quote {
		r.pos++
		r.endMark(m + 1)
		quote = 0
	}
	if n == 0 || quote != 0 || !isEnd(r.next()) || r.next() == '<' || r.next() == '>' || r.next() == '(' {
		return r.refuse(HereDocument, start, "a here-document whose delimiter is no plain name")
	}
	r.endMark(m)
	r.docs = append(r.docs, doc)
	return true
}

// bodies reads the here-documents that begin after a newline.
func (r *reader) bodies() bool {
	for _, doc := range r.docs {
		if !r.document(doc) {
			return false
		}
	}
	r.docs = r.docs[:0]
	return true
}

// document reads a here-document's lines up to the one that ends it.
func (r *reader) document(doc document) bool {
	start := r.pos
	m := r.beginMark(MarkBody)
	for r.pos < len(r.text) {
		line, _, _ := strings.Cut(r.text[r.pos:], "\n")
		if line == doc.delimiter {
			if r.pos == start {
				r.marks = r.marks[:m] // it has no lines
			} else {
				r.endMark(m)
			}
			r.pos = min(r.pos+len(line)+1, len(r.text))
			return true
		}
		if strings.HasPrefix(strings.TrimLeft(line, "\t"), doc.delimiter) {
			return r.refuse(HereDocument, r.pos, "a line of a here-document that begins with its delimiter")
		}
		end := r.pos + len(line)
		if doc.bare && !r.bareLine(end) {
			return false
		}
		r.pos = min(end+1, len(r.text))
	}
	return r.refuse(HereDocument, start, "a here-document that does not end")
}

// bareLine reads a line of a here-document in which the shell expands variables.
func (r *reader) bareLine(end int) bool {
	for r.pos < end {
		switch c := r.next(); {
		case c == '\\' || c == '`':
			return r.refuse(HereDocument, r.pos, "a backslash or a backquote in a here-document whose delimiter is not quoted")
		case c >= 0x80:
			return r.refuse(HereDocument, r.pos, "a letter beyond ASCII in a here-document whose delimiter is not quoted")
		case c != '$':
			r.pos++
		case isNameStart(r.peek(1)):
			if !r.parameter() {
				return false
			}
		case r.peek(1) == '{' && isNameStart(r.peek(2)) && r.peek(2+nameAt(r.text[r.pos+2:])) == '}':
			if !r.bracedParameter() {
				return false
			}
		default:
			return r.refuse(HereDocument, r.pos, "a $ in a here-document whose delimiter is not quoted")
		}
	}
	return true
}
