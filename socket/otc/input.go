package otc

import (
	"strings"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/toolschema"
)

// invalid describes an input that does not fit its tool.
type invalid struct {
	whole      string            // with the input as a whole
	parameters map[string]string // by parameter
}

func (v *invalid) any() bool { return v.whole != "" || len(v.parameters) > 0 }

func (v *invalid) add(p toolschema.Problem) {
	name, rest, deep := strings.Cut(strings.TrimPrefix(p.At, "/"), "/")
	text := p.Text
	if deep {
		text = rest + ": " + text
	}
	if name == "" {
		v.whole = joined(v.whole, text)
		return
	}
	if v.parameters == nil {
		v.parameters = map[string]string{}
	}
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	v.parameters[name] = joined(v.parameters[name], text)
}

func joined(a, b string) string {
	switch {
	case a == "":
		return b
	case strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}

// invalid checks the input against the schema; unchecked says why that was not possible.
func (a *callRequest) invalid() (v invalid, unchecked error) {
	if a.input != nil && strictjson.Kind(a.input) != '{' {
		v.whole = "the input must be an object"
		return v, nil
	}
	if a.definition == nil || a.definition.schema == nil {
		return v, nil
	}
	input := a.input
	if input == nil {
		input = strictjson.Value("{}")
	}
	// The schema itself, and the one that it wraps: an input that fits only one of them
	// is refused.
	schemas := []strictjson.Value{a.definition.schema}
	if strictjson.Kind(a.definition.schema) == '{' {
		if inner := strictjson.Find(a.definition.schema, "parameters"); inner != nil {
			schemas = append(schemas, inner)
		}
	}
	for _, schema := range schemas {
		problems, err := toolschema.Check(schema, input)
		if err != nil {
			return v, err
		}
		for _, p := range problems {
			v.add(p)
		}
	}
	return v, nil
}
