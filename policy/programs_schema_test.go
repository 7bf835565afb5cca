package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/rego"
)

// fits reports whether a file fits a schema, as any validator says.
func fits(t *testing.T, data, schema []byte) (bool, string) {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return false, err.Error()
	}
	if doc == nil {
		return true, ""
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out *ast.Term
	err = topdown.GetBuiltin(ast.JSONMatchSchema.Name)(topdown.BuiltinContext{},
		[]*ast.Term{ast.StringTerm(string(text)), ast.StringTerm(string(schema))},
		func(t *ast.Term) error { out = t; return nil })
	if err != nil {
		t.Fatal(err)
	}
	result := out.Value.(*ast.Array)
	return result.Elem(0).Value.Compare(ast.Boolean(true)) == 0, result.Elem(1).String()
}

// TestProgramsSchema checks that the schema accepts the shipped files and the
// examples, and refuses files whose form the reader refuses.
func TestProgramsSchema(t *testing.T) {
	for name, data := range rego.Programs() {
		if ok, why := fits(t, data, rego.ProgramsSchema()); !ok {
			t.Errorf("%s does not fit the schema: %.400s", name, why)
		}
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"an entry":         {"programs: [{names: [x], readonly: true, options: {harmless: [\"-o= --out=\"]}, operands: [\"reads...\", \"text unless --out\"]}]", true},
		"more":             {"extend: [{names: [ls], options: {writes: [\"--log=\"]}, inherent: [\"connects https://x.dev/ unless --all\"]}]", true},
		"a group":          {"groups: {g: {harmless: [-x]}}\nprograms: [{names: [x], include: [g], wrapper: {skip: 1}}]", true},
		"nothing":          {"", true},
		"a list":           {"- x", false},
		"an unknown key":   {"programs: [{names: [x], readonyl: true}]", false},
		"an unknown one":   {"program: []", false},
		"no names":         {"programs: [{readonly: true}]", false},
		"a path":           {"programs: [{names: [a/b]}]", false},
		"a flag in quotes": {"programs: [{names: [x], readonly: \"true\"}]", false},
		"a number":         {"programs: [{names: [x], readonly: 1}]", false},
		"a kind":           {"programs: [{names: [x], options: {burns: [-x]}}]", false},
		"options as list":  {"programs: [{names: [x], options: [-x]}]", false},
		"an operand":       {"programs: [{names: [x], operands: [\"reads when -x\"]}]", false},
		"an effect":        {"programs: [{names: [x], inherent: [reads]}]", false},
		"a style":          {"programs: [{names: [x], style: dos}]", false},
		"a wrapper":        {"programs: [{names: [x], wrapper: {wraps: true}}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			ok, why := fits(t, []byte(c.text), rego.ProgramsSchema())
			if ok != c.ok {
				t.Errorf("it fits the schema: %t (%s)", ok, why)
			}
			if _, errs := table.ParseOverlay(map[string][]byte{"a.yaml": []byte(c.text)}); (errs == nil) != c.ok {
				t.Errorf("the reader says: %v", errs)
			}
		})
	}
	examples, err := filepath.Glob("../examples/policies/*/programs/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Errorf("no examples: %v", err)
	}
	for _, file := range examples {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := fits(t, data, rego.ProgramsSchema()); !ok {
			t.Errorf("%s does not fit the schema: %s", file, why)
		}
	}
}
