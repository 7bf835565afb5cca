package rules

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"

	"github.com/permd/permd/policy/evaltime"
)

// brief is a finding in one line.
func brief(f decisions.Finding) string {
	s := fmt.Sprintf("%s %s at %s: %s", f.Set, f.Rule.ID, f.Rule.At, f.Reason)
	if f.Message != "" {
		s += " / " + f.Message
	}
	if f.Remember != nil {
		s += fmt.Sprintf(" remember=%v", *f.Remember)
	}
	if f.Covers != 0 || f.CoversUnknown {
		s += fmt.Sprintf(" covers=%v,%v", f.Covers.Names(), f.CoversUnknown)
	}
	return s
}

func briefs(f decisions.Findings) []string {
	var out []string
	for _, f := range f.Fired {
		out = append(out, brief(f))
	}
	return out
}

func TestEvaluate(t *testing.T) {
	const text = `
# METADATA
# title: No force pushes
# custom:
#   id: no-force-push
deny contains "never force-push" if {
	input.effect.program == "git"
	input.effect.subcommand == "push"
	"--force" in input.effect.flags
}

ask contains {"reason": "production", "remember": false, "message": "ask on call"} if {
	input.effect.kind == "connect"
	endswith(input.effect.host, ".prod.example.com")
}

allow contains {"reason": "own notes", "covers": ["secret", "unknown"]} if {
	input.effect.kind == "write"
	input.effect.home_path == "notes.txt"
}

allow contains sprintf("reads %s", [input.effect.path]) if input.effect.kind == "read"

allow contains "same" if input.effect.program == "twice"

allow contains "same" if input.effect.program == "twice"

deny contains $"no {tool}" if {
	input.effect.kind == "use"
	some tool in ["a", "b"]
	input.effect.tool == "both"
}

deny contains sprintf("script %s", [input.effect.script.path]) if input.effect.program == "sh"

ask contains input.effect.by.arg if input.effect.kind == "delete"
`
	snap := snapshotOf(mustCompile(t, decisions.User, text))
	tests := []struct {
		name string
		in   effects.Effect
		want []string
	}{
		{"metadata", run("git", "push", "--force"), []string{"deny no-force-push at /p/a.rego:8: never force-push"}},
		{"one test fails", run("git", "pull", "--force"), nil},
		{"object", connect("db.prod.example.com"), []string{"ask user/a.rego:14 at /p/a.rego:14: production / ask on call remember=false"}},
		{"covers", file(effects.KindWrite, "/home/u/notes.txt"), []string{"allow user/a.rego:19 at /p/a.rego:19: own notes covers=[secret],true"}},
		{"reason from the input", file(effects.KindRead, "/etc/x"), []string{"allow user/a.rego:24 at /p/a.rego:24: reads /etc/x"}},
		{"two rules, one reason", run("twice"), []string{
			"allow user/a.rego:26 at /p/a.rego:26: same", "allow user/a.rego:28 at /p/a.rego:28: same"}},
		{"one rule, two reasons", use("", "both", "{}"), []string{
			"deny user/a.rego:30 at /p/a.rego:30: no a", "deny user/a.rego:30 at /p/a.rego:30: no b"}},
		{"undefined reason of a deny", run("sh", "x"), []string{"deny user/a.rego:36 at /p/a.rego:36: rule user/a.rego:36"}},
		{"undefined reason of an ask", file(effects.KindDelete, "/etc/x"), []string{
			"ask user/a.rego:38 at /p/a.rego:38: rule user/a.rego:38 remember=false"}},
		{"kind without rules", why(effects.KindState, "export"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := snap.Evaluate(t.Context(), inputOf(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, briefs(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// Rules may refer to the sets, which does not change the answer.
func TestEvaluateSetsReferred(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.Org, `
deny contains "no" if input.effect.program == "rm"
allow contains "all but denied" if {
	input.effect.kind == "run"
	count(deny) == 0
}
ask contains "denied too" if {
	input.effect.kind == "run"
	"no" in data.permd.org.deny
}
`))
	for program, want := range map[string][]string{
		"rm": {"deny org/a.rego:4 at /p/a.rego:4: no", "ask org/a.rego:9 at /p/a.rego:9: denied too"},
		"ls": {"allow org/a.rego:5 at /p/a.rego:5: all but denied"},
	} {
		got, err := snap.Evaluate(t.Context(), inputOf(run(program)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, briefs(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", program, diff)
		}
	}
}

func TestEvaluateMetadataInBody(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.Org, `
# METADATA
# title: From the title
deny contains rego.metadata.rule().title if input.effect.program == "rm"
`))
	got, err := snap.Evaluate(t.Context(), inputOf(run("rm")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"deny org/a.rego:6 at /p/a.rego:6: From the title"}, briefs(got)); diff != "" {
		t.Error(diff)
	}
}

// A failure in a rule is an error, and never an allow.
func TestEvaluateFails(t *testing.T) {
	t.Parallel()
	const allow = "allow contains \"yes\" if input.effect.kind == \"run\"\n"
	tests := []struct{ name, text, want string }{
		{"divide by zero", `deny contains "x" if 1 / (input.effect.harmless_from - 1) > 0`, "divide by zero"},
		{"builtin error", `deny contains "x" if to_number(input.effect.program) > 0`, "strconv"},
		{"conflict", `
level := 1 if input.effect.kind == "run"
level := 2 if input.effect.program == "ls"
deny contains "x" if level > 5`, "conflicting values"},
		{"function conflict", `
f(x) := 1 if x != ""
f(x) := 2 if x == "ls"
deny contains "x" if f(input.effect.program) > 5`, "conflicting values"},
		{"too long", `deny contains "x" if {
	some a in numbers; some b in numbers; some c in numbers; some d in numbers
	some e in numbers; some f in numbers; some g in numbers; some h in numbers
	a * b * c * d * e * f * g * h == 7 + input.effect.harmless_from * 0.5
}
numbers := {n | some i, _ in split("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", ""); n := i + 11}`, "took "}, // longer, or more memory
		{"element of a wrong type", `deny contains input.effect.harmless_from if input.effect.kind == "run"`, "neither a string nor an object"},
		{"element with a wrong member", `deny contains {"reason": "x", input.effect.program: "x"} if input.effect.kind == "run"`, `no member "ls"`},
		{"element without a reason", `deny contains input.effect.executable if input.effect.kind == "run"`, "without giving a reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name == "too long" {
				t.Skip("long: it takes all the time or memory that there is; TestComparisonsOfSharedValues is the quick one")
			}
			bad := mustCompile(t, decisions.User, tt.text)
			org := mustCompile(t, decisions.Org, allow+`deny contains "org" if input.effect.program == "ls"`)
			start := time.Now()
			got, err := snapshotOf(org, bad).Evaluate(t.Context(), inputOf(run("ls", "x")))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			if took := time.Since(start); took > 20*evaltime.Timeout {
				t.Errorf("took %v", took)
			}
			for _, f := range got.Fired {
				if f.Set == decisions.SetAllow {
					t.Errorf("an allow together with an error: %s", brief(f))
				}
			}
			if len(got.Fired) == 0 || got.Fired[0].Reason != "org" {
				t.Errorf("the deny of the layer that works is missing: %v", briefs(got))
			}
		})
	}
}

func TestEvaluateRefuses(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.User, `allow contains "x" if input.effect.kind == "run"`))
	t.Run("unknown kind", func(t *testing.T) {
		if _, err := snap.Evaluate(t.Context(), inputOf(effects.Effect{Kind: "fly"})); err == nil {
			t.Error("no error")
		}
	})
	t.Run("blind", func(t *testing.T) {
		blind := *snap
		blind.unknown = errors.New("user rules are broken")
		got, err := blind.Evaluate(t.Context(), inputOf(run("ls")))
		if !errors.Is(err, blind.unknown) || len(got.Fired) != 0 {
			t.Errorf("got %v, %v", briefs(got), err)
		}
	})
}

// A builtin that panics on a client's number must not end the daemon.
func TestEvaluateHostileRaw(t *testing.T) {
	snap := snapshotOf(mustCompile(t, decisions.User, `deny contains "x" if input.call.raw.n > 5`))
	in := inputOf(run("ls"))
	in.Call.Input = []byte(`{"n":1e999999999999}`)
	if _, err := snap.Evaluate(t.Context(), in); err == nil {
		t.Error("no error for a number that OPA cannot hold")
	}
}
