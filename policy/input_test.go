package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

func kindsForTest() []string {
	var out []string
	for _, k := range effects.Kinds {
		out = append(out, string(k))
	}
	return out
}

// everything is an input of each kind with all that there can be.
func everything() []*decisions.Input {
	script := run("./x.sh", "a")
	script.Run.Executable = "./x.sh"
	script.Run.Operands = []string{"a"}
	script.Run.Script = &effects.Script{Path: "/home/u/p/x.sh", SHA256: "ab"}
	effectsOfAllKinds := []effects.Effect{
		script,
		file(effects.KindRead, "/home/u/p/a", effects.InProject),
		file(effects.KindWrite, "/home/u/p/b"),
		file(effects.KindDelete, "/home/u/p/c"),
		connect("example.com"),
		versioned(use("github", "get_me", `{"a":[1]}`)),
		why(effects.KindState, "export"),
		why(effects.KindMode, "auto"),
		why(effects.KindQuestion, "which"),
		why(effects.KindUnknown, "what"),
	}
	var out []*decisions.Input
	for i := range effectsOfAllKinds {
		all := slices.Clone(effectsOfAllKinds)
		all[i].Via = &effects.Via{Effect: 0, Arg: 0}
		in := input(all...)
		in.Effect = &all[i]
		in.Session = decisions.SessionRef{ID: "s", Ancestors: []string{"p"}, Mode: "plan"}
		in.Call.Agent = effects.Party{Name: "a", Version: "1"}
		in.Call.Client = effects.Party{Name: "c", Version: "2"}
		in.Call.Claims = effects.Claims{Title: "t", Kind: "execute", User: "dana"}
		in.Call.User.Groups = []string{"g"}
		in.Result.Defects = []effects.Defect{{Code: effects.DefectDropped}}
		out = append(out, in)
	}
	return out
}

func versioned(e effects.Effect) effects.Effect {
	e.Use.Version = "1.2.0"
	e.Use.Given = effects.Given{Secrets: []string{"KEY"}, Authorizations: []effects.Authorization{{ID: "idp", Scopes: []string{"read"}}}}
	return e
}

// paths returns the paths of all members of a value, lists left out.
func paths(v ast.Value, at string, into map[string]bool) {
	if at == "call.raw" || at == "effect.arguments" {
		into[at] = true
		return // what is below is the client's
	}
	obj, ok := v.(ast.Object)
	if !ok {
		into[at] = true
		return
	}
	obj.Foreach(func(k, t *ast.Term) {
		paths(t.Value, strings.TrimPrefix(at+"."+string(k.Value.(ast.String)), "."), into)
	})
}

func schemaPaths(n *schemaNode, at string, kind effects.Kind, into map[string]bool) {
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

// What Go builds and what the schema says are the same, kind by kind.
func TestInputMatchesSchema(t *testing.T) {
	schema := testSchema(t)
	for _, in := range everything() {
		t.Run(string(in.Effect.Kind), func(t *testing.T) {
			got, want := map[string]bool{}, map[string]bool{}
			doc := buildInput(in, allParts)
			paths(doc.Value, "", got)
			schemaPaths(schema.root, "", in.Effect.Kind, want)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("members (-schema +built):\n%s", diff)
			}
			checkTypes(t, schema.root, doc.Value, "input")
		})
	}
}

