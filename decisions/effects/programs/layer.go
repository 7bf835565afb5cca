package programs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/lazy"
)

// Bounds of the program files of a layer.
const (
	maxTableFile     = 256 << 10 // bytes of one file
	maxTableLayer    = 2 << 20   // bytes of all files of a layer
	maxTablePrograms = 512       // entries of all files of a layer
	maxTableNames    = 256       // of one entry
	maxTableDepth    = 16        // nesting of lists and maps
	maxTableText     = 400       // bytes of a text
)

// TableError is an error in a program file of a layer.
type TableError struct {
	File string
	Line int // from 1; 0 if not known
	Text string
	Fix  string // "" if there is no suggestion
}

// Error returns the place and the problem.
func (e *TableError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("reading programs %s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("reading programs %s:%d: %s", e.File, e.Line, e.Text)
}

// layerFile is a program file of a layer.
type layerFile struct {
	name string
	tableFile
}

// readLayer reads the program files of a layer (name -> content), in the order of
// names, and collects all syntax errors.
func readLayer(files map[string][]byte) (read []*layerFile, errs []*TableError) {
	entries, size := 0, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); size > maxTableLayer {
			return nil, append(errs, &TableError{File: name, Text: fmt.Sprintf("the files of the layer are longer than %d bytes", maxTableLayer)})
		}
		r := &layerReader{file: name}
		f := r.read(files[name])
		errs = append(errs, r.errs...)
		if r.errs != nil {
			continue
		}
		if entries += len(f.Programs) + len(f.Extend); entries > maxTablePrograms {
			return nil, append(errs, &TableError{File: name, Text: fmt.Sprintf("the layer describes more than %d programs", maxTablePrograms)})
		}
		read = append(read, f)
	}
	return read, errs
}

// layerReader reads one file. It accepts only maps, lists and plain scalars of YAML,
// so that the file means exactly what it shows.
type layerReader struct {
	file string
	errs []*TableError
}

func (r *layerReader) fail(line int, fix, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxTableText {
		text = strings.ToValidUTF8(text[:maxTableText], "") + "…"
	}
	r.errs = append(r.errs, &TableError{File: r.file, Line: line, Text: text, Fix: fix})
}

func (r *layerReader) read(data []byte) *layerFile {
	out := &layerFile{name: r.file}
	if len(data) > maxTableFile {
		r.fail(0, "describe the programs in several files", "the file is longer than %d bytes", maxTableFile)
		return out
	}
	if line := chars.HidesLine(data); line > 0 {
		r.fail(line, "take the character out", "it holds a character with which the file shows other lines than it has")
		return out
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return out // an empty file describes nothing
	case err != nil:
		r.syntax(err)
		return out
	case !errors.Is(dec.Decode(&more), io.EOF):
		r.fail(0, "", "the file has more than one document")
		return out
	case len(doc.Content) != 1:
		return out
	}
	r.check(doc.Content[0], reflect.TypeFor[tableFile](), "the file", 0)
	if r.errs != nil {
		return out
	}
	if err := doc.Content[0].Decode(&out.tableFile); err != nil {
		r.syntax(clarifyYAMLError(err))
		return out
	}
	r.note(out.Programs, doc.Content[0], "programs")
	r.note(out.Extend, doc.Content[0], "extend")
	for i := 0; i+1 < len(doc.Content[0].Content); i += 2 {
		if key := doc.Content[0].Content[i]; !slices.Contains(layerKeys, key.Value) {
			r.fail(key.Line, "leave it out; the keys are "+strings.Join(layerKeys, ", "), "%s is not a layer's to say", key.Value)
		}
	}
	return out
}

// layerKeys are the keys that a file of a layer may have. The rest of the table is
// the same for everybody.
var layerKeys = []string{"extend", "groups", "programs"}

var yamlErrorLine = lazy.Regexp(`^(?:yaml: )?(?:line ([0-9]+): )?`)

func (r *layerReader) syntax(err error) {
	line := 0
	if at, ok := errors.AsType[*lineError](err); ok {
		line = at.line
	}
	text := err.Error()
	if m := yamlErrorLine().FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
		text = text[len(m[0]):]
	}
	r.fail(line, "", "reading YAML: %s", text)
}

// check compares a value with the type that it is read into.
func (r *layerReader) check(n *yaml.Node, want reflect.Type, what string, depth int) {
	switch {
	case len(r.errs) > 20:
		return
	case depth > maxTableDepth:
		r.fail(n.Line, "", "lists and maps are nested more than %d deep", maxTableDepth)
		return
	case n.Kind == yaml.AliasNode:
		r.fail(n.Line, "put quotes around a text that begins with *", "aliases are not accepted")
		return
	case n.Anchor != "":
		r.fail(n.Line, "put quotes around a text that begins with &", "anchors are not accepted")
		return
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n.Line, "put quotes around a text that begins with !", "tags are not accepted")
		return
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	switch {
	case want == reflect.TypeFor[textNode](), want.Kind() == reflect.String:
		r.scalar(n, "!!str", what, "a text", "put quotes around it")
	case want.Kind() == reflect.Bool:
		r.scalar(n, "!!bool", what, "true or false", "write true or false")
	case want.Kind() == reflect.Int:
		r.scalar(n, "!!int", what, "a number", "write a number")
	case want.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			r.fail(n.Line, "write it in brackets, or a line with a dash for each", "%s is no list", what)
			return
		}
		for _, item := range n.Content {
			r.check(item, want.Elem(), "an entry of "+what, depth+1)
		}
	case want.Kind() == reflect.Map:
		r.pairs(n, what, depth, func(*yaml.Node) (reflect.Type, string) { return want.Elem(), "" })
	default:
		keys := keysOf(want)
		r.pairs(n, what, depth, func(key *yaml.Node) (reflect.Type, string) {
			return keys[key.Value].Type, "the keys are " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
		})
	}
}

func (r *layerReader) scalar(n *yaml.Node, tag, what, kind, fix string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != tag:
		r.fail(n.Line, fix, "%s is not %s", what, kind)
	case len(n.Value) > maxTableText || strings.ContainsFunc(n.Value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.fail(n.Line, "", "%s is longer than %d bytes or holds a control character", what, maxTableText)
	}
}

// pairs checks a map. of returns the type of a key's value, or nil for an unknown
// key and a suggestion.
func (r *layerReader) pairs(n *yaml.Node, what string, depth int, of func(key *yaml.Node) (reflect.Type, string)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, "", "%s is no map", what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			r.fail(key.Line, "put quotes around it", "a key of %s is no plain text", what)
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.fail(key.Line, "write the two as one", "the key %q is there twice, first in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		want, fix := of(key)
		if want == nil {
			r.fail(key.Line, fix, "unknown key %q", key.Value)
			continue
		}
		r.check(value, want, key.Value, depth+1)
	}
}

func member(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// note records which keys the entries under a name have, and their lines.
func (r *layerReader) note(entries []programEntry, n *yaml.Node, name string) {
	list := member(n, name)
	for i := range entries {
		at := list.Content[i]
		entries[i].keyLines = map[string]int{"": at.Line}
		for j := 0; j+1 < len(at.Content); j += 2 {
			entries[i].keyLines[at.Content[j].Value] = at.Content[j].Line
		}
		r.note(entries[i].Sub, at, "sub")
	}
}
