package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
)

// keptForms are expressions of all forms, of few fields that all have few values in
// fewInputs. V is a variable.
var keptForms = []string{
	`input.effect.program == "a"`, `input.effect.text == "a"`, `input.effect.text != "a"`, `"a" == input.effect.text`, `not input.effect.text == "a"`,
	`input.effect.text in {"a", "c"}`, `not input.effect.text in {"a", "c"}`, `startswith(input.effect.text, "a")`, `not endswith(input.effect.text, "a")`,
	`contains(input.effect.text, "a")`, `contains("ab", input.effect.text)`, `regex.match("^a", input.effect.text)`, `not regex.match("^a", input.effect.text)`,
	`lower(input.effect.text) == "a"`, `input.effect.text == input.call.title`, `input.effect.text`, `not input.effect.text`, `input.effect.text < "b"`,
	`V := input.effect.text; V == "a"`, `V := input.effect.text; sprintf("%s", [V]) == "a"`, `V := input.effect.text; every x in input.effect.args { x != V }`,
	`V := input.effect.text; not V in input.effect.args`, `[V, _] := [input.effect.text, 1]; V == "a"`,
	`V := input.effect.args[0]; V == input.effect.text`, `input.effect.args[0] == "a"`, `not input.effect.args[1] == "a"`, `not input.effect.args[0] != "a"`,
	`not {V := input.effect.args[1]; V == "a"}`, `not {V := input.effect.args[0]; V != "c"; count(input.effect.args) == 1}`, `not {input.effect.args[1]; count(input.effect.args) > 0}`, `not {input.effect.args[1]; "b" in input.effect.args}`,
	`not {input.effect.text != "b"; input.effect.text != "a"}`, `not {not input.effect.text == "a"}`, `not {_ = input.effect.args[1]; input.effect.text == "a"}`,
	`not {_ = input.effect.operands; input.effect.claimed == true}`, `not {not input.effect.operands; input.effect.text == "a"}`, `not {lower(input.effect.text) == "a"; input.effect.args[0] == "b"}`,
	`"a" in input.effect.args`, `not "a" in input.effect.args`, `some V in input.effect.args; V == "a"`, `input.effect.args == ["a"]`, `input.effect.args != ["a"]`,
	`count(input.effect.args) == 1`, `count(input.effect.args) > 1`, `1 >= count(input.effect.args)`, `V := count(input.effect.args); V != 1`,
	`input.effect.args == ["b"]`, `input.effect.args != ["b", "b"]`, `input.effect.text.x`, `not input.effect.text.x`, `not input.effect.claimed.x == "a"`,
	`V := concat("", [w | some w in input.effect.args]); contains(V, "ba")`,
	`V := concat("-", [w | some a in input.effect.args; w := concat("", ["\u0000", replace(a, "\u0000", "\u0001")])]); contains(V, "-")`,
	`V := concat("", [w | some a in input.effect.args; w := concat("", ["\u0000", replace(a, "b", "\u0001")])]); contains(V, "b")`,
	`count(input.effect.args) >= 1`, `input.effect.harmless_from >= 1`, `not 1 < input.effect.harmless_from`,
	`startswith(input.effect.cwd, "a")`, `endswith(input.effect.cwd, "a")`, `contains(input.effect.cwd, "ab")`, `not regex.match("a$", input.effect.cwd)`,
	`every x in input.effect.args { x != "a" }`, `count([1 | some x in input.effect.args; x == "a"]) > 0`, `some V; input.effect.args[V] == "a"; input.effect.args[V] == input.effect.text`,
	`V := concat("", [w | some a in input.effect.args; w := concat("", ["\u0000", replace(a, "\u0000", "\u0001")])]); regex.match("\\x00a", V)`,
	`V := concat("", [w | some a in input.effect.args; w := concat("", ["\u0000", replace(a, "\u0000", "\u0001")])]); not regex.match("b", V); V != input.effect.text`,
	`input.effect.claimed`, `not input.effect.claimed`, `input.effect.claimed == false`, `input.effect.claimed != input.effect.shell`, `not {input.effect.claimed; input.effect.text == "a"}`,
	`input.effect.harmless_from <= 0`, `1 > input.effect.harmless_from`, `input.effect.harmless_from in {0, 5}`, `input.effect.harmless_from + 1 == 1`, `not input.effect.harmless_from == 0`,
	`"a" in c`, `input.effect.text in c`, `not input.effect.text in c`, `some V in c; V == input.effect.text`, `g(input.effect.text)`, `not g(input.effect.text)`,
	`input.effect.text in sometimes`, `not input.effect.text in sometimes`, `"c" in sometimes`, `input.effect.text in twice`, `not "c" in twice`,
	`V := input.effect; V.text == "a"`, `V := "text"; input.effect[V] == "a"`, `walk(input.effect, [_, V]); V == "b"`, `contains(json.marshal(input.effect), "b")`,
	`object.get(input.effect, "text", "b") == "b"`, `count({V | V := input.effect.text; V == "a"}) == 0`, `input.effect.by.program == "a"`, `not input.effect.by`,
	`lower(input.effect.program) == "a"`, `count({x | some x in input.effect.tags}) == 0`,
	`input.effect.operands`, `not input.effect.operands`, `"b" in input.effect.operands`, `input.effect.tags[0] == "secret"`, `"secret" in input.call.tags`,
	`input.call.title == "a"`, `json.unmarshal(input.effect.text) == 1`, `to_number(input.call.title) == 1`, `input.effect.kind == "run"`, `startswith(input.now, "2026-05-04T03")`,
	`input.effect.text == "a" with input.effect.text as "a"`, `input.session.mode == "a"`, `input.project.trusted`, `input.effect.harmful[0] == 0`,
}

