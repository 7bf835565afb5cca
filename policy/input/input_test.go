package input

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/input/inputtest"
)

func schemaPaths(n *Node, at string, kind effects.Kind, into map[string]bool) {
	if len(n.Properties) == 0 {
		into[at] = true
		return
	}
	for name, child := range n.Properties {
		if at == "effect" && len(child.Kinds) > 0 && !slices.Contains(child.Kinds, string(kind)) {
			continue
		}
		schemaPaths(child, strings.TrimPrefix(at+"."+name, "."), kind, into)
	}
}

// The inputs that Go builds match the schema, for each kind.
func TestMatchesSchema(t *testing.T) {
	schema := schemaOf(t)
	all := inputtest.Everything()
	var kinds []effects.Kind
	for _, in := range all {
		kinds = append(kinds, in.Effect.Kind)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(effects.Kinds)), slices.Sorted(slices.Values(kinds))); diff != "" {
		t.Errorf("inputtest.Everything has not each kind once (-want +got):\n%s", diff)
	}
	for _, in := range all {
		t.Run(string(in.Effect.Kind), func(t *testing.T) {
			got, want := map[string]bool{}, map[string]bool{}
			doc := Build(in, AllParts)
			inputtest.Paths(doc.Value, "", got)
			schemaPaths(schema.root, "", in.Effect.Kind, want)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("members (-schema +built):\n%s", diff)
			}
			checkTypes(t, schema.root, doc.Value, "input")
		})
	}
}

// checkTypes compares a value with the types and words of its schema.
func checkTypes(t *testing.T, n *Node, v ast.Value, at string) {
	t.Helper()
	ok := true
	switch n.Type {
	case "":
		return // any JSON
	case "object":
		obj, isObj := v.(ast.Object)
		if ok = isObj; !ok {
			break
		}
		for _, name := range n.Required {
			if obj.Get(ast.StringTerm(name)) == nil {
				t.Errorf("%s.%s is missing", at, name)
			}
		}
		obj.Foreach(func(k, x *ast.Term) {
			name := string(k.Value.(ast.String))
			if child := n.Properties[name]; child != nil {
				checkTypes(t, child, x.Value, at+"."+name)
			}
		})
	case "array":
		arr, isArr := v.(*ast.Array)
		if ok = isArr; ok {
			arr.Foreach(func(x *ast.Term) { checkTypes(t, n.Items, x.Value, at+"[]") })
		}
	case "string":
		var s ast.String
		s, ok = v.(ast.String)
		if ok && len(n.Enum) > 0 && !slices.Contains(n.Enum, string(s)) {
			t.Errorf("%s is %q, which the schema does not list", at, string(s))
		}
	case "boolean":
		_, ok = v.(ast.Boolean)
	case "integer":
		ok = isInt(v)
	default:
		t.Errorf("%s: the test does not know the type %q", at, n.Type)
	}
	if !ok {
		t.Errorf("%s is %v, which is not of type %s", at, v, n.Type)
	}
}

// The words in the schema are those of the Go types.
func TestSchemaWords(t *testing.T) {
	var tags []string
	for _, tag := range effects.AllTags() {
		tags = append(tags, tag.String())
	}
	root := schemaOf(t).root
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"effect.kind", kindNames()}, {"call.kinds", kindNames()},
		{"effect.tags", tags}, {"call.tags", tags},
		{"effect.stdin", []string{"none", "file", "text", "pipe", "network"}},
		{"effect.method", []string{effects.MethodGet, effects.MethodSend}},
		{"call.completeness", []string{string(effects.Full), string(effects.Partial), string(effects.None)}},
		{"call.defects", []string{effects.DefectDropped, effects.DefectContradiction, effects.DefectNearMiss,
			effects.DefectOption, effects.DefectCharacters, effects.DefectChanged}},
		{"call.claimed_paths.tags", tags},
		{"call.claimed_paths.source", []string{effects.SourceLocation, effects.SourceDiff, effects.SourceOldPath}},
	} {
		n := root
		for name := range strings.SplitSeq(tt.path, ".") {
			if n.Items != nil {
				n = n.Items
			}
			n = n.Properties[name]
		}
		if n.Items != nil {
			n = n.Items
		}
		if diff := cmp.Diff(tt.want, n.Enum); diff != "" {
			t.Errorf("%s (-Go +schema):\n%s", tt.path, diff)
		}
	}
}

func TestValues(t *testing.T) {
	git := inputtest.Run("git", "push")
	push := inputtest.Connect("github.com")
	push.Via = &effects.Via{Effect: 1, Arg: effects.Inherent}
	tests := []struct {
		name string
		in   *decisions.Input
		path string
		want string
	}{
		{"minute", inputtest.Of(git), "now", `"2026-05-04T03:02:00Z"`},
		{"project path", inputtest.Of(inputtest.File(effects.KindRead, "/home/u/p/a/b")), "effect.project_path", `"a/b"`},
		{"project itself", inputtest.Of(inputtest.File(effects.KindRead, "/home/u/p")), "effect.project_path", `"."`},
		{"beside the project", inputtest.Of(inputtest.File(effects.KindRead, "/home/u/pp")), "effect.project_path", ""},
		{"home path", inputtest.Of(inputtest.File(effects.KindRead, "/home/u/pp")), "effect.home_path", `"pp"`},
		{"not in home", inputtest.Of(inputtest.File(effects.KindRead, "/home/u2")), "effect.home_path", ""},
		{"no standard input", inputtest.Of(git), "effect.stdin", `"none"`},
		{"empty, not absent", inputtest.Of(git), "effect.executable", `""`},
		{"inherent", inputtest.Of(push, git), "effect.by.inherent", `true`},
		{"its run", inputtest.Of(push, git), "effect.by.subcommand", `"push"`},
		{"kinds of the call", inputtest.Of(push, git), "call.kinds", `["run", "connect"]`},
		{"exact number", inputtest.Of(git), "call.raw.deep.n", `12345678901234567890`},
		{"arguments", inputtest.Of(inputtest.Use("s", "t", `{"n":[1,{"a":null}]}`)), "effect.arguments.n", `[1, {"a": null}]`},
		{"arguments that are no object", inputtest.Of(inputtest.Use("s", "t", `[7]`)), "effect.arguments", `[7]`},
		{"a folded tool", inputtest.Of(inputtest.Use("Hub", "MERGE_ſ", `{}`)), "effect.folded_tool", `"merge_s"`},
		{"a folded server", inputtest.Of(inputtest.Use("Hub", "MERGE", `{}`)), "effect.folded_server", `"hub"`},
		{"no method is a send", inputtest.Of(effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "h"}}), "effect.method", `"send"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := ast.MustParseRef("input." + tt.path)
			got := ""
			if v, err := Build(tt.in, AllParts).Value.Find(ref[1:]); err == nil {
				got = v.String()
			}
			if got != tt.want {
				t.Errorf("%s = %s, want %s", tt.path, got, tt.want)
			}
		})
	}
}

// schemaOf is the schema that permd ships.
func schemaOf(t testing.TB) *Schema {
	t.Helper()
	data, err := os.ReadFile("../../rego/input.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchema(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kindNames() []string {
	var out []string
	for _, k := range effects.Kinds {
		out = append(out, string(k))
	}
	return out
}

func isInt(v ast.Value) bool {
	n, ok := v.(ast.Number)
	if ok {
		_, ok = n.Int()
	}
	return ok
}
