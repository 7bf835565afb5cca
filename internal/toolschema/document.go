package toolschema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// reader makes the values that the library works with, and counts.
type reader struct {
	values, objects int
	pointers        int
	references      map[string]bool
	schema          bool
}

// readSchema makes a document of a schema. size is about how many bytes it takes,
// once it is compiled: what may be schemas in it takes the most.
func readSchema(v strictjson.Value) (doc any, size int, err error) {
	if k := strictjson.Kind(v); k != '{' && k != 't' && k != 'f' {
		return nil, 0, unchecked("it is neither an object nor true or false")
	}
	if len(v) > MaxSchemaBytes {
		return nil, 0, unchecked("it is longer than %d KiB", MaxSchemaBytes>>10)
	}
	r := reader{schema: true, references: map[string]bool{}}
	n, err := r.read(v, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	return n.value, len(v) + 64*r.values + r.objects<<10, nil
}

// readArguments makes a tree of arguments.
func readArguments(v strictjson.Value) (*node, error) {
	if len(v) > maxArgumentBytes {
		return nil, unchecked("the arguments are longer than %d KiB", maxArgumentBytes>>10)
	}
	r := reader{}
	return r.read(v, 0, 0)
}

// node is a value with what the work that it makes is computed from.
type node struct {
	value any
	size  int // values within, itself included
	// numbers is what it costs to compute with the numbers within, in steps.
	numbers int
	// names are those of an object's members, which are children in the same order;
	// those of an array are its items.
	names    []string
	children []*node
	// spelt are the names as values, for schemas of names.
	nameNodes []*node
}

// read makes a value, in a place with a path of that length.
func (r *reader) read(v strictjson.Value, depth, path int) (*node, error) {
	if err := r.count(v, depth, path); err != nil {
		return nil, err
	}
	n := &node{size: 1}
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return nil, unchecked("it is no JSON")
		}
		members := make(map[string]any, len(o))
		for _, m := range o {
			child, err := r.read(m.Value, depth+1, path+1+len(m.Name))
			if err != nil {
				return nil, err
			}
			if err := r.refer(m.Name, child.value); err != nil {
				return nil, err
			}
			members[m.Name] = child.value
			n.add(m.Name, child)
		}
		n.value = members
	case '[':
		list, err := strictjson.ParseArray(v)
		if err != nil {
			return nil, unchecked("it is no JSON")
		}
		items := make([]any, 0, len(list))
		for i, item := range list {
			child, err := r.read(item, depth+1, path+1+len(strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			items = append(items, child.value)
			n.children = append(n.children, child)
			n.size, n.numbers = n.size+child.size, n.numbers+child.numbers
		}
		n.value = items
	case '"':
		s, ok := strictjson.ParseString(v)
		if !ok {
			return nil, unchecked("it is no JSON")
		}
		n.value = s
	case '0':
		if !plainNumber(string(v)) {
			return nil, unchecked("it has a number of more than %d digits", maxNumber)
		}
		n.value, n.numbers = json.Number(v), costOf(string(v))
	case 't', 'f':
		n.value = strictjson.Kind(v) == 't'
	}
	return n, nil
}

func (n *node) add(name string, child *node) {
	n.names = append(n.names, name)
	n.children = append(n.children, child)
	n.nameNodes = append(n.nameNodes, &node{value: name, size: 1})
	n.size, n.numbers = n.size+child.size, n.numbers+child.numbers
}

// count holds a value against the bounds.
func (r *reader) count(v strictjson.Value, depth, path int) error {
	r.values++
	if !r.schema {
		if r.values > maxArguments {
			return unchecked("the arguments have more than %d values", maxArguments)
		}
		return nil
	}
	r.pointers += path
	if k := strictjson.Kind(v); k == '{' || k == 't' || k == 'f' {
		r.objects++
	}
	switch {
	case depth > maxSchemaDepth:
		return unchecked("it is nested deeper than %d levels", maxSchemaDepth)
	case r.values > maxSchemaValues:
		return unchecked("it has more than %d values", maxSchemaValues)
	case r.objects > maxObjects:
		return unchecked("it has more than %d schemas", maxObjects)
	case r.pointers > maxPointers:
		return unchecked("its names are too long")
	}
	return nil
}

// refer refuses references that leave the schema. What only looks like one, within
// an example, is refused as well.
func (r *reader) refer(name string, value any) error {
	to, ok := value.(string)
	if !r.schema || !ok {
		return nil
	}
	switch name {
	case "$schema":
		// Of the drafts' parts some have no words for properties and types, and so
		// would take everything.
		if !slices.Contains(drafts, strings.TrimSuffix(to, "#")) {
			return unchecked("it is not a schema of a known draft")
		}
	case "$ref":
		if !strings.HasPrefix(to, "#") {
			return unchecked("it refers to another document")
		}
		if r.references[to] = true; len(r.references) > maxReferences {
			return unchecked("it has more than %d references", maxReferences)
		}
	case "$dynamicRef", "$recursiveRef":
		// What they refer to depends on the way by which they are reached, and the
		// work cannot be computed.
		return unchecked("it has a reference that is resolved while it is checked")
	}
	return nil
}

// drafts are the names of whole drafts.
var drafts = []string{
	"http://json-schema.org/schema", "https://json-schema.org/schema",
	"http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-04/schema",
	"http://json-schema.org/draft-06/schema", "https://json-schema.org/draft-06/schema",
	"http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

// plainNumber reports whether a number can be computed with at little cost: the
// library makes a fraction of it.
func plainNumber(s string) bool {
	digits, exponent, has := strings.Cut(strings.ToLower(s), "e")
	if !has {
		return len(digits) <= maxNumber
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && len(digits) <= maxNumber && n >= -maxExponent && n <= maxExponent
}

// costOf is what it costs to make a fraction of a plain number, in steps.
func costOf(s string) int {
	digits, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		n = 0
	}
	return 1 + len(digits)/16 + max(n, -n)/32
}
