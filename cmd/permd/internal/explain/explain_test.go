package explain

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/rules"
)

// The decisions kept for explanations are bounded by number, by size and by sets of
// rules.
func TestDeliberationsBounded(t *testing.T) {
	same := &numbered{}
	for _, tt := range []struct {
		name string
		size int
		with func(i int) decisions.Snapshot
		most int
	}{
		{"number", 10, func(int) decisions.Snapshot { return same }, maxDeliberations},
		{"size", 100_000, func(int) decisions.Snapshot { return same }, maxDeliberationBytes / 100_000},
		{"one that is too large", maxDeliberationBytes + 1, func(int) decisions.Snapshot { return same }, 0},
		{"snapshots", 10, func(i int) decisions.Snapshot { return &numbered{n: i} }, maxSnapshots},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &Recent{}
			for i := range 2000 {
				k.keep(deliberationEntry{&decisions.Deliberation{ID: fmt.Sprint(i), Snapshot: tt.with(i)}, tt.size})
				if len(k.order) > 2*maxDeliberations {
					t.Fatalf("room for %d after %d", len(k.order), i+1)
				}
			}
			held := 0
			for _, c := range k.order[:cap(k.order)] {
				if c.Deliberation != nil {
					held++
				}
			}
			if n := len(k.order) - k.first; n != tt.most || held != tt.most || k.size != tt.most*tt.size || len(k.snapshots) > maxSnapshots {
				t.Errorf("%d kept, %d held, %d bytes, %d snapshots", n, held, k.size, len(k.snapshots))
			}
			if (k.Of("1999") != nil) != (tt.most > 0) || k.Of("0") != nil {
				t.Error("the newest is not there, or the oldest still is")
			}
		})
	}
}

// numbered is a set of rules that differs from all others.
type numbered struct {
	decisions.Snapshot
	n int
}