// keptPolicies are policies with an expression, E, at a place where it matters.
var keptPolicies = []string{
	"deny contains \"r\" if { E }",
	"deny contains \"r\" if h\nh if { E }",
	"deny contains \"r\" if not h\nh if { E }",
	"deny contains \"r\" if not h\ndefault h := false\nh if { E }\nh if input.call.title == \"b\"",
	"deny contains \"r\" if { input.effect.text == \"a\"; E; contains(input.call.title, \"a\") }",
	"deny contains \"r\" if { some x in input.effect.args; x == \"a\"; E; input.effect.text == \"b\" }",
	"deny contains \"r\" if f(input.effect.program)\nf(x) if { E; x == \"a\" }",
	"deny contains \"r\" if e == 2\ne := 1 if { E } else := 2 if { input.effect.text == \"b\" }",
	"deny contains sprintf(\"r %s\", [input.effect.text]) if { E }",
	"ask contains {\"reason\": x} if { some x in input.effect.args; E }",
	"deny contains \"r\" if h with input.effect.text as \"a\"\nh if { E }",
	"deny contains \"r\" if h with input.effect.program as \"a\"\nh if { input.effect.program == \"a\"; E }",
	"deny contains \"r\" if \"x\" in s\ns contains \"x\" if { E }",
	"deny contains \"r\" if { h; k }\nh if { k; E }\nk if { input.effect.text == \"a\" }\nk if { E; input.effect.program == \"a\" }",
	"deny contains \"r\" if { h; input.effect.text == \"a\" }\nh if { E }",
	"deny contains \"r\" if not {h; input.effect.claimed}\nh if { E }",
	"deny contains \"r\" if { E; not contains(input.call.title, \"a\") }",
	"deny contains \"r\" if { E; input.effect.program in {\"a\", \"z\"} }",
	"deny contains \"r\" if { E; startswith(input.effect.kind, \"w\") }",
	"deny contains \"r\" if { not h; contains(input.call.title, \"a\") }\nh := false if { E }",
	"deny contains \"r\" if { not h; contains(input.call.title, \"a\") }\nh := 0 if { E }",
	"deny contains \"r\" if { not h; input.effect.text != input.call.title }\nh if { E }",
	"deny contains input.effect.text if { E }\nallow contains \"r\" if { input.effect.program == \"a\"; not d }\nd if { deny[_] }",
}

