package imports

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/internal/jsonedit"
)

// node is a value of a settings file with its line.
type node struct {
	line    int
	kind    byte   // { [ " 0 t f n, the first character in JSON
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

// what describes the type of the value.
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

// show returns a value as a note quotes it.
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
// A duplicate name is an error, since readers differ in which one counts.
func parseJSONC(f File) (*node, error) {
	text, err := jsonedit.Parse(f.Data, jsonedit.Relaxed)
	if errors.Is(err, jsonedit.ErrEmpty) {
		return &node{line: 1, kind: '{'}, nil
	}
	if err != nil {
		at := Place{File: f.Name}
		if syntax, ok := errors.AsType[*jsonedit.SyntaxError](err); ok {
			at.Line, err = syntax.Line, fmt.Errorf("column %d: %w", syntax.Column, syntax.Err)
		}
		return nil, &fileError{at: at, err: err, fix: "mend it, and import it again"}
	}
	return fromJSON(text.Root()), nil
}

func fromJSON(value jsonedit.Node) *node {
	n := &node{line: value.Line(), kind: value.Kind()}
	switch n.kind {
	case '{':
		for i := range value.Len() {
			m := value.At(i)
			n.members = append(n.members, member{m.Name(), m.NameLine(), fromJSON(m)})
		}
	case '[':
		for i := range value.Len() {
			n.items = append(n.items, fromJSON(value.At(i)))
		}
	case '"':
		n.text = value.String()
	default:
		n.text = string(value.Raw())
	}
	return n
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
		return nil, &fileError{at: Place{f.Name, 1}, err: errors.New("the front matter is not closed")}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return nil, &fileError{at: Place{File: f.Name}, err: fmt.Errorf("the front matter is no YAML: %w", err)}
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
				return nil, &fileError{at: Place{file, y.Content[i].Line + 1}, err: fmt.Errorf("the key %q stands twice", name)}
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
		return nil, &fileError{at: Place{file, y.Line + 1}, err: errors.New("aliases are not read"), fix: "write the value out"}
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
