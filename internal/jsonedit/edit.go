package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// KindError means that a value on the path, or the value to edit, has the wrong type.
type KindError struct {
	path string // the names on the path, joined by dots
	want string // "an object", "an array"
}

// Error names the value and the expected type.
func (e *KindError) Error() string {
	if e.path == "" {
		return "the file is not " + e.want
	}
	return e.path + " is not " + e.want
}

// Append appends a value to the array at path, which begins at the root. The array, and
// objects on the path to it, are created if they are missing. The value is formatted
// like its surroundings.
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

// Set adds the member at path, which begins at the root, and missing objects on the path
// to it. An existing member is left unchanged.
func (t *Text) Set(value string, path ...string) (*Text, error) {
	_, edited, err := t.makePath(path, value)
	if err == nil && edited == nil {
		edited = t
	}
	return edited, err
}

// Replace replaces a value.
func (t *Text) Replace(n Node, value string) (*Text, error) {
	if err := t.checkNode(n); err != nil {
		return nil, err
	}
	return t.reparse(splice(t.data, [2]int{n.start(), n.end()}, value))
}

// Prepend inserts values at the beginning of an array.
func (t *Text) Prepend(n Node, values ...string) (*Text, error) {
	if err := t.checkNode(n); err != nil {
		return nil, err
	}
	if n.Kind() != '[' {
		return nil, &KindError{n.Name(), "an array"}
	}
	at, between := n.start()+1, ", "
	if n.Len() > 0 {
		at = n.At(0).outerStart()
		from := t.lineStart(at)
		if from > n.start() && len(bytes.TrimSpace(t.data[from:at])) == 0 {
			between = "," + t.newline() + string(t.data[from:at])
		}
		values = append(slices.Clone(values), "")
	}
	return t.reparse(splice(t.data, [2]int{at, at}, strings.Join(values, between)))
}

// checkNode returns an error unless n is a value of t: the offsets of another text do
// not apply.
func (t *Text) checkNode(n Node) error {
	if n.text != t || n.value == nil {
		return errors.New("editing JSON: the value is not in this text")
	}
	return nil
}

// makePath returns the value at path. If it is missing, makePath creates it, with that
// value, and returns the edited text.
func (t *Text) makePath(path []string, value string) (at Node, edited *Text, err error) {
	at = t.Root()
	for i, name := range path {
		if at.Kind() != '{' {
			return at, nil, &KindError{strings.Join(path[:i], "."), "an object"}
		}
		next := at.Member(name)
		if !next.Exists() {
			for j := len(path) - 1; j > i; j-- {
				value = "{" + quoteName(path[j]) + ":" + value + "}"
			}
			edited, err = t.insert(at, quoteName(name)+":", value)
			return at, edited, err
		}
		at = next
	}
	return at, nil, nil
}

// Drop removes the member at path, if it exists.
func (t *Text) Drop(path ...string) (*Text, error) {
	holder, name := t.Root().Member(path[:len(path)-1]...), path[len(path)-1]
	for i := range holder.Len() {
		if holder.Kind() == '{' && holder.At(i).Name() == name {
			return t.Remove(holder, i)
		}
	}
	return t, nil
}