// checkTypes compares a value with the types and words of its schema.
func checkTypes(t *testing.T, n *schemaNode, v ast.Value, at string) {
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
		_, ok = asInt(v)
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
	root := testSchema(t).root
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"effect.kind", kindsForTest()}, {"call.kinds", kindsForTest()},
		{"effect.tags", tags}, {"call.tags", tags},
		{"effect.stdin", []string{"none", "file", "text", "pipe", "network"}},
		{"effect.method", []string{effects.MethodGet, effects.MethodSend}},
		{"call.completeness", []string{string(effects.Full), string(effects.Partial), string(effects.None)}},
		{"call.defects", []string{effects.DefectDropped, effects.DefectContradiction, effects.DefectNearMiss,
			effects.DefectOption, effects.DefectCharacters}},
	} {
		n := root
		for name := range strings.SplitSeq(tt.path, ".") {
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

// A rule that reads any one member sees it: no part that is needed is left out.
func TestNeeds(t *testing.T) {
	schema := testSchema(t)
	for _, in := range everything() {
		all := map[string]bool{}
		paths(buildInput(in, allParts).Value, "", all)
		for path := range all {
			for form, text := range map[string]string{
				"whole":    `deny contains "x" if { v := input.` + path + `; v == v }`,
				"variable": `deny contains "x" if { p := "` + path[strings.LastIndex(path, ".")+1:] + `"; o := input` + dotted(path) + `; o[p] == o[p] }`,
				"function": `deny contains "x" if f(input)` + "\n" + `f(i) if { v := i.` + path + `; v == v }`,
			} {
				c, ps := compile(unitOf(decisions.Org, map[string]string{"a.rego": text}), schema)
				if ps.failed() {
					t.Fatalf("%s %s: %v", path, form, ps.errs())
				}
				for _, whole := range []bool{false, true} {
					fired, err := c.eval(&query{input: buildInput(in, c.needs), now: in.Now, cancel: noCancel{}, whole: whole})
					if err != nil || len(fired) != 1 {
						t.Errorf("%s: %s %s (whole %v): fired %d, %v", in.Effect.Kind, path, form, whole, len(fired), err)
					}
				}
			}
		}
	}
}

func dotted(path string) string {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return ""
	}
	return "." + path[:i]
}

type noCancel struct{}

func (noCancel) Cancel()         {}
func (noCancel) Cancelled() bool { return false }

func TestInputValues(t *testing.T) {
	git := run("git", "push")
	push := connect("github.com")
	push.Via = &effects.Via{Effect: 1, Arg: effects.Inherent}
	tests := []struct {
		name string
		in   *decisions.Input
		path string
		want string
	}{
		{"minute", input(git), "now", `"2026-05-04T03:02:00Z"`},
		{"project path", input(file(effects.KindRead, "/home/u/p/a/b")), "effect.project_path", `"a/b"`},
		{"project itself", input(file(effects.KindRead, "/home/u/p")), "effect.project_path", `"."`},
		{"beside the project", input(file(effects.KindRead, "/home/u/pp")), "effect.project_path", ""},
		{"home path", input(file(effects.KindRead, "/home/u/pp")), "effect.home_path", `"pp"`},
		{"not in home", input(file(effects.KindRead, "/home/u2")), "effect.home_path", ""},
		{"no standard input", input(git), "effect.stdin", `"none"`},
		{"empty, not absent", input(git), "effect.executable", `""`},
		{"inherent", input(push, git), "effect.by.inherent", `true`},
		{"its run", input(push, git), "effect.by.subcommand", `"push"`},
		{"kinds of the call", input(push, git), "call.kinds", `["run", "connect"]`},
		{"exact number", input(git), "call.raw.deep.n", `12345678901234567890`},
		{"arguments", input(use("s", "t", `{"n":[1,{"a":null}]}`)), "effect.arguments.n", `[1, {"a": null}]`},
		{"arguments that are no object", input(use("s", "t", `[7]`)), "effect.arguments", `[7]`},
		{"no method is a send", input(effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "h"}}), "effect.method", `"send"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := ast.MustParseRef("input." + tt.path)
			got := ""
			if v, err := buildInput(tt.in, allParts).Value.Find(ref[1:]); err == nil {
				got = v.String()
			}
			if got != tt.want {
				t.Errorf("%s = %s, want %s", tt.path, got, tt.want)
			}
		})
	}
}

// Evaluating candidates by themselves gives what evaluating the set gives.
func TestDirectIsWhole(t *testing.T) {
	schema := testSchema(t)
	base, ps := compile(baseUnit(), schema)
	if ps.failed() {
		t.Fatal(ps.errs())
	}
	layers := []*compiled{base, mustCompile(t, decisions.User, manyRules(decisions.User, 60)),
		mustCompile(t, decisions.Org, `
deny contains sprintf("%s %s", [input.effect.program, a]) if some a in input.effect.args
ask contains {"reason": input.effect.subcommand, "remember": input.effect.known} if input.effect.kind == "run"
allow contains input.effect.flags[_] if input.effect.kind == "run"
deny contains input.effect.script.path if input.effect.program == "git"`)}
	word := rapid.SampledFrom([]string{"git", "push", "-f", "--force", "rm", "-rf", "/", "prog1", "prog4", "--flag4", "--flag1", "", "sh", "permd", "cat", "a", "a"})
	tags := rapid.SliceOfDistinct(rapid.SampledFrom(effects.AllTags()), rapid.ID[effects.Tag])
	rapid.Check(t, func(t *rapid.T) {
		var e effects.Effect
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			e = run(word.Draw(t, "program"), rapid.SliceOfN(word, 0, 4).Draw(t, "args")...)
			e.Run.Readonly = rapid.Bool().Draw(t, "readonly")
			e.Run.Known = rapid.Bool().Draw(t, "known")
			e.Run.Stdin = rapid.SampledFrom([]effects.Stdin{"", "pipe", "network"}).Draw(t, "stdin")
		case 1:
			e = file(rapid.SampledFrom([]effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete}).Draw(t, "file"),
				"/"+strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"srv", "5", "x", "etc"}), 0, 4).Draw(t, "path"), "/"))
		case 2:
			e = connect(fmt.Sprintf("a.h%d.example.com", rapid.IntRange(0, 60).Draw(t, "host")))
		case 3:
			n := rapid.IntRange(0, 60).Draw(t, "tool")
			e = use(fmt.Sprintf("s%d", n), fmt.Sprintf("t%d", n), "{}")
		}
		e.Tags = effects.TagsOf(tags.Draw(t, "tags")...)
		in := input(e)
		for _, l := range layers {
			q := &query{input: buildInput(in, l.needs), now: in.Now, cancel: noCancel{}}
			direct, err1 := l.eval(q)
			q = &query{input: buildInput(in, allParts), now: in.Now, cancel: noCancel{}, whole: true}
			whole, err2 := l.eval(q)
			if diff := cmp.Diff(whole, direct); diff != "" || (err1 == nil) != (err2 == nil) {
				t.Fatalf("%s: errors %v and %v; findings (-whole +direct):\n%s", l.layer, err2, err1, diff)
			}
		}
	})
}

// TestWholeInputBesideRaw: a deny that looks at the whole effect as text sees
// the same whether or not another rule reads the tool's raw input. (With a lazy
// object json.marshal was given Go values that print otherwise, and the deny
// did not fire.)
func TestWholeInputBesideRaw(t *testing.T) {
	const deny = "deny contains \"no force\" if contains(json.marshal(input.effect), `\"flags\":[\"--force\"]`)\n"
	for name, text := range map[string]string{
		"alone":                    deny,
		"beside a rule on raw":     deny + `ask contains "x" if input.call.raw.x == 1`,
		"beside the whole call":    deny + `ask contains "x" if contains(json.marshal(input.call), "canary")`,
		"beside the raw arguments": deny + `ask contains "x" if input.effect.arguments.x == 1`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := snapshotOf(mustCompile(t, decisions.User, "\n"+text)).Evaluate(t.Context(), input(run("git", "push", "--force")))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Fired) != 1 || got.Fired[0].Set != decisions.SetDeny {
				t.Errorf("fired: %v", briefs(got))
			}
		})
	}
}
