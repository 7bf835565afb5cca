package imports

import (
	"fmt"
	"strings"
)

// Codex writes its rules in Starlark. Only calls with literal arguments are
// read. Anything else would have to be run to know what it denies, so the file
// is refused.

// starCall is one call of a rules file.
type starCall struct {
	name string
	line int
	args map[string]*node
}

type starReader struct {
	file string
	in   string
	line int
}

func parseStarlark(f File) ([]starCall, error) {
	r := &starReader{file: f.Name, in: string(f.Data), line: 1}
	var calls []starCall
	for r.skip(); r.in != ""; r.skip() {
		c := starCall{line: r.line, args: map[string]*node{}}
		if c.name = r.name(); c.name == "" {
			return nil, r.fail("a call such as prefix_rule(…) is expected")
		}
		if r.skip(); !r.take("(") {
			return nil, r.fail("only calls with literal arguments are read, and %s is none", c.name)
		}
		for r.skip(); !r.take(")"); r.skip() {
			key := r.name()
			r.skip()
			if key == "" || !r.take("=") {
				return nil, r.fail("an argument of %s has no name", c.name)
			}
			if c.args[key] != nil {
				return nil, r.fail("the argument %s stands twice", key)
			}
			v, err := r.value(0)
			if err != nil {
				return nil, err
			}
			c.args[key] = v
			if r.skip(); !r.take(",") && !strings.HasPrefix(r.in, ")") {
				return nil, r.fail("a comma is missing")
			}
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func (r *starReader) fail(format string, args ...any) error {
	return &fileError{at: Place{r.file, r.line}, err: fmt.Errorf(format, args...), fix: "write each rule out as a call with texts and lists, and import it again"}
}

// skip skips space, line ends and comments.
func (r *starReader) skip() {
	for r.in != "" {
		switch c := r.in[0]; {
		case c == '\n':
			r.line++
		case c == '#':
			end := strings.IndexByte(r.in, '\n')
			if end < 0 {
				end = len(r.in)
			}
			r.in = r.in[end:]
			continue
		case c != ' ' && c != '\t' && c != '\r' && c != ';':
			return
		}
		r.in = r.in[1:]
	}
}

func (r *starReader) take(s string) bool {
	rest, ok := strings.CutPrefix(r.in, s)
	r.in = rest
	return ok
}

func (r *starReader) name() string {
	i := 0
	for i < len(r.in) && (r.in[i] == '_' || r.in[i] >= 'a' && r.in[i] <= 'z' || r.in[i] >= 'A' && r.in[i] <= 'Z' || i > 0 && r.in[i] >= '0' && r.in[i] <= '9') {
		i++
	}
	name := r.in[:i]
	r.in = r.in[i:]
	return name
}

func (r *starReader) value(depth int) (*node, error) {
	r.skip()
	n := &node{line: r.line}
	switch {
	case depth > 8:
		return nil, r.fail("lists nest too deep")
	case r.take("["):
		n.kind = '['
		for r.skip(); !r.take("]"); r.skip() {
			if r.in == "" {
				return nil, r.fail("a list is not closed")
			}
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
			if r.skip(); !r.take(",") && !strings.HasPrefix(r.in, "]") {
				return nil, r.fail("a comma is missing")
			}
		}
	case strings.HasPrefix(r.in, `"`), strings.HasPrefix(r.in, "'"):
		n.kind = '"'
		s, err := r.text()
		if err != nil {
			return nil, err
		}
		n.text = s
	case r.take("True"):
		n.kind, n.text = 't', "true"
	case r.take("False"):
		n.kind, n.text = 'f', "false"
	case r.take("None"):
		n.kind, n.text = 'n', "null"
	default:
		return nil, r.fail("a text or a list is expected")
	}
	r.skip()
	if strings.HasPrefix(r.in, "+") || strings.HasPrefix(r.in, "%") || strings.HasPrefix(r.in, ".") || strings.HasPrefix(r.in, "for ") {
		return nil, r.fail("expressions are not read")
	}
	return n, nil
}

func (r *starReader) text() (string, error) {
	quote := r.in[:1]
	if strings.HasPrefix(r.in, strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	r.in = r.in[len(quote):]
	var b strings.Builder
	for {
		switch {
		case r.in == "" || len(quote) == 1 && r.in[0] == '\n':
			return "", r.fail("a text is not closed")
		case r.take(quote):
			return b.String(), nil
		case r.in[0] == '\\' && len(r.in) > 1:
			c, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '"': `"`, '\'': "'"}[r.in[1]]
			if !ok {
				return "", r.fail("the escape \\%c is not read", r.in[1])
			}
			b.WriteString(c)
			r.in = r.in[2:]
		default:
			if r.in[0] == '\n' {
				r.line++
			}
			b.WriteByte(r.in[0])
			r.in = r.in[1:]
		}
	}
}
