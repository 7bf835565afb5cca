package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
)

// A rule that reads any one member gets it: no required part is left out.
func TestNeeds(t *testing.T) {
	t.Parallel()
	schema := testSchema(t)
	type form struct{ name, path string }
	var forms []form
	ofInput := map[*decisions.Input]map[string]bool{}
	everything := inputtest.Everything()
	for _, in := range everything {
		all := map[string]bool{}
		inputtest.Paths(input.Build(in, input.AllParts).Value, "", all)
		ofInput[in] = all
		for path := range all {
			for _, name := range []string{"whole", "variable", "function"} {
				forms = append(forms, form{name, path})
			}
		}
	}
	slices.SortFunc(forms, func(a, b form) int { return strings.Compare(a.path+" "+a.name, b.path+" "+b.name) })
	forms = slices.Compact(forms) // the inputs have most paths in common
	if testing.Short() {
		forms = testload.Sample(t, len(forms)/9, forms)
	} else {
		forms = testload.SampleOf(t, len(forms)/3, forms, func(f form) string { return f.path })
	}
	for _, f := range forms {
		text := map[string]string{
			"whole":    `deny contains "x" if { v := input.` + f.path + `; v == v }`,
			"variable": `deny contains "x" if { p := "` + f.path[strings.LastIndex(f.path, ".")+1:] + `"; o := input` + dotted(f.path) + `; o[p] == o[p] }`,
			"function": `deny contains "x" if f(input)` + "\n" + `f(i) if { v := i.` + f.path + `; v == v }`,
		}[f.name]
		c, ps := Compile(unitOf(decisions.Org, map[string]string{"a.rego": text}), schema)
		if ps.Failed() {
			t.Fatalf("%s %s: %v", f.path, f.name, ps.Errors())
		}
		for _, in := range everything {
			if !ofInput[in][f.path] {
				continue
			}
			for _, whole := range []bool{false, true} {
				fired, err := c.eval(&query{input: input.Build(in, c.needs), now: in.Now, cancel: noCancel{}, wholeSet: whole})
				if err != nil || len(fired) != 1 {
					t.Errorf("%s: %s %s (whole %v): fired %d, %v", in.Effect.Kind, f.path, f.name, whole, len(fired), err)
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

// Evaluating candidates by themselves gives what evaluating the set gives.
func TestDirectIsWhole(t *testing.T) {
	schema := testSchema(t)
	base, ps := Compile(baseUnit(), schema)
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	layers := []*Layer{base, mustCompile(t, decisions.User, policytest.ManyRules(decisions.User, 60)),
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
		in := inputOf(e)
		for _, l := range layers {
			q := &query{input: input.Build(in, l.needs), now: in.Now, cancel: noCancel{}}
			direct, err1 := l.eval(q)
			q = &query{input: input.Build(in, input.AllParts), now: in.Now, cancel: noCancel{}, wholeSet: true}
			whole, err2 := l.eval(q)
			if diff := cmp.Diff(whole, direct); diff != "" || (err1 == nil) != (err2 == nil) {
				t.Fatalf("%s: errors %v and %v; findings (-whole +direct):\n%s", l.Name, err2, err1, diff)
			}
		}
	})
}

// TestWholeInputBesideRaw: a deny that reads the whole effect as text gets the same
// text whether or not another rule reads the tool's raw input. (With a lazy object
// json.marshal was given Go values that print otherwise, and the deny did not
// fire.)
func TestWholeInputBesideRaw(t *testing.T) {
	const deny = "deny contains \"no force\" if contains(json.marshal(input.effect), `\"flags\":[\"--force\"]`)\n"
	for name, text := range map[string]string{
		"alone":                    deny,
		"beside a rule on raw":     deny + `ask contains "x" if input.call.raw.x == 1`,
		"beside the whole call":    deny + `ask contains "x" if contains(json.marshal(input.call), "canary")`,
		"beside the raw arguments": deny + `ask contains "x" if input.effect.arguments.x == 1`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := snapshotOf(mustCompile(t, decisions.User, "\n"+text)).Evaluate(t.Context(), inputOf(run("git", "push", "--force")))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Fired) != 1 || got.Fired[0].Set != decisions.SetDeny {
				t.Errorf("fired: %v", briefs(got))
			}
		})
	}
}
