package rules

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// TestInlined checks which rules remain to be evaluated for a program, and that the
// answer is that of the whole set.
func TestInlined(t *testing.T) {
	tests := []struct {
		name, text string
		program    string
		left       int // rules that the index leaves
		fires      bool
	}{
		{"a set, not in it", `shells := {"bash", "sh"}
deny contains "x" if input.effect.program in shells`, "ls", 0, false},
		{"a set, in it", `shells := {"bash", "sh"}
deny contains "x" if input.effect.program in shells`, "sh", 1, true},
		{"an array", `shells := ["bash", "sh"]
deny contains "x" if input.effect.program in shells`, "ls", 0, false},
		{"a local name", `shells := {"bash", "sh"}
deny contains "x" if {
	shells := ["ls"]
	input.effect.program in shells
}`, "ls", 1, true},
		{"a name that is walked", `shells := {"bash", "sh"}
deny contains "x" if {
	some shells in [["ls"], ["cat"]]
	input.effect.program in shells
}`, "ls", 1, true},
		{"a negation", `shells := {"bash", "sh"}
deny contains "x" if not input.effect.program in shells`, "ls", 1, true},
		{"a replaced one", `shells := {"bash", "sh"}
deny contains "x" if input.effect.program in shells with data.permd.user.shells as {"ls"}`, "ls", 1, true},
		{"a computed set", `shells := {s | some s in ["bash", "ls"]}
deny contains "x" if input.effect.program in shells`, "ls", 1, true},
		{"a set with rules", `shells contains "bash"
shells contains "ls"
deny contains "x" if input.effect.program in shells`, "ls", 1, true},
		{"a default", `default shells := {"bash"}
shells := {"ls"} if input.effect.kind == "run"
deny contains "x" if input.effect.program in shells`, "ls", 1, true},
		{"one with a condition", `shells := {"ls"} if input.effect.kind == "run"
deny contains "x" if input.effect.program in shells`, "ls", 1, true},
		{"an imported name", `import data.permd.user.other as shells
other := {"ls"}
deny contains "x" if input.effect.program in shells`, "ls", 1, true},
		{"a name used twice, once as a value", `shells := {"bash", "sh"}
deny contains "x" if {
	input.effect.program in shells
	count(shells) == 2
}`, "sh", 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := mustCompile(t, decisions.User, tt.text)
			in := inputOf(run(tt.program))
			in.Effect = &in.All[0]
			q := &query{input: input.Build(in, input.AllParts), cancel: nil}
			found, err := l.index.Lookup(q)
			if err != nil {
				t.Fatal(err)
			}
			fired, err := l.eval(q)
			if err != nil {
				t.Fatal(err)
			}
			q.wholeSet = true
			whole, err := l.eval(q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, fired); diff != "" {
				t.Errorf("the whole set says something else:\n%s", diff)
			}
			if len(found.Rules) != tt.left || (len(fired) > 0) != tt.fires {
				t.Errorf("%d rules are left and %d fire, want %d and %v", len(found.Rules), len(fired), tt.left, tt.fires)
			}
		})
	}
}

// TestShippedRulesAreIndexed: few of the shipped rules are evaluated for the most
// frequent effects.
func TestShippedRulesAreIndexed(t *testing.T) {
	u := baseUnit()
	u.Files = slices.DeleteFunc(u.Files, func(f source.File) bool { return !rego.InProfile(f.Name, settings.ProfileBalanced) })
	base, ps := Compile(u, testSchema(t))
	if ps.Failed() {
		t.Fatal(ps.Errors())
	}
	snap := snapshotOf(base)
	for _, program := range []string{"git", "grep", "go"} {
		in := inputOf(run(program, "status"))
		in.Effect = &in.All[0]
		found, err := base.index.Lookup(&query{input: input.Build(in, input.AllParts)})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(found.Rules); n > maxDirect {
			t.Errorf("%s: %d rules are left, more than are evaluated one by one", program, n)
		}
		if _, err := snap.Evaluate(context.Background(), in); err != nil {
			t.Error(err)
		}
	}
}
