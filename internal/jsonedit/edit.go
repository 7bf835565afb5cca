package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// KindError says that a value on the way is not what it has to be.
type KindError struct {
	path string // the names on the way, with dots
	want string // "an object", "an array"
}

// Error says so.
func (e *KindError) Error() string {
	if e.path == "" {
		return "the file is not " + e.want
	}
	return e.path + " is not " + e.want
}

// Append adds a value at the end of the array that path names, below the root.
// Objects on the way, and the array, are made where there are none. The value
// is laid out like what is around it.
func (t *Text) Append(value string, path ...string) (*Text, error) {
	at, edited, err := t.makePath(path, "["+value+"]")
	if err != nil || edited != nil {
		return edited, err
	}
	if at.Kind() != '[' {
		return nil, &KindError{strings.Join(path, "."), "an array"}
	}
	return t.insert(at, "", value)
}

// Set makes the member that path names, below the root, with the objects on the
// way. A member that is there stays as it is.
func (t *Text) Set(value string, path ...string) (*Text, error) {
	_, edited, err := t.makePath(path, value)
	if err == nil && edited == nil {
		edited = t
	}
	return edited, err
}

// Replace puts a value in the place of another one.
func (t *Text) Replace(n Node, value string) (*Text, error) {
	if err := t.checkNode(n); err != nil {
		return nil, err
	}
	return t.reparse(splice(t.data, [2]int{n.start(), n.end()}, value))
}

// Prepend adds values at the beginning of an array.
func (t *Text) Prepend(n Node, values ...string) (*Text, error) {
	if err := t.checkNode(n); err != nil {
		return nil, err
	}
	if n.Kind() != '[' {
		return nil, &KindError{n.Name(), "an array"}
	}
	at, between := n.start()+1, ", "
	if n.Len() > 0 {
		at = n.At(0).from()
		from := t.lineStart(at)
		if from > n.start() && len(bytes.TrimSpace(t.data[from:at])) == 0 {
			between = "," + t.newline() + string(t.data[from:at])
		}
		values = append(slices.Clone(values), "")
	}
	return t.reparse(splice(t.data, [2]int{at, at}, strings.Join(values, between)))
}

// checkNode makes sure that a value is one of this text: those of another have other
// places.
func (t *Text) checkNode(n Node) error {
	if n.text != t || n.value == nil {
		return errors.New("editing JSON: the value is not in this text")
	}
	return nil
}

// makePath goes to the value that path names; where the way ends it is made, with
// that value.
func (t *Text) makePath(path []string, value string) (at Node, edited *Text, err error) {
	at = t.Root()
	for i, name := range path {
		if at.Kind() != '{' {
			return at, nil, &KindError{strings.Join(path[:i], "."), "an object"}
		}
		next := at.Member(name)
		if !next.Exists() {
			for j := len(path) - 1; j > i; j-- {
				value = "{" + quote(path[j]) + ":" + value + "}"
			}
			edited, err = t.insert(at, quote(name)+":", value)
			return at, edited, err
		}
		at = next
	}
	return at, nil, nil
}

// Drop takes out the member that path names, if it is there.
func (t *Text) Drop(path ...string) (*Text, error) {
	holder, name := t.Root().Member(path[:len(path)-1]...), path[len(path)-1]
	for i := range holder.Len() {
		if holder.Kind() == '{' && holder.At(i).Name() == name {
			return t.Remove(holder, i)
		}
	}
	return t, nil
}

// Remove takes an element or a member by its place out of the array or object
// that holds it. Comments around it stay.
func (t *Text) Remove(from Node, i int) (*Text, error) {
	child, last, trailing := from.At(i), from.Len()-1, from.comma()
	blank := func(from, to int) bool { return len(bytes.TrimSpace(t.data[from:to])) == 0 }
	var cuts [][2]int // what goes, in order
	switch first := from.start() + 1; {
	case last == 0 && trailing > 0:
		cuts = [][2]int{{t.gap(child.from(), first), child.end()}, {trailing, trailing + 1}}
		if blank(first, child.from()) && blank(child.end(), trailing) && blank(trailing+1, from.end()-1) {
			cuts = [][2]int{{first, from.end() - 1}}
		}
	case last == 0:
		start, end := first, from.end()-1
		if !blank(start, child.from()) || !blank(child.end(), end) {
			start, end = t.gap(child.from(), first), child.end()
		}
		cuts = [][2]int{{start, end}}
	case i == last && trailing > 0: // the comma before it is the last one then
		comma := from.At(i - 1).commaAfter()
		cuts = [][2]int{{t.gap(child.from(), comma+1), child.end()}, {trailing, trailing + 1}}
	case i == last:
		comma := from.At(i - 1).commaAfter()
		start := t.gap(child.from(), comma+1)
		rest, _, lines := bytes.Cut(t.data[child.end():from.end()], []byte("\n"))
		if !blank(comma+1, start) && (!lines || len(bytes.TrimSpace(rest)) > 0) {
			start = child.from() // what follows must not get into the comment before
		}
		cuts = [][2]int{{comma, comma + 1}, {start, child.end()}}
	default:
		comma, next := child.commaAfter(), from.At(i+1).from()
		if blank(comma+1, next) && comma == child.end() {
			cuts = [][2]int{{child.from(), next}}
		} else {
			cuts = [][2]int{{child.from(), child.end()}, {comma, comma + 1}}
		}
	}
	var out []byte
	at := 0
	for _, cut := range cuts {
		out = append(out, t.data[at:cut[0]]...)
		at = cut[1]
	}
	return t.reparse(append(out, t.data[at:]...))
}

