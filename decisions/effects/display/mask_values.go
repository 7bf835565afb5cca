package display

import (
	"strings"

	"github.com/permd/permd/internal/chars"
)

// masker scans one text and tracks the shell quotes in it.
type masker struct {
	s     string
	at    int  // quotes are tracked up to here
	quote byte // the quote that is open at at, 0 for none
	scans int  // number of searches for a command
	// cookies is the end of a header with cookies.
	cookies int
	// word is set if the text is one word of a command, whose quotes are not the shell's.
	word bool
}

// quoteAt returns the quote that is open at i, which must not decrease. An apostrophe
// in text that is not shell code can mislead it: the mask then covers at most words
// without special characters of a shell.
func (m *masker) quoteAt(i int) byte {
	for ; m.at < i; m.at++ {
		switch c := m.s[m.at]; {
		case c == '\\' && m.quote != '\'':
			m.at++
		case c != '\'' && c != '"':
		case m.quote == 0:
			m.quote = c
		case m.quote == c:
			m.quote = 0
		}
	}
	return m.quote
}

// valueAt finds the value of NAME=value, with the equals sign at s[i].
func (m *masker) valueAt(i int) (from, end int) {
	s := m.s
	if i+1 < len(s) && (s[i+1] == '=' || s[i+1] == '~') {
		return m.queryAt(i)
	}
	if from, end = m.comparedAt(i); end > 0 {
		return from, end
	}
	stop, quotes := i, 0
	if name, n := nameInBrackets(s, i); name > 0 {
		stop, quotes = name, n // os.environ["API_KEY"] = "x"
	} else if i > 0 && s[i-1] == '+' {
		stop--
	}
	blank := stop >= i-1 && quotes == 0 && stop > 0 && s[stop-1] == ' ' // as in configuration files
	if blank {
		stop--
	}
	name := nameBefore(s, stop)
	if name == "" {
		return 0, 0
	}
	start := stop - len(name)
	place := nameOfVariable
	switch {
	case start > 0 && (s[start-1] == '?' || s[start-1] == '&'):
		place = nameOfQuery
	case name[0] == '-':
		place = nameOfOption
	}
	v := i + 1
	members := v < len(s) && opens(s[v])
	cookie := i < m.cookies && strings.HasSuffix(strings.TrimRight(s[:start], " "), ";")
	if !secretName(name, place) && !cookie && (!members || name != "auth" && !secretName(strings.TrimRight(name, "sS"), place)) {
		return 0, 0
	}
	if members {
		return m.membersAt(start, v)
	}
	if blank || stop < i && v < len(s) && s[v] == ' ' {
		// Without quotes only on a line of its own, as in a file.
		line := start > 0 && s[start-1] == '\n'
		if v >= len(s) || s[v] != ' ' || v+1 >= len(s) || s[v+1] != '"' && s[v+1] != '\'' && !line {
			return 0, 0
		}
		v++
	}
	return m.value(start-quotes, v) // before the name's own quote
}

// comparedAt finds the value that a secret variable is compared with, "$TOKEN" = value, with
// the equals sign, or the last of two, at s[i].
func (m *masker) comparedAt(i int) (from, end int) {
	s := m.s
	stop := i
	if stop > 0 && (s[stop-1] == '=' || s[stop-1] == '!') {
		stop--
	}
	if stop == 0 || s[stop-1] != ' ' {
		return 0, 0
	}
	stop--
	quotes := len(s[:stop]) - len(strings.TrimRight(s[:stop], `"`))
	name := nameBefore(s, len(strings.TrimSuffix(s[:stop-quotes], "}")))
	start := strings.LastIndex(s[:stop-quotes], name)
	head := strings.TrimSuffix(s[:start], "{")
	if name == "" || quotes > 1 || !strings.HasSuffix(head, "$") || !secretName(name, nameOfVariable) {
		return 0, 0
	}
	v := i + 1
	for v < len(s) && (s[v] == ' ' || s[v] == '=') {
		v++
	}
	if v == i+1 {
		return 0, 0
	}
	return m.value(max(0, len(head)-1-quotes), v)
}

