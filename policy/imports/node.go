package imports

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/internal/strictjson"
)

// node is a value of a settings file with the line that it stands in.
type node struct {
	line    int
	kind    byte   // { [ " 0 t f n, as JSON begins
	text    string // of a string, or as written
	members []member
	items   []*node
}

type member struct {
	name  string
	line  int
	value *node
}

// get returns the value of a member, nil when there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// words in which a person reads what a value is.
func (n *node) what() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// show is a value as a note repeats it.
func (n *node) show() string {
	switch n.kind {
	case '{':
		return "{…}"
	case '[':
		return "[…]"
	}
	return n.text
}

// parseJSONC reads JSON with comments and trailing commas, as editors write it.
// A name that stands twice is an error: who reads it decides which one counts.
func parseJSONC(f File) (*node, error) {
	plain, err := stripComments(f)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(plain)) == "" {
		return &node{line: 1, kind: '{'}, nil
	}
	if err := strictjson.Check(plain); err != nil {
		return nil, &Error{At: Place{File: f.Name}, Err: err, Fix: "mend it, and import it again"}
	}
	r := &jsonReader{in: string(plain), line: 1}
	return r.value(), nil
}

// stripComments puts spaces in the place of comments and of commas before a
// closing bracket, so that every other character keeps its line.
func stripComments(f File) ([]byte, error) {
	out := []byte(strings.TrimPrefix(string(f.Data), "\uFEFF"))
	comma := -1 // of the last comma that nothing has followed
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := strings.Index(string(out[i+2:]), "*/")
			if end < 0 {
				return nil, &Error{At: Place{f.Name, 1 + strings.Count(string(out[:i]), "\n")}, Err: errors.New("a comment is not closed")}
			}
			for last := i + 2 + end + 2; i < last; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out, nil
}

// jsonReader walks text that is JSON for certain.
type jsonReader struct {
	in   string
	line int
}

func (r *jsonReader) space() {
	for r.in != "" && strings.IndexByte(" \t\r\n,:", r.in[0]) >= 0 {
		if r.in[0] == '\n' {
			r.line++
		}
		r.in = r.in[1:]
	}
}

func (r *jsonReader) value() *node {
	r.space()
	n := &node{line: r.line, kind: r.in[0]}
	switch n.kind {
	case '{':
		r.in = r.in[1:]
		for r.space(); r.in[0] != '}'; r.space() {
			line := r.line
			name := r.text()
			n.members = append(n.members, member{name, line, r.value()})
		}
		r.in = r.in[1:]
	case '[':
		r.in = r.in[1:]
		for r.space(); r.in[0] != ']'; r.space() {
			n.items = append(n.items, r.value())
		}
		r.in = r.in[1:]
	case '"':
		n.text = r.text()
	default:
		end := strings.IndexAny(r.in, " \t\r\n,]}")
		if end < 0 {
			end = len(r.in)
		}
		n.text, r.in = r.in[:end], r.in[end:]
		if strings.IndexByte("tfn", n.kind) < 0 {
			n.kind = '0'
		}
	}
	return n
}

func (r *jsonReader) text() string {
	i := 1
	for ; r.in[i] != '"'; i++ {
		if r.in[i] == '\\' {
			i++
		}
	}
	s, _ := strictjson.ParseString(strictjson.Value(r.in[:i+1])) // it has been checked
	r.in = r.in[i+1:]
	return s
}

// parseYAML reads the front matter of a Markdown file, from the line after its
// first ---.
func parseYAML(f File) (*node, error) {
	text := string(f.Data)
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return &node{line: 1, kind: '{'}, nil
	}
	front, _, ok := strings.Cut(rest, "\n---")
	if !ok {
		return nil, &Error{At: Place{f.Name, 1}, Err: errors.New("the front matter is not closed")}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return nil, &Error{At: Place{File: f.Name}, Err: fmt.Errorf("the front matter is no YAML: %w", err)}
	}
	if len(doc.Content) == 0 {
		return &node{line: 1, kind: '{'}, nil
	}
	return fromYAML(f.Name, doc.Content[0])
}

func fromYAML(file string, y *yaml.Node) (*node, error) {
	n := &node{line: y.Line + 1, text: y.Value}
	switch {
	case y.Kind == yaml.MappingNode:
		n.kind = '{'
		for i := 0; i+1 < len(y.Content); i += 2 {
			name := y.Content[i].Value
			if n.get(name) != nil {
				return nil, &Error{At: Place{file, y.Content[i].Line + 1}, Err: fmt.Errorf("the key %q stands twice", name)}
			}
			v, err := fromYAML(file, y.Content[i+1])
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{name, y.Content[i].Line + 1, v})
		}
	case y.Kind == yaml.SequenceNode:
		n.kind = '['
		for _, c := range y.Content {
			v, err := fromYAML(file, c)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
	case y.Kind == yaml.AliasNode:
		return nil, &Error{At: Place{file, y.Line + 1}, Err: errors.New("aliases are not read"), Fix: "write the value out"}
	case y.Tag == "!!bool":
		n.kind = 'f'
		if strings.EqualFold(y.Value, "true") {
			n.kind = 't'
		}
	case y.Tag == "!!null":
		n.kind = 'n'
	case y.Tag == "!!str":
		n.kind = '"'
	default:
		n.kind = '0'
	}
	return n, nil
}
