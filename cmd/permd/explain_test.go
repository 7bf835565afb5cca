package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// explains asks the daemon for the explanation of a decision.
func (d *testDaemon) explains(t *testing.T, id string) *explain.Explanation {
	t.Helper()
	c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x, err := explain.Fetch(t.Context(), c, id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSuggestionsWork tries each suggestion of explanations, lines in rules.yaml and
// commands: each must allow the call.
func TestSuggestionsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what every explanation says would allow its call")
	}
	t.Parallel()
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
		d.reload(t)
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
		if len(x.Suggestions) == 0 && len(x.Obstacles) == 0 {
			t.Errorf("%s: neither a way nor what is in the way", command)
		}
		for _, w := range x.Suggestions {
			if w.Rules {
				asRules++
				write(strings.ReplaceAll(w.YAML(), "    allow:", "allow:") + own)
				if got := p.bash(command); got.Verdict != decisions.Allow {
					t.Errorf("%s: with the rules\n%s it is %s: %s", command, w.YAML(), got.Verdict, got.Reason)
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
	if testing.Short() {
		t.Skip("long: it explains many calls; TestExplainMethod is the quick one")
	}
	t.Parallel()
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

// The JSON form decodes to the same explanation.
func TestExplanationJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it explains many calls; TestExplainMethod is the quick one")
	}
	t.Parallel()
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
	t.Parallel()
	d := startDaemon(t)
	c, err := client.Dial(t.Context(), d.adminSocket(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for params, code := range map[string]int{
		`{"decisionId":"none"}`: admin.CodeNoDecision, `{"decisionId":7}`: -32602, `{}`: admin.CodeNoDecision, `[]`: -32602,
	} {
		err := c.Call(t.Context(), explain.Method, json.RawMessage(params), nil)
		rpc, ok := errors.AsType[*client.Error](err)
		if !ok || rpc.Code != code {
			t.Errorf("%s: %v, want the code %d", params, err, code)
		}
	}
}
