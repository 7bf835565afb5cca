package list

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/lazy"
)

// reader reads a list file and collects all problems.
type reader struct {
	file    string
	entries []Entry
	errs    []error
}

// Parse reads a list file: a map from allow, ask and deny to maps from kinds to
// lists of rule lines. Only maps, lists and strings of YAML are accepted, so
// that the file means exactly what it shows.
func Parse(file string, data []byte) ([]Entry, error) {
	r := &reader{file: file}
	if len(data) > maxBytes {
		r.fail(0, "", "the list is longer than %d bytes", maxBytes)
		return nil, errors.Join(r.errs...)
	}
	if line := chars.HidesLine(data); line > 0 {
		r.fail(line, "take the character out", "it holds a character with which the file shows other lines than it has")
		return nil, errors.Join(r.errs...)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty file is an empty list
	case err != nil:
		r.syntax(err)
	case !errors.Is(dec.Decode(&more), io.EOF):
		r.fail(0, "use one list for each file", "the file has more than one document")
	case len(doc.Content) == 1:
		r.sets(doc.Content[0])
	}
	if r.errs != nil {
		return nil, errors.Join(r.errs...)
	}
	return r.entries, nil
}

func (r *reader) fail(line int, fix, format string, args ...any) {
	r.errs = append(r.errs, &Error{file: r.file, Line: line, Err: fmt.Errorf(format, args...), fix: fix})
}

var yamlLine = lazy.Regexp(`^yaml: (?:line ([0-9]+): )?`)

// syntax reports an error of the YAML parser at its line.
func (r *reader) syntax(err error) {
	text := err.Error()
	m := yamlLine().FindStringSubmatch(text)
	line, fix := 0, ""
	if m != nil {
		line, _ = strconv.Atoi(m[1]) // digits only; 0 when there are none
		text = text[len(m[0]):]
	}
	if strings.Contains(text, "alphabetic or numeric character") {
		fix = `put quotes around a text that begins with *, as in "*.example.com"`
	}
	r.fail(line, fix, "reading YAML: %s", text)
}

// plain refuses YAML features that a reader of the file could overlook.
func (r *reader) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fail(n.Line, `put quotes around a text that begins with *, as in "*.example.com"`, "aliases are not accepted")
	case n.Anchor != "":
		r.fail(n.Line, `put quotes around a text that begins with &`, "anchors are not accepted")
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n.Line, `put quotes around a text that begins with !`, "tags are not accepted")
	default:
		return true
	}
	return false
}

// pairs returns the keys and values of a map; a missing value is an empty map.
func (r *reader) pairs(n *yaml.Node, what, fix string, each func(key, value *yaml.Node)) {
	if !r.plain(n) || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, fix, "%s is no map", what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !r.plain(key) {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			r.fail(key.Line, fix, "a key of %s is no text", what)
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.fail(key.Line, "write the two as one", "the key %q is there twice, first in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

var sets = []decisions.Set{decisions.SetAllow, decisions.SetAsk, decisions.SetDeny}

func (r *reader) sets(n *yaml.Node) {
	const fix = "the keys are allow, ask and deny"
	r.pairs(n, "the list", fix, func(key, value *yaml.Node) {
		set := decisions.Set(key.Value)
		if !slices.Contains(sets, set) {
			fix := fix
			if strings.HasPrefix(key.Value, "test") {
				fix += "; calls that test them stand in a file of their own, rules_test.yaml"
			}
			r.fail(key.Line, fix, "the key %q is not known", key.Value)
			return
		}
		r.kinds(set, value)
	})
}

func (r *reader) kinds(set decisions.Set, n *yaml.Node) {
	names := make([]string, len(pattern.Kinds))
	for i, k := range pattern.Kinds {
		names[i] = string(k)
	}
	fix := "the kinds are " + strings.Join(names, ", ")
	r.pairs(n, string(set), fix, func(key, value *yaml.Node) {
		kind := effects.Kind(key.Value)
		if !slices.Contains(pattern.Kinds, kind) {
			r.fail(key.Line, fix, "the kind %q is not known", key.Value)
			return
		}
		r.lines(set, kind, value)
	})
}

func (r *reader) lines(set decisions.Set, kind effects.Kind, n *yaml.Node) {
	if !r.plain(n) || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n.Line, fmt.Sprintf(`write %s: ["…"]`, kind), "%s %s is no list", set, kind)
		return
	}
	for _, item := range n.Content {
		if !r.plain(item) {
			continue
		}
		e, ok := r.entry(set, kind, item)
		if !ok {
			continue
		}
		if len(r.entries) == maxEntries {
			r.fail(item.Line, "write a Rego rule over data instead", "the list has more than %d entries", maxEntries)
			return
		}
		r.entries = append(r.entries, e)
	}
}