// TestRenderExplanation checks the whole text of an explanation.
func TestRenderExplanation(t *testing.T) {
	x := &Explanation{
		Decision: &decisions.Decision{
			ID: "d1", Verdict: decisions.Ask, Reason: "runs a program that may change something", By: decisions.ByPolicy,
			Policy: decisions.PolicyRef{Digest: "0123456789abcdef"}, Message: "use the staging system",
			Defects: []effects.Defect{{Code: "contradiction", At: "title", Text: "the title names another command"}},
			Widths:  []decisions.Width{{ID: "w1", Rule: "run npm run deploy\nconnect a.example:443", Scope: "project"}},
		},
		Call:  explainedCall{Tool: "Bash", Agent: effects.Party{Name: "a", Version: "1"}, Cwd: "/p", Claims: []string{"status pending", "_meta a\x1bb"}},
		Known: true,
		Effects: []explainedEffect{
			{
				EffectDecision: decisions.EffectDecision{
					Kind: "run", Text: "run npm run deploy", From: "rawInput.command", Tags: []string{"in_project"}, Verdict: decisions.Ask,
					Row: decisions.RowBase, Reason: "r", Rules: []decisions.RuleRef{{ID: "base.x"}},
				},
				Fired: []firedRule{
					{RuleRef: decisions.RuleRef{ID: "base.x", At: "base/ask.rego:7", Layer: "base", Title: "May change"}, Set: "ask", Reason: "r", Decided: true},
					{RuleRef: decisions.RuleRef{ID: "base.x", At: "base/ask.rego:7", Layer: "base", Title: "May change"}, Set: "ask", Reason: "s", Decided: true},
					{RuleRef: decisions.RuleRef{ID: "user/a.rego:3", At: "a.rego:3", Layer: "user"}, Set: "allow", Reason: "why not"},
				},
				Near: []rules.Near{
					{Rule: decisions.RuleRef{ID: "user/rules.yaml:2", At: "rules.yaml:2", Layer: "user"}, Set: "allow", Reason: "listed under allow run: npm run lint",
						Failed: []rules.Condition{{Text: "word 2 is deploy, the line says lint"}}},
					{Rule: decisions.RuleRef{ID: "x", At: "a.rego:9", Layer: "org", Title: "T"}, Set: "allow",
						Failed: []rules.Condition{{Text: "input.effect.readonly == true", At: "a.rego:11", Is: "input.effect.readonly is false"}, {Text: "f(x)", At: "a.rego:12", Untried: true}}},
				},
			},
			{
				EffectDecision: decisions.EffectDecision{Kind: "connect", Text: "connect a.example", From: "title", Claimed: true, Verdict: decisions.Allow, Row: decisions.RowAllow, Rules: []decisions.RuleRef{{}}},
				Inherited:      true,
			},
			{EffectDecision: decisions.EffectDecision{Kind: "unknown", Text: "odd", From: "title", Verdict: decisions.Ask, Row: decisions.RowPerson, Reason: "not understood"}},
			{EffectDecision: decisions.EffectDecision{Kind: "run", Text: "run x", From: "title", Verdict: decisions.Allow, Row: decisions.RowRemembered, Reason: "remembered: x", ChoiceID: "c1"}},
		},
		Suggestions: []suggestion{
			{Label: "exactly this", Rules: true, Lines: []suggestedLine{{"run", "npm run deploy"}, {"connect", "a.example:443"}, {"run", "x"}}, Cmds: [][]string{{"permd", "remember", "add", "run", "npm run deploy"}}},
			{Label: "more than this", Lines: []suggestedLine{{"run", "npm run *"}}, Cmds: [][]string{{"permd", "remember", "add", "run", "npm run *"}}},
		},
		Obstacles: []obstacle{{2, "nothing helps"}},
		More:      true,
	}
	const want = `ask: runs a program that may change something
  decision d1, decided by policy, policy 0123456789ab
  Bash of a 1 in /p
  the agent says: status pending
  the agent says: _meta a\u{1b}b
  tell the agent: use the staging system
  ! contradiction: the title names another command (title)

? run npm run deploy
    from     rawInput.command
    tags     in_project
    ask      the base layer (row 10)
    by       base ask: May change (base/ask.rego:7, base.x)
    also     user allow: why not (a.rego:3)
    almost   user allow: listed under allow run: npm run lint (rules.yaml:2)
               but word 2 is deploy, the line says lint
    almost   org allow: T (a.rego:9)
               but not: input.effect.readonly == true (input.effect.readonly is false)
               but not: f(x) (not tried: it depends on a condition that failed)
✓ connect a.example
    from     title, which only the agent claims
    allow    a rule of org, user or project allows (row 9)
    taken    from its run, which always has this effect
? odd
    from     title
    ask      a person is needed: not understood (row 3)
✓ run x
    from     title
    allow    a remembered allow: remembered: x (row 7)
    choice   c1

To allow exactly this. In rules.yaml:
    allow:
      run: ["npm run deploy", "x"]
      connect: ["a.example:443"]
  or remembered:
    permd remember add run 'npm run deploy'

Or more than this. Remembered:
    permd remember add run 'npm run *'

When the client asks, an answer of "always" can be remembered as:
    w1  run npm run deploy + connect a.example:443, for the project

Rules alone would not allow it:
  ? odd
      nothing helps

The call is so large, or the rules are so many, that not everything was examined.
`
	var b bytes.Buffer
	x.Render(&b)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x.Known = false
	b.Reset()
	x.Render(&b)
	if !strings.HasSuffix(b.String(), "explain the call: permd explain FILE\n") || strings.Contains(b.String(), "To allow") {
		t.Errorf("what is not known reads:\n%s", b.String())
	}
}

// TestMoveRules: of places where one begins with another the longer one is replaced, whatever
// their order, and what was replaced is not replaced again.
func TestMoveRules(t *testing.T) {
	pairs := [][2]string{{"/tmp/copy", "/home/policy.d"}, {"/tmp/copy/what-if/rules.yaml", "new.yaml"}, {"/home", "/other"}}
	for range 2 {
		x := &Explanation{Decision: &decisions.Decision{Reason: "/tmp/copy/what-if/rules.yaml:3 and /tmp/copy/a.rego:1"}}
		x.MoveRules(slices.Clone(pairs)...)
		if want := "new.yaml:3 and /home/policy.d/a.rego:1"; x.Decision.Reason != want {
			t.Errorf("%s, want %s", x.Decision.Reason, want)
		}
		slices.Reverse(pairs)
	}
}
