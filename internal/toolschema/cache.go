package toolschema

import (
	"crypto/sha256"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/permd/permd/internal/strictjson"
)

// Bounds of what a Cache keeps; above them it starts empty.
const (
	maxKept      = 256
	maxKeptBytes = 8 << 20 // of all schemas together, about
)

// Cache keeps schemas that were read, by their text: to read one takes several
// times as long as to check arguments with it. The zero Cache is empty. It is safe
// for concurrent use.
type Cache struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]*jsonschema.Schema
	size int
}

// Check is the function of that name.
func (c *Cache) Check(schema, arguments strictjson.Value) ([]Problem, error) {
	return recoverPanic(func() ([]Problem, error) {
		compiled, err := c.compiled(schema)
		if err != nil {
			return nil, err
		}
		return check(compiled, arguments)
	})
}

// compiled returns a schema of that text.
func (c *Cache) compiled(schema strictjson.Value) (*jsonschema.Schema, error) {
	sum := sha256.Sum256(schema)
	c.mu.Lock()
	s := c.kept[sum]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	doc, size, err := readSchema(schema)
	if err != nil {
		return nil, err
	}
	s, programs, err := compile(doc)
	if err != nil {
		return nil, err
	}
	size += programs
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxKept || c.size+size > maxKeptBytes {
		c.kept, c.size = map[[sha256.Size]byte]*jsonschema.Schema{}, 0
	}
	if c.kept[sum] == nil {
		c.kept[sum] = s
		c.size += size
	}
	return s, nil
}

// freeze makes a schema, with all that it leads to, one that does not change any
// more: several goroutines may use it. Formats are not asserted, and a reference
// that is resolved while it is checked makes work that cannot be computed.
func freeze(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{root: true}
	for todo := []*jsonschema.Schema{root}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return unchecked("it has a reference that is resolved while it is checked")
		}
		s.Format = nil
		for _, to := range subschemas(s) {
			if to != nil && !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return nil
}

// subschemas are the schemas that a schema leads to; nil ones are among them.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
	}
	for _, some := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		list = append(list, some...)
	}
	for _, some := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, to := range some {
			list = append(list, to)
		}
	}
	for _, to := range s.PatternProperties {
		list = append(list, to)
	}
	for _, to := range s.Dependencies {
		if to, ok := to.(*jsonschema.Schema); ok {
			list = append(list, to)
		}
	}
	for _, to := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch to := to.(type) {
		case *jsonschema.Schema:
			list = append(list, to)
		case []*jsonschema.Schema:
			list = append(list, to...)
		}
	}
	return list
}
