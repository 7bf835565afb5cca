package jsonedit

import (
	"bytes"

	"github.com/tailscale/hujson"

	"github.com/permd/permd/internal/strictjson"
)

// Node is a value of a text. The zero Node is no value.
type Node struct {
	text  *Text
	value *hujson.Value
	name  *hujson.Value // of a member
}

// Exists reports whether there is such a value.
func (n Node) Exists() bool { return n.value != nil }

// Kind is the first character of the value, 0 for none; numbers have kind '0'.
func (n Node) Kind() byte {
	if n.value == nil {
		return 0
	}
	return byte(n.value.Value.Kind())
}

// Len is the number of elements or members.
func (n Node) Len() int {
	if n.value == nil {
		return 0
	}
	switch v := n.value.Value.(type) {
	case *hujson.Object:
		return len(v.Members)
	case *hujson.Array:
		return len(v.Elements)
	}
	return 0
}

// Name is the name of a member, "" of what is none.
func (n Node) Name() string {
	if n.name == nil {
		return ""
	}
	s, _ := strictjson.ParseString(strictjson.Value(n.name.Value.(hujson.Literal)))
	return s
}

// At is an element, or the value of a member, by its place.
func (n Node) At(i int) Node {
	if object, ok := n.value.Value.(*hujson.Object); ok {
		m := &object.Members[i]
		return Node{n.text, &m.Value, &m.Name}
	}
	return Node{n.text, &n.value.Value.(*hujson.Array).Elements[i], nil}
}

// Member is the value of a member, the zero Node if there is none.
func (n Node) Member(path ...string) Node {
	for _, name := range path {
		if n.Kind() != '{' {
			return Node{}
		}
		var next Node
		for i := range n.Len() {
			if c := n.At(i); c.Name() == name {
				next = c
			}
		}
		n = next
	}
	return n
}

// Line is the line that the value begins in.
func (n Node) Line() int { return n.text.line(n.start()) }

// NameLine is the line that the name of a member is in.
func (n Node) NameLine() int { return n.text.line(n.from()) }

// Raw is the text of the value, its comments blanked.
func (n Node) Raw() []byte {
	if n.value == nil {
		return nil
	}
	return n.text.bare[n.start():n.end()]
}

// Commented reports whether there are comments in the value.
func (n Node) Commented() bool {
	return n.value != nil && !bytes.Equal(n.text.data[n.start():n.end()], n.Raw())
}

// String is the value of a string, "" of everything else.
func (n Node) String() string {
	if n.Kind() != '"' {
		return ""
	}
	s, _ := strictjson.ParseString(n.Raw())
	return s
}

func (n Node) start() int { return n.value.StartOffset }
func (n Node) end() int   { return n.value.EndOffset }

// from is where a member begins, at its name; any other value at its start.
func (n Node) from() int {
	if n.name != nil {
		return n.name.StartOffset
	}
	return n.start()
}

// commaAfter is where the comma after a child is. The last child may have none.
func (n Node) commaAfter() int { return n.end() + len(n.value.AfterExtra) }

// comma is where the comma after the last child is, 0 if there is none.
func (n Node) comma() int {
	if n.Len() == 0 {
		return 0
	}
	last := n.At(n.Len() - 1)
	if last.value.AfterExtra == nil {
		return 0
	}
	return last.commaAfter()
}
