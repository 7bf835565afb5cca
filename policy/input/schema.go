package input

import (
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Schema is the schema of the input, in the forms that the checks need.
type Schema struct {
	Raw    any // for OPA's type checker
	root   *Node
	Effect map[string]*Node // the members of input.effect
}

// Node is the part of a schema that permd's own checks use. OPA's type checker
// does not support enum, nor which kinds have a field.
type Node struct {
	Type       string           `json:"type"`
	Enum       []string         `json:"enum"`
	Properties map[string]*Node `json:"properties"`
	Items      *Node            `json:"items"`
	Kinds      []string         `json:"x-kinds"` // kinds of effects that have the field; empty for all
	Required   []string         `json:"required"`
}

// ParseSchema reads the input schema.
func ParseSchema(data []byte) (*Schema, error) {
	s := &Schema{root: &Node{}}
	if err := strictjson.Unmarshal(data, s.root); err != nil {
		return nil, fmt.Errorf("reading the input schema: %w", err)
	}
	if err := strictjson.Unmarshal(data, &s.Raw); err != nil {
		return nil, fmt.Errorf("reading the input schema: %w", err)
	}
	effect := s.root.Properties["effect"]
	if effect == nil || effect.Properties["kind"] == nil {
		return nil, errors.New("reading the input schema: it has no effect.kind")
	}
	for _, kind := range effects.Kinds {
		if !slices.Contains(effect.Properties["kind"].Enum, string(kind)) {
			return nil, fmt.Errorf("reading the input schema: it does not know the kind %q", kind)
		}
	}
	s.Effect = effect.Properties
	return s, nil
}

// Has reports whether effects of the kind have the field.
func (s *Schema) Has(kind effects.Kind, field string) bool {
	node := s.Effect[field]
	return node != nil && (len(node.Kinds) == 0 || slices.Contains(node.Kinds, string(kind)))
}

// At returns the schema of what a reference into the input names, nil if it is
// not known. An index or variable selects the items of a list.
func (s *Schema) At(ref ast.Ref) *Node {
	if len(ref) == 0 || !ref[0].Equal(ast.InputRootDocument) {
		return nil
	}
	node := s.root
	for _, t := range ref[1:] {
		if node == nil {
			return nil
		}
		if node.Type == "array" {
			node = node.Items
			continue
		}
		name, ok := t.Value.(ast.String)
		if !ok {
			return nil
		}
		node = node.Properties[string(name)]
	}
	return node
}

// Field returns the member of input.effect that a reference selects.
func Field(ref ast.Ref) (string, bool) {
	if len(ref) < 3 || !ref[0].Equal(ast.InputRootDocument) || !ref[1].Equal(keyEffect) {
		return "", false
	}
	name, ok := ref[2].Value.(ast.String)
	return string(name), ok
}
