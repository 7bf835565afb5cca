// Package jsonedit edits JSON files that people maintain by hand, as text:
// unchanged parts stay byte for byte as they are, with their comments, order
// and white space.
//
// It adds values to an array, creates the members on the path to it, and
// replaces and removes values. It is not a decoder for messages (see
// strictjson, which checks every text that is edited here), and it does not
// interpret the files. Texts are parsed by hujson; this package also checks
// what hujson does not: nesting, duplicate names, comments that programs read
// differently.
package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/permd/permd/internal/strictjson"
)

// Errors of texts that may be fine for another reader.
var (
	errComment = errors.New("it has comments, which its reader does not take")
	ErrEmpty   = errors.New("it has no value")
)

// SyntaxError is what makes a text unreadable, and where.
type SyntaxError struct {
	Line, Column int // both from 1; columns are bytes
	Err          error
}

// Error returns the place and what is wrong.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns what is wrong.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Dialect is what a text may hold beside plain JSON.
type Dialect int

// The dialects: each takes all that the one before it takes.
const (
	Plain    Dialect = iota
	Comments         // // and /* */ wherever white space may be
	Relaxed          // also a comma after a last value, and a byte order mark
)

// Text is one JSON text that can be edited. It does not change: an edit makes
// another one.
type Text struct {
	data  []byte
	bare  []byte // data as plain JSON of the same length: comments and last commas are blanks
	lines []int  // where lines end
	root  hujson.Value
}

// mark is a byte order mark.
const mark = "\ufeff"

// Parse reads a text: exactly one value, no name twice in one object, nothing
// but what the dialect takes. Apart from errComment its errors are of type
// *SyntaxError.
func Parse(data []byte, dialect Dialect) (*Text, error) {
	in := bytes.Clone(data)
	if dialect == Relaxed && bytes.HasPrefix(in, []byte(mark)) {
		copy(in, "   ")
	}
	scanned, err := scan(in)
	if scanned.comments && dialect == Plain {
		return nil, errComment
	}
	if err != nil {
		return nil, syntaxError(data, scanned.end, err)
	}
	in = append(in, scanned.closing...)
	t := &Text{data: data}
	if t.root, err = hujson.Parse(in); err != nil {
		return nil, parseError(err)
	}
	if dialect < Relaxed {
		if at := lastComma(t.Root()); at > 0 {
			return nil, syntaxError(data, at, errors.New("a comma after the last value"))
		}
	}
	// Not Clone and Standardize: Clone loses a comma that ends an array.
	if t.bare, err = hujson.Standardize(in); err != nil {
		return nil, parseError(err)
	}
	t.bare = t.bare[:len(data)]
	if err := strictjson.Check(t.bare); err != nil {
		return nil, syntaxError(data, offsetOfError(t.bare), err)
	}
	for i, c := range data {
		if c == '\n' {
			t.lines = append(t.lines, i)
		}
	}
	return t, nil
}

func syntaxError(data []byte, at int, err error) error {
	head := data[:min(at, len(data))]
	return &SyntaxError{1 + bytes.Count(head, []byte("\n")), len(head) - bytes.LastIndexByte(head, '\n'), err}
}

// parseError is an error of hujson, which has its place in its words. They
// repeat what is no literal as it is written there: that may be a secret or
// control a terminal, and is left out.
func parseError(err error) error {
	e := &SyntaxError{Line: 1, Column: 1}
	_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column)
	_, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	if strings.HasPrefix(text, "invalid literal:") {
		text = "invalid literal"
	}
	e.Err = errors.New(text)
	return e
}

// offsetOfError is where plain JSON stops being what strictjson takes.
func offsetOfError(bare []byte) int {
	dec := jsontext.NewDecoder(bytes.NewReader(bare))
	for {
		if _, err := dec.ReadToken(); err != nil {
			if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
				return int(syntactic.ByteOffset)
			}
			return int(dec.InputOffset())
		}
	}
}

// lastComma is where the first comma after the last value of a container is, 0
// if there is none.
func lastComma(n Node) int {
	for i := range n.Len() {
		if at := lastComma(n.At(i)); at > 0 {
			return at
		}
	}
	return n.comma()
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
func (t *Text) Root() Node { return Node{text: t, value: &t.root} }

// line is the line of a place, from 1.
func (t *Text) line(at int) int {
	n, _ := slices.BinarySearch(t.lines, at)
	return n + 1
}