// gap is where the white space before a place begins, not before limit.
func (t *Text) gap(at, limit int) int {
	for at > limit && strings.IndexByte(" \t\r\n", t.data[at-1]) >= 0 {
		at--
	}
	return at
}

// reparse parses an edited text; what was in the old one is fine.
func (t *Text) reparse(data []byte) (*Text, error) {
	n, err := Parse(data, Relaxed)
	if err != nil {
		return nil, fmt.Errorf("editing JSON: %w", err)
	}
	return n, nil
}

// insert puts a value after the last one of a container.
func (t *Text) insert(c Node, name, value string) (*Text, error) {
	if c.Len() == 0 {
		inner := t.gap(c.end()-1, c.start()+1) // after a comment, if there is one
		indent := t.lineIndent(c.start())
		value, err := t.layout(name, value, indent+t.unit())
		if err != nil {
			return nil, err
		}
		tail := t.newline() + indent
		return t.reparse(splice(t.data, [2]int{inner, c.end() - 1}, t.newline()+indent+t.unit()+value+tail))
	}
	last, trailing := c.At(c.Len()-1), c.comma()
	if !bytes.Contains(t.data[c.start():c.end()], []byte("\n")) {
		value, err := t.layout(name, value, "")
		if err != nil {
			return nil, err
		}
		if trailing > 0 {
			return t.reparse(splice(t.data, [2]int{trailing + 1, trailing + 1}, " "+value+","))
		}
		return t.reparse(splice(t.data, [2]int{last.end(), last.end()}, ", "+value))
	}
	indent := t.lineIndent(c.start()) + t.unit()
	if from := t.lineStart(last.from()); len(bytes.TrimSpace(t.data[from:last.from()])) == 0 {
		indent = string(t.data[from:last.from()])
	}
	value, err := t.layout(name, value, indent)
	if err != nil {
		return nil, err
	}
	// The comma is at the value, and the new one below the comments that
	// belong to it.
	below := t.gap(c.end()-1, last.end())
	if trailing > 0 {
		return t.reparse(splice(t.data, [2]int{below, below}, t.newline()+indent+value+","))
	}
	data := splice(t.data, [2]int{below, below}, t.newline()+indent+value)
	return t.reparse(splice(data, [2]int{last.end(), last.end()}, ","))
}

func splice(data []byte, cut [2]int, text string) []byte {
	out := make([]byte, 0, len(data)+len(text))
	out = append(out, data[:cut[0]]...)
	out = append(out, text...)
	return append(out, data[cut[1]:]...)
}

// layout writes a member or an element in the way of the file; with no indent on
// one line.
func (t *Text) layout(name, value, indent string) (string, error) {
	v := jsontext.Value(value)
	options := []jsontext.Options{jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)}
	if indent != "" {
		options = []jsontext.Options{jsontext.WithIndentPrefix(indent), jsontext.WithIndent(t.unit())}
	}
	if err := v.Format(options...); err != nil {
		return "", fmt.Errorf("laying out JSON: %w", err)
	}
	if name != "" {
		name += " "
	}
	return name + strings.ReplaceAll(string(v), "\n", t.newline()), nil
}

func (t *Text) newline() string {
	if i := bytes.IndexByte(t.data, '\n'); i > 0 && t.data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit is what one level is indented by: what the first value of the root is,
// if it has a line of its own.
func (t *Text) unit() string {
	if root := t.Root(); root.Len() > 0 {
		first := root.At(0).from()
		if from := t.lineStart(first); from > root.start() && from < first && len(bytes.TrimSpace(t.data[from:first])) == 0 {
			return string(t.data[from:first])
		}
	}
	return "  "
}

func (t *Text) lineStart(at int) int { return bytes.LastIndexByte(t.data[:at], '\n') + 1 }

// lineIndent is the white space that the line of a place begins with.
func (t *Text) lineIndent(at int) string {
	line := t.data[t.lineStart(at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func quote(name string) string {
	b, _ := jsontext.AppendQuote(nil, name) // names are the caller's own words
	return string(b)
}