// sometimes is not always defined, and twice has two values at once for some inputs, which is an error.
const keptHelpers = "\nc := {\"a\", \"c\"}\nsometimes := {\"a\", \"c\"} if input.call.title == \"a\"\ntwice := {\"a\", \"c\"}\ntwice := {\"b\"} if input.call.title == \"b\"\ng(x) if { x == \"a\"; input.effect.program == \"a\" }\n"

// fewInputs are all inputs with some values of the fields in keptForms.
func fewInputs() []*decisions.Input {
	var out []*decisions.Input
	for i := range 2 * 3 * 2 * 3 * 2 {
		pick := func(n int, from ...string) string {
			v := from[i%n]
			i /= n
			return v
		}
		e := run(pick(2, "a", "b"))
		if words := pick(3, "", "a", "b a"); words != "" {
			e.Run.Args = strings.Fields(words)
		}
		e.Text = pick(2, "a", "b")
		title := pick(3, "a", "b", "1")
		e.Claimed = pick(2, "", "x") != ""
		// The others follow these, each in its own way.
		if e.Text == "a" && title == "b" {
			e.Run.Operands = e.Run.Args
			e.Tags = effects.TagsOf(effects.Secret)
		}
		if e.Claimed != (title == "b") {
			e.Run.HarmlessFrom, e.Run.Harmful = 1, []int{0}
		}
		if e.Run.Cwd = "ab"; e.Claimed == (e.Text == "a") {
			e.Run.Cwd = "ba"
		}
		list := []effects.Effect{e, run(title)}
		if e.Text == "b" {
			list[0].Via = &effects.Via{Effect: 1}
		}
		if title == "1" {
			list[1].Tags = effects.TagsOf(effects.Secret)
		}
		in := inputOf(list...)
		in.Call.Input = nil
		in.Call.Claims.Title = title
		in.Session.Mode = e.Text
		in.Trusted = e.Claimed
		if title == "b" {
			in.Now = in.Now.AddDate(1, 0, 0)
		}
		out = append(out, in)
	}
	return out
}

// TestKeptForms: whatever the form of an expression, and wherever it is, no effect gets
// the result of another one that the rules can tell apart. All inputs with the same
// projection are compared.
func TestKeptForms(t *testing.T) {
	inputs := fewInputs()
	hits, asked := int64(0), 0
	places := make([]int, len(keptPolicies))
	for p := range places {
		places[p] = p
	}
	for _, form := range testload.WithShort(t, 6, keptForms) {
		t.Run(form, func(t *testing.T) {
			for _, p := range testload.WithShort(t, 1, testload.Sample(t, len(places)/12, places)) {
				policy := keptPolicies[p]
				form := strings.ReplaceAll(form, "V", fmt.Sprintf("v%d", p))
				text := strings.ReplaceAll(policy, "E", strings.ReplaceAll(form, "; ", "\n\t")) + keptHelpers
				if strings.Contains(form, "not {") {
					text = strings.ReplaceAll(policy, "E", form) + keptHelpers
				}
				l, ps := Compile(unitOf(decisions.User, map[string]string{"a.rego": text}), nil)
				if ps.Failed() {
					t.Fatalf("%v\n%s", ps.Errors(), text)
				}
				anew, kept := snapshotOf(l), snapshotOf(l)
				kept.Keep(nil, nil)
				for _, in := range inputs {
					in.Scratch = nil
					want, err1 := anew.Evaluate(t.Context(), in)
					got, err2 := kept.Evaluate(t.Context(), in)
					if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err1) != fmt.Sprint(err2) {
						t.Fatalf("%s\n%+v %+v title %s\nerrors: %v anew, %v kept; findings (-anew +kept):\n%s", text, in.Effect, in.Effect.Run, in.Call.Claims.Title, err1, err2, diff)
					}
				}
				h, _, _ := kept.kept.Counts()
				hits += h
				asked += len(inputs)
			}
		})
	}
	if hits == 0 {
		t.Error("nothing was kept")
	}
	t.Logf("%d of %d results were kept", hits, asked)
}
