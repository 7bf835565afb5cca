package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// explains asks the daemon for the explanation of a decision.
func (d *testDaemon) explains(t *testing.T, id string) *explanation {
	t.Helper()
	c, err := client.Dial(t.Context(), filepath.Join(d.run, "permd-admin", "admin.sock"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x, err := explainRemote(t.Context(), c, id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestWaysWork does what explanations say would allow a call: the lines in
// rules.yaml, and the commands. Each must do it.
func TestWaysWork(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n", "a/a.go": "package a\n", "docs/x.md": "x\n", "run.sh": "true\n"})
	rules := filepath.Join(d.home, ".config", "permd", "policy.d")
	if err := os.MkdirAll(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(rules, "rules.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.permd(t, "reload")
	}
	const own = "ask:\n  run: [\"frob asked *\"]\n"
	write(own)
	p := d.asks(t, project)
	asRules, asChoices := 0, 0
	for _, command := range []string{
		"go build ./a", "frob --all it", "frob 'two words' \"it's\"", "frob asked once", "cp docs/x.md docs/y.md",
		"echo x > docs/z.md", "rm docs/x.md", "rm -r docs", "curl -s https://docs.example.org/a", "cat ~/.ssh/id_ed25519",
		"git push origin main", "./run.sh --fast", "go vet ./... && frob x | frob y", "frob [::1] '*' '?'", "cat docs/../../elsewhere/f",
		"cd docs && frob here", "curl -o docs/a.html http://[::1]:8080/x", "frob > 'docs/odd name*.md'",
	} {
		first := p.bash(command)
		x := d.explains(t, first.ID)
		if !x.Known {
			t.Errorf("%s: it is not known any more", command)
		}
		if first.Verdict != decisions.Ask {
			continue // the shipped rules know it
		}
		if len(x.Ways) == 0 && len(x.Obstacles) == 0 {
			t.Errorf("%s: neither a way nor what is in the way", command)
		}
		for _, w := range x.Ways {
			if w.Rules {
				asRules++
				write(strings.ReplaceAll(w.yaml(), "    allow:", "allow:") + own)
				if got := p.bash(command); got.Verdict != decisions.Allow {
					t.Errorf("%s: with the rules\n%s it is %s: %s", command, w.yaml(), got.Verdict, got.Reason)
				}
				write(own)
			}
			for _, cmd := range w.Cmds {
				d.permd(t, cmd[1:]...)
			}
			if w.Cmds != nil {
				asChoices++
				if got := p.bash(command); got.Verdict != decisions.Allow {
					t.Errorf("%s: after %v it is %s: %s", command, w.Cmds, got.Verdict, got.Reason)
				}
				d.permd(t, "remember", "forget", "--all")
			}
		}
		if got := p.bash(command); got.Verdict != decisions.Ask {
			t.Fatalf("%s: it is %s when all is undone", command, got.Verdict)
		}
	}
	if asRules < 15 || asChoices < 10 {
		t.Errorf("only %d ways were rules, %d were choices", asRules, asChoices)
	}
}

// TestExplainHidesSecrets: an explanation, as text and as JSON, shows no token
// and no file body.
func TestExplainHidesSecrets(t *testing.T) {
	const canary = "ghp_c4n4ryc4n4ryc4n4ryc4n4ryc4n4ryc4n4ry"
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	for _, c := range []struct {
		tool  string
		input map[string]string
	}{
		{"Bash", map[string]string{"command": "frob --token " + canary}},
		{"Bash", map[string]string{"command": "curl https://ana:" + canary + "@example.com/"}},
		{"Write", map[string]string{"file_path": "docs/a.md", "content": canary}},
		{"mcp__x__y", map[string]string{"text": canary}},
	} {
		id := p.ask("s", c.tool, c.input).ID
		for _, args := range [][]string{{"explain", id}, {"explain", "--json", id}} {
			if out := d.permd(t, args...); strings.Contains(out, "c4n4ryc4n4ry") {
				t.Errorf("%v is shown:\n%s", c, out)
			}
		}
	}
}

// What is kept for explanations is bounded by number, by size and by sets of
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
			k := &deliberations{}
			for i := range 2000 {
				k.keep(kept{fmt.Sprint(i), tt.size, tt.with(i)}, &decisions.Deliberation{})
			}
			if len(k.order) != tt.most || len(k.byID) != tt.most || k.size != tt.most*tt.size || len(k.snapshots) > maxSnapshots {
				t.Errorf("%d kept, %d by id, %d bytes, %d snapshots", len(k.order), len(k.byID), k.size, len(k.snapshots))
			}
			if (k.of("1999") != nil) != (tt.most > 0) || k.of("0") != nil {
				t.Error("the newest is not there, or the oldest still is")
			}
		})
	}
}

// numbered is a set of rules that is not like any other.
type numbered struct {
	decisions.Snapshot
	n int
}

// TestRenderExplanation is how an explanation looks, whole.
func TestRenderExplanation(t *testing.T) {
	x := &explanation{
		Decision: &decisions.Decision{
			ID: "d1", Verdict: decisions.Ask, Reason: "runs a program that may change something", By: decisions.ByPolicy,
			Policy: decisions.PolicyRef{Digest: "0123456789abcdef"}, Message: "use the staging system",
			Defects: []effects.Defect{{Code: "contradiction", At: "title", Text: "the title names another command"}},
			Widths:  []decisions.Width{{ID: "w1", Rule: "run npm run deploy\nconnect a.example:443", Scope: "project"}},
		},
		Call:  explainedCall{Tool: "Bash", Agent: effects.Party{Name: "a", Version: "1"}, Cwd: "/p"},
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
				Near: []policy.Near{
					{Rule: decisions.RuleRef{ID: "user/rules.yaml:2", At: "rules.yaml:2", Layer: "user"}, Set: "allow", Reason: "listed under allow run: npm run lint",
						Failed: []policy.Condition{{Text: "word 2 is deploy, the line says lint"}}},
					{Rule: decisions.RuleRef{ID: "x", At: "a.rego:9", Layer: "org", Title: "T"}, Set: "allow",
						Failed: []policy.Condition{{Text: "input.effect.readonly == true", At: "a.rego:11", Is: "input.effect.readonly is false"}, {Text: "f(x)", At: "a.rego:12", Untried: true}}},
				},
			},
			{
				EffectDecision: decisions.EffectDecision{Kind: "connect", Text: "connect a.example", From: "title", Claimed: true, Verdict: decisions.Allow, Row: decisions.RowAllow, Rules: []decisions.RuleRef{{}}},
				Inherited:      true,
			},
			{EffectDecision: decisions.EffectDecision{Kind: "unknown", Text: "odd", From: "title", Verdict: decisions.Ask, Row: decisions.RowPerson, Reason: "not understood"}},
			{EffectDecision: decisions.EffectDecision{Kind: "run", Text: "run x", From: "title", Verdict: decisions.Allow, Row: decisions.RowRemembered, Reason: "remembered: x", ChoiceID: "c1"}},
		},
		Ways: []way{
			{Label: "exactly this", Rules: true, Lines: []wayLine{{"run", "npm run deploy"}, {"connect", "a.example:443"}, {"run", "x"}}, Cmds: [][]string{{"permd", "remember", "add", "run", "npm run deploy"}}},
			{Label: "more than this", Lines: []wayLine{{"run", "npm run *"}}, Cmds: [][]string{{"permd", "remember", "add", "run", "npm run *"}}},
		},
		Obstacles: []obstacle{{2, "nothing helps"}},
		More:      true,
	}
	const want = `ask: runs a program that may change something
  decision d1, decided by policy, policy 0123456789ab
  Bash of a 1 in /p
  tell the agent: use the staging system
  ! contradiction: the title names another command (title)

? run npm run deploy
    from     rawInput.command
    tags     in_project
    ask      the base layer (row 10)
    by       base ask: May change (base/ask.rego:7, base.x)
    beside   user allow: why not (a.rego:3)
    almost   user allow: listed under allow run: npm run lint (rules.yaml:2)
               but word 2 is deploy, the line says lint
    almost   org allow: T (a.rego:9)
               but not: input.effect.readonly == true (input.effect.readonly is false)
               but not: f(x) (not tried: it builds on what does not hold)
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

As rules alone it stays as it is:
  ? odd
      nothing helps

The call is so large, or the rules are so many, that not all was looked at.
`
	var b bytes.Buffer
	x.render(&b)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x.Known = false
	b.Reset()
	x.render(&b)
	if !strings.HasSuffix(b.String(), "explain the call: permd explain FILE\n") || strings.Contains(b.String(), "To allow") {
		t.Errorf("what is not known reads:\n%s", b.String())
	}
}

// The JSON form comes back as it was.
func TestExplanationJSON(t *testing.T) {
	d := startDaemon(t)
	p := d.asks(t, d.project(t, nil))
	id := p.bash("frob x && ls").ID
	var b, again bytes.Buffer
	if err := cli.PrintJSON(&b, d.explains(t, id)); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&again, []byte(d.permd(t, "explain", "--json", id)), "", ""); err != nil {
		t.Fatal(err)
	}
	var x, y any
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again.Bytes(), &y); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x, y); diff != "" {
		t.Error(diff)
	}
}

// The method refuses what is no decision.
func TestExplainMethod(t *testing.T) {
	d := startDaemon(t)
	c, err := client.Dial(t.Context(), filepath.Join(d.run, "permd-admin", "admin.sock"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for params, code := range map[string]int{
		`{"decisionId":"none"}`: admin.CodeNoDecision, `{"decisionId":7}`: -32602, `{}`: admin.CodeNoDecision, `[]`: -32602,
	} {
		err := c.Call(t.Context(), methodExplain, json.RawMessage(params), nil)
		rpc, ok := errors.AsType[*client.Error](err)
		if !ok || rpc.Code != code {
			t.Errorf("%s: %v, want the code %d", params, err, code)
		}
	}
}