// fieldAt finds the value of a header or of a JSON member, with the colon at s[i].
func (m *masker) fieldAt(i int) (from, end int) {
	s := m.s
	stop, place := i, nameOfHeader
	if stop > 0 && (s[stop-1] == '"' || s[stop-1] == '\'') {
		stop, place = stop-1, nameOfMember
		if stop > 0 && s[stop-1] == '\\' {
			stop--
		}
	}
	name := nameBefore(s, stop)
	start, v := stop-len(name), i+1
	if name == "pass" && place == nameOfHeader { // openssl's -passin pass:x
		return m.value(start, v)
	}
	if name == "" {
		return 0, 0
	}
	if place == nameOfMember {
		list := i + 1 + len(s[i+1:]) - len(strings.TrimLeft(s[i+1:], " "))
		if list < len(s) && opens(s[list]) {
			if !secretName(strings.TrimSuffix(name, "s"), place) && !secretName(name, place) {
				return 0, 0
			}
			if from, end = m.membersAt(start-1, list); strings.ContainsAny(s[from:end], `"'`) {
				return from, end
			}
			return 0, 0
		}
	}
	member := place == nameOfHeader && v < len(s) && (s[v] == '"' || s[v] == '\'') && start > 0 && (s[start-1] == '{' || s[start-1] == ',')
	if !secretName(name, place) && (!member || !secretName(name, nameOfMember)) {
		return 0, 0
	}
	if v < len(s) && s[v] == '=' {
		v++ // name:=value
	}
	for v < len(s) && s[v] == ' ' {
		v++
	}
	if place == nameOfMember {
		return m.value(start-1, v) // before the name's own quote
	}
	from, end = m.value(start, v)
	if end == 0 {
		return 0, 0
	}
	if strings.EqualFold(name, "cookie") || strings.EqualFold(name, "set-cookie") {
		if open := m.quoteAt(start); open != 0 {
			m.cookies = end + max(strings.IndexByte(s[end:], open), 0)
		}
	}
	for _, a := range authSchemes {
		if end < len(s) && s[end] == ' ' && strings.EqualFold(s[from:end], a[:len(a)-1]) {
			return m.value(start, end+1)
		}
	}
	if _, rest := cutSegment(name); (rest == "" || !endsInSecret(name)) && !looksSecret(s[from:end]) && !strings.EqualFold(name, "authorization") {
		return 0, 0 // "token: refresh it earlier" is prose
	}
	return from, end
}

// statementAt finds the text after a word of SQL such as PASSWORD 'x' or IDENTIFIED BY 'x',
// with its quote at s[i]. The statement is in quotes of a shell itself.
func (m *masker) statementAt(i int) (from, end int) {
	s := m.s
	stop := len(strings.TrimRight(s[:i], " "))
	if from, end = m.argumentAt(i, stop); end > 0 {
		return from, end
	}
	if stop == i || !m.word && m.quoteAt(stop) == 0 || m.quoteAt(stop) == s[i] {
		return 0, 0
	}
	last := strings.LastIndexByte(s[:stop], ' ') + 1
	word := s[last:stop]
	if word == "" {
		return 0, 0
	}
	if strings.EqualFold(word, "by") || word == "=" || strings.EqualFold(word, "as") {
		before := strings.ToUpper(s[max(0, stop-maxLookBack):last])
		before = before[strings.LastIndexByte(before, ';')+1:]
		if !strings.HasSuffix(before, "IDENTIFIED ") && !strings.Contains(before, "SET PASSWORD") && !strings.Contains(before, "IDENTIFIED WITH") {
			return 0, 0
		}
	} else if nameBefore(s, stop) != word || !chars.IsLetter(word[0]) || !secretName(word, nameOfMember) {
		return 0, 0
	}
	return m.value(last, i)
}

// argumentAt finds the text after the quoted name of a variable: define("DB_PASSWORD", "x").
// Its quote is at s[i], and stop is the end of what is before.
func (m *masker) argumentAt(i, stop int) (from, end int) {
	s := m.s
	if stop < 4 || s[stop-1] != ',' || s[stop-2] != '"' && s[stop-2] != '\'' {
		return 0, 0
	}
	stop -= 2
	if s[stop-1] == '\\' {
		stop--
	}
	name := nameBefore(s, stop)
	start := stop - len(name)
	if start == 0 || s[start-1] != '"' && s[start-1] != '\'' || !upperCase(name) || !strings.Contains(name, "_") || !secretName(name, nameOfVariable) {
		return 0, 0
	}
	return m.value(start-1, i)
}

// queryAt finds the value of NAME==value, as httpie writes parameters, with the first
// equals sign at s[i]. A comparison has blanks, and a version has numbers.
func (m *masker) queryAt(i int) (from, end int) {
	name := nameBefore(m.s, i)
	if m.s[i+1] != '=' || name == "" || !secretName(name, nameOfQuery) {
		return 0, 0
	}
	from, end = m.value(i-len(name), i+2)
	if strings.Trim(m.s[from:end], "0123456789.*") == "" {
		return 0, 0
	}
	return from, end
}

// nameInBrackets returns the end of the name in ["name"], [name] or {name} before i, with or
// without a blank between, and the length of a quote in the brackets; 0 if there is none.
func nameInBrackets(s string, i int) (stop, quote int) {
	if i > 0 && s[i-1] == ' ' {
		i--
	}
	switch {
	case i < 4 || s[i-1] != ']' && s[i-1] != '}':
		return 0, 0
	case s[i-2] != '"' && s[i-2] != '\'':
		return i - 1, 0
	case s[i-3] == '\\':
		return i - 3, 2
	}
	return i - 2, 1
}

