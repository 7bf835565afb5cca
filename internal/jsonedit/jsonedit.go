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

// Errors for texts that other programs may accept.
var (
	errComment = errors.New("it has comments, which its reader does not take")
	ErrEmpty   = errors.New("it has no value")
)

// SyntaxError is a syntax error with its position.
type SyntaxError struct {
	Line, Column int // both from 1; a column is a byte
	Err          error
}

// Error returns the position and the underlying error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns the underlying error.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Dialect is the set of extensions of JSON that a text may use.
type Dialect int

// The dialects. Each includes those before it.
const (
	Plain    Dialect = iota
	Comments         // // and /* */ wherever white space may be
	Relaxed          // trailing commas and a byte order mark
)

// Text is a JSON text. It is immutable: edits return a new Text.
type Text struct {
	data     []byte
	standard []byte // data with comments and trailing commas replaced by spaces, of the same length
	lines    []int  // offsets of the line ends
	root     hujson.Value
}

// byteOrderMark is a byte order mark.
const byteOrderMark = "\ufeff"

// Parse parses a text: exactly one value, no duplicate names in an object, no extension
// outside the dialect. All errors but errComment are of type *SyntaxError.
func Parse(data []byte, dialect Dialect) (*Text, error) {
	in := bytes.Clone(data)
	if dialect == Relaxed && bytes.HasPrefix(in, []byte(byteOrderMark)) {
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
		if at := findLastComma(t.Root()); at > 0 {
			return nil, syntaxError(data, at, errors.New("a comma after the last value"))
		}
	}
	// Not hujson's Clone and then Standardize: Clone loses a comma that ends an array.
	if t.standard, err = hujson.Standardize(in); err != nil {
		return nil, parseError(err)
	}
	t.standard = t.standard[:len(data)]
	if err := strictjson.Check(t.standard); err != nil {
		return nil, syntaxError(data, offsetOfError(t.standard), err)
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

// parseError returns an error of hujson without its position, which is part of its text.
// The text quotes invalid literals, which are dropped: they may be secrets or control a
// terminal.
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

// offsetOfError returns the offset at which strictjson rejects the text.
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

// findLastComma returns the offset of the first trailing comma in n, 0 if there is none.
func findLastComma(n Node) int {
	for i := range n.Len() {
		if at := findLastComma(n.At(i)); at > 0 {
			return at
		}
	}
	return n.lastComma()
}

// Bytes returns the text.
func (t *Text) Bytes() []byte { return t.data }

// Compact returns the text without comments and white space, for comparing the contents
// of two texts.
func (t *Text) Compact() string {
	v := jsontext.Value(bytes.Clone(t.standard))
	_ = v.Compact() // cannot fail: the text was parsed
	return string(v)
}

// Root returns the root value.
func (t *Text) Root() Node { return Node{text: t, value: &t.root} }

// line returns the line of an offset, from 1.
func (t *Text) line(at int) int {
	n, _ := slices.BinarySearch(t.lines, at)
	return n + 1
}
