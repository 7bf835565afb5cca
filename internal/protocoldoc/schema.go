package protocoldoc

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is docs/protocol.schema.json.
type Schema struct {
	// root is the schema as decoded by jsonschema.UnmarshalJSON.
	root     map[string]any
	compiled map[string]*jsonschema.Schema // the definitions in $defs
}

// ReadSchema reads and compiles the schema at path.
func ReadSchema(path string) (*Schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	root, _ := doc.(map[string]any)
	s := &Schema{root: root, compiled: map[string]*jsonschema.Schema{}}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const url = "mem:///protocol.schema.json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	for name := range s.defs() {
		if s.compiled[name], err = c.Compile(url + "#/$defs/" + strings.ReplaceAll(name, "$", "%24")); err != nil {
			return nil, fmt.Errorf("compiling %s: %w", name, err)
		}
	}
	return s, nil
}

func (s *Schema) defs() map[string]any {
	defs, _ := s.root["$defs"].(map[string]any)
	return defs
}

// Names returns the names of all definitions, sorted.
func (s *Schema) Names() []string { return slices.Sorted(maps.Keys(s.defs())) }

// Def returns the definition with that name, nil if there is none.
func (s *Schema) Def(name string) map[string]any {
	def, _ := s.defs()[name].(map[string]any)
	return def
}

// Of returns the name of the definition of a method's "params" or "result".
func Of(method, what string) string { return strings.ReplaceAll(method, "/", ".") + "." + what }

// Methods returns the methods that a client may call, sorted.
func (s *Schema) Methods() []string {
	var methods []string
	list, _ := property(s.Def("request"), "method")["enum"].([]any)
	for _, m := range list {
		if name, ok := m.(string); ok {
			methods = append(methods, name)
		}
	}
	slices.Sort(methods)
	return methods
}

func property(of map[string]any, name string) map[string]any {
	all, _ := of["properties"].(map[string]any)
	one, _ := all[name].(map[string]any)
	return one
}

// Check returns an error if a JSON text does not match the definition with that name.
func (s *Schema) Check(name, text string) error {
	compiled := s.compiled[name]
	if compiled == nil {
		return fmt.Errorf("the schema has no %s", name)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if err := compiled.Validate(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
