// Package jsonedit changes JSON files that people keep by hand, as text: what is
// not changed stays as it is, byte for byte, with its comments, its order and
// its white space.
//
// It adds values to an array, makes the members on the way to it, and replaces
// and removes values. It is not a decoder for messages (see strictjson, which
// checks every text that is edited here), and it knows nothing of what the
// files mean.
package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

// ErrComment is returned for a text with comments where there must be none.
var ErrComment = errors.New("it has comments, which its reader does not take")

// Dialect is what a text may hold beside plain JSON.
type Dialect int

// The dialects: none takes what the one before it does not take.
const (
	Plain    Dialect = iota
	Comments         // // and /* */ wherever white space may stand
	Relaxed          // also a comma behind a last value, and a byte order mark
)

// Text is one JSON text that can be edited. It does not change: an edit makes
// another one.
type Text struct {
	data []byte
	bare []byte // data with its comments blanked: same length, plain JSON
	root *node
}

// node is a value and where it stands.
type node struct {
	start, end int // of the value; of a member's value, if it is one
	kind       byte
	name       string // of a member
	from       int    // where the member begins: at its name; start otherwise
	comma      int    // behind the last child, 0 if there is none
	children   []*node
}

// Parse reads a text: exactly one value, no name twice in one object, nothing
// but what the dialect takes. Its errors name the line.
func Parse(data []byte, dialect Dialect) (*Text, error) {
	bare, found, err := blank(data)
	if err != nil {
		return nil, err
	}
	if found && dialect == Plain {
		return nil, ErrComment
	}
	var commas []int
	if dialect == Relaxed {
		commas = blankRelaxed(bare)
	}
	if err := strictjson.Check(bare); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineOfError(bare), err)
	}
	s := scanner{bare, 0, commas}
	return &Text{data, bare, s.value()}, nil
}

// lineOfError is the line in which a text stops being what it has to be.
func lineOfError(bare []byte) int {
	dec := jsontext.NewDecoder(bytes.NewReader(bare))
	for {
		if _, err := dec.ReadToken(); err != nil {
			at := dec.InputOffset()
			if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
				at = syn.ByteOffset
			}
			return 1 + bytes.Count(bare[:min(int(at), len(bare))], []byte("\n"))
		}
		if dec.StackDepth() > strictjson.MaxDepth {
			return 1 + bytes.Count(bare[:dec.InputOffset()], []byte("\n"))
		}
	}
}

// Bytes is the text.
func (t *Text) Bytes() []byte { return t.data }

// Compact is the text without comments and white space, for comparing what two
// texts say.
func (t *Text) Compact() string {
	v := jsontext.Value(bytes.Clone(t.bare))
	_ = v.Compact() // it was checked
	return string(v)
}

// Root is the value that the text is.
func (t *Text) Root() Node { return Node{t, t.root} }

// Node is a value of a text. The zero Node is no value.
type Node struct {
	text *Text
	node *node
}

// Exists reports whether there is such a value.
func (n Node) Exists() bool { return n.node != nil }

// Kind is the first character of the value, 0 for none; numbers have kind '0'.
func (n Node) Kind() byte {
	if n.node == nil {
		return 0
	}
	return n.node.kind
}

// Len is the number of elements or members.
func (n Node) Len() int {
	if n.node == nil {
		return 0
	}
	return len(n.node.children)
}

// Name is the name of a member, "" of what is none.
func (n Node) Name() string {
	if n.node == nil {
		return ""
	}
	return n.node.name
}

// At is an element, or the value of a member, by its place.
func (n Node) At(i int) Node { return Node{n.text, n.node.children[i]} }

// Member is the value of a member, the zero Node if there is none.
func (n Node) Member(path ...string) Node {
	for _, name := range path {
		if n.Kind() != '{' {
			return Node{}
		}
		var next *node
		for _, c := range n.node.children {
			if c.name == name {
				next = c
			}
		}
		n = Node{n.text, next}
	}
	return n
}

// Raw is the text of the value, its comments blanked.
func (n Node) Raw() []byte {
	if n.node == nil {
		return nil
	}
	return n.text.bare[n.node.start:n.node.end]
}