// Remove removes the element or member with index i of an array or object. Comments
// around it stay.
func (t *Text) Remove(from Node, i int) (*Text, error) {
	child, last, trailing := from.At(i), from.Len()-1, from.lastComma()
	blank := func(from, to int) bool { return len(bytes.TrimSpace(t.data[from:to])) == 0 }
	var cuts [][2]int // the ranges to remove, in order
	switch first := from.start() + 1; {
	case last == 0 && trailing > 0:
		cuts = [][2]int{{t.spaceStart(child.outerStart(), first), child.end()}, {trailing, trailing + 1}}
		if blank(first, child.outerStart()) && blank(child.end(), trailing) && blank(trailing+1, from.end()-1) {
			cuts = [][2]int{{first, from.end() - 1}}
		}
	case last == 0:
		start, end := first, from.end()-1
		if !blank(start, child.outerStart()) || !blank(child.end(), end) {
			start, end = t.spaceStart(child.outerStart(), first), child.end()
		}
		cuts = [][2]int{{start, end}}
	case i == last && trailing > 0: // the comma before it becomes the last one
		comma := from.At(i - 1).commaAfter()
		cuts = [][2]int{{t.spaceStart(child.outerStart(), comma+1), child.end()}, {trailing, trailing + 1}}
	case i == last:
		comma := from.At(i - 1).commaAfter()
		start := t.spaceStart(child.outerStart(), comma+1)
		rest, _, lines := bytes.Cut(t.data[child.end():from.end()], []byte("\n"))
		if !blank(comma+1, start) && (!lines || len(bytes.TrimSpace(rest)) > 0) {
			start = child.outerStart() // what follows must not become part of the comment before it
		}
		cuts = [][2]int{{comma, comma + 1}, {start, child.end()}}
	default:
		comma, next := child.commaAfter(), from.At(i+1).outerStart()
		if blank(comma+1, next) && comma == child.end() {
			cuts = [][2]int{{child.outerStart(), next}}
		} else {
			cuts = [][2]int{{child.outerStart(), child.end()}, {comma, comma + 1}}
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

// spaceStart returns where the white space before offset at begins, at least limit.
func (t *Text) spaceStart(at, limit int) int {
	for at > limit && strings.IndexByte(" \t\r\n", t.data[at-1]) >= 0 {
		at--
	}
	return at
}

// reparse parses an edited text. It accepts every dialect, because the original text was
// accepted.
func (t *Text) reparse(data []byte) (*Text, error) {
	n, err := Parse(data, Relaxed)
	if err != nil {
		return nil, fmt.Errorf("editing JSON: %w", err)
	}
	return n, nil
}

// insert inserts a value after the last one of an array or object.
func (t *Text) insert(c Node, name, value string) (*Text, error) {
	if c.Len() == 0 {
		inner := t.spaceStart(c.end()-1, c.start()+1) // after the last comment, if any
		indent := t.lineIndent(c.start())
		value, err := t.layout(name, value, indent+t.indentUnit())
		if err != nil {
			return nil, err
		}
		tail := t.newline() + indent
		return t.reparse(splice(t.data, [2]int{inner, c.end() - 1}, t.newline()+indent+t.indentUnit()+value+tail))
	}
	last, trailing := c.At(c.Len()-1), c.lastComma()
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
	indent := t.lineIndent(c.start()) + t.indentUnit()
	if from := t.lineStart(last.outerStart()); len(bytes.TrimSpace(t.data[from:last.outerStart()])) == 0 {
		indent = string(t.data[from:last.outerStart()])
	}
	value, err := t.layout(name, value, indent)
	if err != nil {
		return nil, err
	}
	// The comma goes after the last value; the new value goes below the comments that
	// belong to the last one.
	below := t.spaceStart(c.end()-1, last.end())
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

// layout formats a member or element like the rest of the file, on one line if indent is
// empty.
func (t *Text) layout(name, value, indent string) (string, error) {
	v := jsontext.Value(value)
	options := []jsontext.Options{jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)}
	if indent != "" {
		options = []jsontext.Options{jsontext.WithIndentPrefix(indent), jsontext.WithIndent(t.indentUnit())}
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

// indentUnit returns the indentation of one level: that of the root's first value if it
// is on a line of its own, otherwise two spaces.
func (t *Text) indentUnit() string {
	if root := t.Root(); root.Len() > 0 {
		first := root.At(0).outerStart()
		if from := t.lineStart(first); from > root.start() && from < first && len(bytes.TrimSpace(t.data[from:first])) == 0 {
			return string(t.data[from:first])
		}
	}
	return "  "
}

func (t *Text) lineStart(at int) int { return bytes.LastIndexByte(t.data[:at], '\n') + 1 }

// lineIndent returns the white space at the beginning of the line that offset at is in.
func (t *Text) lineIndent(at int) string {
	line := t.data[t.lineStart(at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func quoteName(name string) string {
	b, _ := jsontext.AppendQuote(nil, name) // callers pass constant or checked names
	return string(b)
}
