package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// inputSchema is the schema of the input, in the forms that checks need.
type inputSchema struct {
	raw    any // as OPA's type checker takes it
	root   *schemaNode
	effect map[string]*schemaNode // the members of input.effect
}

// schemaNode is the part of a schema that permd's own checks look at. OPA's
// type checker does not know enum, and nothing knows which kinds have a field.
type schemaNode struct {
	Type       string                 `json:"type"`
	Enum       []string               `json:"enum"`
	Properties map[string]*schemaNode `json:"properties"`
	Items      *schemaNode            `json:"items"`
	Kinds      []string               `json:"x-kinds"` // kinds of effects that have the field; all when empty
	Required   []string               `json:"required"`
}

// parseSchema reads the input schema.
func parseSchema(data []byte) (*inputSchema, error) {
	s := &inputSchema{root: &schemaNode{}}
	if err := strictjson.Unmarshal(data, s.root); err != nil {
		return nil, fmt.Errorf("reading the input schema: %w", err)
	}
	if err := strictjson.Unmarshal(data, &s.raw); err != nil {
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
	s.effect = effect.Properties
	return s, nil
}

// has reports whether effects of the kind have the field.
func (s *inputSchema) has(kind effects.Kind, field string) bool {
	node := s.effect[field]
	return node != nil && (len(node.Kinds) == 0 || slices.Contains(node.Kinds, string(kind)))
}

// at returns the schema of what a reference into the input names, nil if it is
// not known. An index or variable goes into the items of a list.
func (s *inputSchema) at(ref ast.Ref) *schemaNode {
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

// fieldOf returns the member of input.effect that a reference goes through.
func fieldOf(ref ast.Ref) (string, bool) {
	if len(ref) < 3 || !ref[0].Equal(ast.InputRootDocument) || !ref[1].Equal(keyEffect) {
		return "", false
	}
	name, ok := ref[2].Value.(ast.String)
	return string(name), ok
}

// words joins a list for a message.
func words(list []string) string { return strings.Join(list, ", ") }