func opens(c byte) bool { return c == '[' || c == '{' || c == '(' }

// maxMembers is how far membersAt looks, in bytes.
const maxMembers = 1 << 10

// membersAt returns what is between the brackets that open at v, the value of a name at
// start: "tokens": ["x", "y"]. It ends where a shell could see the end of a command.
func (m *masker) membersAt(start, v int) (from, end int) {
	open := m.quoteAt(start)
	depth := 0
	for i := v; i < len(m.s) && i-v < maxMembers; i++ {
		switch c := m.s[i]; {
		case opens(c):
			depth++
		case c == ']' || c == '}' || c == ')':
			if depth--; depth == 0 {
				return v + 1, i
			}
		case strings.IndexByte(";|&$`<>\r\n", c) >= 0 || c == open:
			return 0, 0
		}
	}
	return 0, 0
}

// looksSecret tells a secret from a common word.
func looksSecret(value string) bool {
	return len(value) >= 6 && strings.ContainsAny(value, "0123456789=") || len(value) >= 20
}

// nameBefore returns the name that ends at stop, with the dashes of an option.
func nameBefore(s string, stop int) string {
	start := stop
	for start > 0 && stop-start <= maxSecretName && (WordByte(s[start-1]) || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	return s[start:stop]
}

// value finds the value that begins at v and whose name begins at start.
func (m *masker) value(start, v int) (from, end int) {
	s := m.s
	if v >= len(s) {
		return 0, 0
	}
	open := m.quoteAt(start)
	width := 0
	if s[v] == '$' && v+1 < len(s) && (s[v+1] == '"' || s[v+1] == '\'') {
		v++
	}
	switch {
	case s[v] == '"' || s[v] == '\'':
		if s[v] == open {
			return 0, 0
		}
		width = 1
	case strings.HasPrefix(s[v:], `\"`):
		width = 2
	}
	if width > 0 {
		mark := s[v : v+width]
		v += width
		n := strings.Index(s[v:], mark)
		if n < 0 {
			n = len(s) - v
		}
		if isPath(s[v : v+n]) {
			return 0, 0
		}
		if content := s[v : v+n]; strings.Trim(content, " ") != "" && !strings.ContainsAny(content, ";|&$`()<>\"'{}\\\t\r\n") {
			return excluded(s, v, v+n)
		}
		n = plainLen(s[v:v+n], mark == "'")
		return excluded(s, v, v+n)
	}
	if strings.IndexByte("/~< ", s[v]) >= 0 || strings.HasPrefix(s[v:], "./") || strings.HasPrefix(s[v:], "../") {
		return 0, 0 // a reference to the secret
	}
	if start > 0 && open != 0 && s[start-1] == open && s[start] == '-' && s[v-1] == '=' {
		// One word in quotes, '--password=correct horse': all of it is the value.
		n := strings.IndexByte(s[v:], open)
		if n > 0 && !strings.ContainsAny(s[v:v+n], ";|&$`()<>\"'{}\t\r\n") && (open == '\'' || !strings.Contains(s[v:v+n], `\`)) {
			return excluded(s, v, v+n)
		}
	}
	return excluded(s, v, v+joinedLen(s[v:]))
}

// joinedLen is plainLen with parts in quotes that are joined to the value: can"a"ry.
func joinedLen(s string) int {
	n := plainLen(s, false)
	for n > 0 && n < len(s) && (s[n] == '"' || s[n] == '\'') {
		part := closing(s[n+1:], s[n])
		if part < 0 || plainLen(s[n+1:n+1+part], false) != part {
			break
		}
		rest := n + part + 2
		more := plainLen(s[rest:], false)
		if part == 0 && more == 0 {
			break
		}
		n = rest + more
	}
	return n
}

// isPath recognises a path with a root: a reference to a secret, or a folder.
func isPath(s string) bool {
	return strings.HasPrefix(s, "/") && strings.Count(s, "/") > 1 || len(s) > 3 && chars.IsLetter(s[0]) && s[1] == ':' && s[2] == '\\'
}

// plainLen returns the length of an unquoted value at the beginning of s.
func plainLen(s string, literal bool) int {
	for i := range len(s) {
		if c := s[i]; special(c) && c != '/' && c != '#' && (c != '$' || !literal) {
			return i
		}
	}
	return len(s)
}

// excluded excludes values that are no secrets.
func excluded(s string, from, end int) (int, int) {
	switch strings.ToLower(s[from:end]) {
	case "", Masked, "true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off", "0", "1":
		return 0, 0
	}
	if end-from <= 2 && chars.AllDigits(s[from:end]) {
		return 0, 0 // a number of something
	}
	if head, n := tokenAt(s[from:end]); n > 0 {
		from += head // the type of the token
	}
	return from, end
}
