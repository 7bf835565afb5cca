package jsonedit

import (
	"bytes"

	"github.com/tailscale/hujson"

	"github.com/permd/permd/internal/strictjson"
)

// Node is a value in a Text. The zero Node stands for a missing value.
type Node struct {
	text  *Text
	value *hujson.Value
	name  *hujson.Value // of a member; nil for others
}

// Exists reports whether n is a value.
func (n Node) Exists() bool { return n.value != nil }

// Kind returns the first character of the value: '0' for numbers, 0 for a missing value.
func (n Node) Kind() byte {
	if n.value == nil {
		return 0
	}
	return byte(n.value.Value.Kind())
}

// Len returns the number of elements or members.
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

// Name returns the name of a member, "" for other values.
func (n Node) Name() string {
	if n.name == nil {
		return ""
	}
	s, _ := strictjson.ParseString(strictjson.Value(n.name.Value.(hujson.Literal)))
	return s
}

// At returns the element, or the value of the member, with index i.
func (n Node) At(i int) Node {
	if object, ok := n.value.Value.(*hujson.Object); ok {
		m := &object.Members[i]
		return Node{n.text, &m.Value, &m.Name}
	}
	return Node{n.text, &n.value.Value.(*hujson.Array).Elements[i], nil}
}

// Member returns the value at a path of names, the zero Node if there is none.
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

// Line returns the line on which the value begins.
func (n Node) Line() int { return n.text.line(n.start()) }

// NameLine returns the line of the member's name.
func (n Node) NameLine() int { return n.text.line(n.outerStart()) }

// Raw returns the text of the value, with comments replaced by spaces.
func (n Node) Raw() []byte {
	if n.value == nil {
		return nil
	}
	return n.text.standard[n.start():n.end()]
}

// Commented reports whether there are comments in the value.
func (n Node) Commented() bool {
	return n.value != nil && !bytes.Equal(n.text.data[n.start():n.end()], n.Raw())
}

// String returns the value of a string, "" for other values.
func (n Node) String() string {
	if n.Kind() != '"' {
		return ""
	}
	s, _ := strictjson.ParseString(n.Raw())
	return s
}

func (n Node) start() int { return n.value.StartOffset }
func (n Node) end() int   { return n.value.EndOffset }

// outerStart returns the offset at which a member begins with its name, or another
// value.
func (n Node) outerStart() int {
	if n.name != nil {
		return n.name.StartOffset
	}
	return n.start()
}

// commaAfter returns the offset of the comma after a child. Only the last child may have
// none.
func (n Node) commaAfter() int { return n.end() + len(n.value.AfterExtra) }

// lastComma returns the offset of the trailing comma in an array or object, 0 if there
// is none.
func (n Node) lastComma() int {
	if n.Len() == 0 {
		return 0
	}
	last := n.At(n.Len() - 1)
	if last.value.AfterExtra == nil {
		return 0
	}
	return last.commaAfter()
}
