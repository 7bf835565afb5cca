package toolschema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// reader converts JSON to the values that the library uses, and checks the bounds.
type reader struct {
	values, objects int
	pointers        int
	references      map[string]bool
	schema          bool
}

// readSchema converts a schema. size approximates the bytes of the compiled schema, most
// of which are for what could be schemas in it.
func readSchema(v strictjson.Value) (doc any, size int, err error) {
	if k := strictjson.Kind(v); k != '{' && k != 't' && k != 'f' {
		return nil, 0, uncheckedf("it is neither an object nor true or false")
	}
	if len(v) > MaxSchemaBytes {
		return nil, 0, uncheckedf("it is longer than %d KiB", MaxSchemaBytes>>10)
	}
	r := reader{schema: true, references: map[string]bool{}}
	n, err := r.read(v, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	return n.value, len(v) + 64*r.values + r.objects<<10, nil
}

// readArguments converts the arguments of a call.
func readArguments(v strictjson.Value) (*node, error) {
	if len(v) > maxArgumentBytes {
		return nil, uncheckedf("the arguments are longer than %d KiB", maxArgumentBytes>>10)
	}
	r := reader{}
	return r.read(v, 0, 0)
}

// node is a value with what is needed to estimate the cost of checking it.
type node struct {
	value any
	size  int // number of values in it, including itself
	// numbers is the cost of computing with the numbers in it, in steps.
	numbers int
	// names are the names of an object's members, in the order of children. For an array,
	// names is nil and children are its elements.
	names    []string
	children []*node
	// nameNodes are the names as values, for schemas of names.
	nameNodes []*node
}

// read converts a value at that depth, whose path is that many bytes long.
func (r *reader) read(v strictjson.Value, depth, path int) (*node, error) {
	if err := r.checkBounds(v, depth, path); err != nil {
		return nil, err
	}
	n := &node{size: 1}
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return nil, uncheckedf("it is no JSON")
		}
		members := make(map[string]any, len(o))
		for _, m := range o {
			child, err := r.read(m.Value, depth+1, path+1+len(m.Name))
			if err != nil {
				return nil, err
			}
			if err := r.checkReference(m.Name, child.value); err != nil {
				return nil, err
			}
			members[m.Name] = child.value
			n.add(m.Name, child)
		}
		n.value = members
	case '[':
		list, err := strictjson.ParseArray(v)
		if err != nil {
			return nil, uncheckedf("it is no JSON")
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
			return nil, uncheckedf("it is no JSON")
		}
		n.value = s
	case '0':
		if !cheapNumber(string(v)) {
			return nil, uncheckedf("it has a number of more than %d digits", maxNumber)
		}
		n.value, n.numbers = json.Number(v), numberCost(string(v))
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

// checkBounds counts a value and returns an error if a bound is exceeded.
func (r *reader) checkBounds(v strictjson.Value, depth, path int) error {
	r.values++
	if !r.schema {
		if r.values > maxArguments {
			return uncheckedf("the arguments have more than %d values", maxArguments)
		}
		return nil
	}
	r.pointers += path
	if k := strictjson.Kind(v); k == '{' || k == 't' || k == 'f' {
		r.objects++
	}
	switch {
	case depth > maxSchemaDepth:
		return uncheckedf("it is nested deeper than %d levels", maxSchemaDepth)
	case r.values > maxSchemaValues:
		return uncheckedf("it has more than %d values", maxSchemaValues)
	case r.objects > maxObjects:
		return uncheckedf("it has more than %d schemas", maxObjects)
	case r.pointers > maxPointers:
		return uncheckedf("its names are too long")
	}
	return nil
}

// checkReference rejects references to other documents. A string in an example that
// looks like one is rejected too.
func (r *reader) checkReference(name string, value any) error {
	to, ok := value.(string)
	if !r.schema || !ok {
		return nil
	}
	switch name {
	case "$schema":
		// Some parts of the drafts define neither properties nor types, and would accept
		// everything.
		if !slices.Contains(drafts, strings.TrimSuffix(to, "#")) {
			return uncheckedf("it is not a schema of a known draft")
		}
	case "$ref":
		if !strings.HasPrefix(to, "#") {
			return uncheckedf("it refers to another document")
		}
		if r.references[to] = true; len(r.references) > maxReferences {
			return uncheckedf("it has more than %d references", maxReferences)
		}
	case "$dynamicRef", "$recursiveRef":
		// The target of these depends on the path by which they are reached, so the cost
		// cannot be computed.
		return uncheckedf("it has a reference that is resolved while it is checked")
	}
	return nil
}

// drafts are the URLs of complete drafts.
var drafts = []string{
	"http://json-schema.org/schema", "https://json-schema.org/schema",
	"http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-04/schema",
	"http://json-schema.org/draft-06/schema", "https://json-schema.org/draft-06/schema",
	"http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

// cheapNumber reports whether computing with a number is cheap. The library converts
// numbers to fractions.
func cheapNumber(s string) bool {
	digits, exponent, has := strings.Cut(strings.ToLower(s), "e")
	if !has {
		return len(digits) <= maxNumber
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && len(digits) <= maxNumber && n >= -maxExponent && n <= maxExponent
}

// numberCost is the cost of converting a number to a fraction, in steps.
func numberCost(s string) int {
	digits, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		n = 0
	}
	return 1 + len(digits)/16 + max(n, -n)/32
}