// Commented reports whether there are comments in the value.
func (n Node) Commented() bool {
	return n.node != nil && !bytes.Equal(n.text.data[n.node.start:n.node.end], n.Raw())
}

// String is the value of a string, "" of everything else.
func (n Node) String() string {
	if n.Kind() != '"' {
		return ""
	}
	s, _ := strictjson.ParseString(n.Raw())
	return s
}

// blank replaces comments by blanks, line ends aside.
func blank(data []byte) (bare []byte, found bool, err error) {
	bare = bytes.Clone(data)
	for i := 0; i < len(bare); i++ {
		switch {
		case bare[i] == '"':
			for i++; i < len(bare) && bare[i] != '"'; i++ {
				if bare[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(bare[i:], []byte("//")):
			found = true
			for ; i < len(bare) && bare[i] != '\n' && bare[i] != '\r'; i++ {
				bare[i] = ' '
			}
		case bytes.HasPrefix(bare[i:], []byte("/*")):
			found = true
			n := bytes.Index(bare[i+2:], []byte("*/"))
			if n < 0 {
				return nil, true, fmt.Errorf("a comment that begins at byte %d does not end", i)
			}
			for end := i + 2 + n + 2; i < end; i++ {
				if bare[i] != '\n' && bare[i] != '\r' {
					bare[i] = ' '
				}
			}
			i--
		}
	}
	return bare, found, nil
}

// mark is a byte order mark.
const mark = "\ufeff"

// blankRelaxed replaces a byte order mark and commas behind last values by
// blanks, and says where the commas were. Comments are blanks already.
func blankRelaxed(bare []byte) (commas []int) {
	if bytes.HasPrefix(bare, []byte(mark)) {
		copy(bare, "   ")
	}
	last, before := -1, -1 // the last two characters that are no white space
	for i := 0; i < len(bare); i++ {
		c := bare[i]
		if strings.IndexByte(white, c) >= 0 {
			continue
		}
		if c == '"' {
			for i++; i < len(bare) && bare[i] != '"'; i++ {
				if bare[i] == '\\' {
					i++
				}
			}
		}
		if (c == '}' || c == ']') && before >= 0 && bare[last] == ',' && strings.IndexByte("[{,:", bare[before]) < 0 {
			bare[last] = ' '
			commas = append(commas, last)
		}
		last, before = min(i, len(bare)-1), last
	}
	return commas
}

// scanner finds the values of a text that is known to be JSON.
type scanner struct {
	text   []byte
	at     int
	commas []int // behind last values, in order
}

const white = " \t\r\n"

func (s *scanner) skip() byte {
	for strings.IndexByte(white, s.text[s.at]) >= 0 {
		s.at++
	}
	return s.text[s.at]
}

func (s *scanner) value() *node {
	c := s.skip()
	n := &node{start: s.at, from: s.at, kind: c}
	switch c {
	case '{', '[':
		s.container(n)
	case '"':
		s.quoted()
	default:
		if c == '-' || c >= '0' && c <= '9' {
			n.kind = '0'
		}
		for s.at < len(s.text) && strings.IndexByte(white+",]}", s.text[s.at]) < 0 {
			s.at++
		}
	}
	n.end = s.at
	return n
}

func (s *scanner) container(n *node) {
	s.at++ // { or [
	for {
		switch c := s.skip(); {
		case c == '}' || c == ']':
			for len(n.children) > 0 && len(s.commas) > 0 && s.commas[0] < s.at {
				n.comma, s.commas = s.commas[0], s.commas[1:]
			}
			s.at++
			return
		case c == ',':
			s.at++
		case n.kind == '[':
			n.children = append(n.children, s.value())
		default:
			from := s.at
			name, _ := strictjson.ParseString(s.quoted())
			s.skip()
			s.at++ // :
			member := s.value()
			member.name, member.from = name, from
			n.children = append(n.children, member)
		}
	}
}

func (s *scanner) quoted() []byte {
	from := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	return s.text[from:s.at]
}
