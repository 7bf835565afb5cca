package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// exactly remembers a command in its narrowest width.
func (p *person) exactly(command string) []decisions.StoredChoice {
	p.t.Helper()
	q := p.bash(command)
	if q.Verdict != decisions.Ask || len(q.Widths) == 0 {
		p.t.Fatalf("%s: %s by %s (%s) with the widths %+v", command, q.Verdict, q.By, q.Reason, q.Widths)
	}
	return p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
}

// TestRememberSecrets: a secret in a remembered call is not stored, and another one
// in its place is not allowed.
func TestRememberSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	p := d.asks(t, project)
	const token, other = "ghp_canaryCANARYcanaryCANARYcanaryCANARY12", "ghp_canaryCANARYcanaryCANARYcanaryCANARY13"
	for _, tt := range []struct{ name, secret, command, other string }{
		// Asked about the host, whatever is sent there.
		{"a token in a header", token, `curl -s -H "Authorization: Bearer ` + token + `" https://api.example.com/v1`, ""},
		{"user information", "canary-password", "git ls-remote https://ada:canary-password@git.example.com/x.git", ""},
		// Asked about the words.
		{"a token as a word", token, "mytool login " + token, "mytool login " + other},
		{"user information in a word", "canary-password", "mytool get --from=ftp://ada:canary-password@example.com/", "mytool get --from=ftp://ada:canary-passwore@example.com/"},
	} {
		p := d.asks(t, project)
		q := p.bash(tt.command)
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(tt.secret)) {
			t.Errorf("%s: the question holds it: %s", tt.name, text)
		}
		if len(q.Widths) == 0 {
			t.Errorf("%s: no widths: %+v", tt.name, q)
			continue
		}
		p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
		p.is(p.bash(tt.command), decisions.Allow, decisions.ByMemory)
		if tt.other == "" {
			continue
		}
		if got := p.bash(tt.other); got.Verdict != decisions.Ask {
			t.Errorf("%s: with another one: %s by %s", tt.name, got.Verdict, got.By)
		}
	}
	for _, args := range [][]string{{"remember", "list"}, {"remember", "export"}, {"log", "list"}, {"remember", "list", "--json"}, {"log", "list", "--json"}} {
		if out := d.permd(t, args...); strings.Contains(out, token) || strings.Contains(out, "canary-password") {
			t.Errorf("permd %v shows it:\n%s", args, out)
		}
	}
	p.Close()
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(d.home, ".local"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(token)) || bytes.Contains(data, []byte("canary-password")) {
			t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := d.output.String(); strings.Contains(out, token) || strings.Contains(out, "canary-password") {
		t.Errorf("the log holds it:\n%s", out)
	}
}

// TestRememberWords: a choice is about what a call does, and not about the agent's
// ids, titles and options.
func TestRememberWords(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, map[string]string{"go.mod": "module canary\n"}))
	type options []map[string]string
	ask := func(call, title, command, always, once string) (*decisions.Decision, string) {
		t.Helper()
		var got struct {
			Outcome struct {
				OptionID string `json:"optionId"`
			} `json:"outcome"`
		}
		err := p.Call(t.Context(), "session/request_permission", map[string]any{
			"sessionId": "s",
			"toolCall": map[string]any{
				"toolCallId": call, "title": title, "kind": "execute", "rawInput": map[string]string{"command": command},
				"_meta": map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
			},
			"options": options{
				{"optionId": always, "name": "Always Allow", "kind": "allow_always"}, {"optionId": once, "name": "Allow", "kind": "allow_once"},
				{"optionId": "n", "name": "Reject", "kind": "reject_once"},
			},
		}, &got)
		var q decisions.Decision
		if e, ok := errors.AsType[*client.Error](err); ok && e.Data != nil {
			if err := json.Unmarshal(e.Data, &q); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		return &q, got.Outcome.OptionID
	}
	q, _ := ask("1", "go build ./a", "go build ./a", "y!", "y")
	if err := p.Call(t.Context(), native.MethodChoose, map[string]string{"decisionId": q.ID, "optionId": "y!"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, picked := ask("2", "go build ./a", "go build ./a", "forever", "once"); picked != "once" {
		t.Errorf("under other names the answer is %q", picked)
	}
	for _, command := range []string{"go build ./b", "go test ./a", "rm x"} {
		if _, picked := ask("1", command, command, "y!", "y"); picked != "" && picked != "n" {
			t.Errorf("%s, under the names of what was allowed: %q", command, picked)
		}
	}
}

// TestRememberForgotten: a revocation applies to every connection and session as soon
// as it is answered.
func TestRememberForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"go.mod": "module canary\n"})
	asking := []*person{d.asks(t, project), d.asks(t, project), d.asks(t, project)}
	asking[1].session("child", project, "s")
	manage := d.dialAdmin(t)
	for range 20 {
		kept := asking[0].exactly("go build ./a")
		for range 3 { // every cache has this answer now
			for _, p := range asking {
				p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
			}
		}
		if err := manage.Call(t.Context(), "permd/choices.forget", map[string]any{"choiceIds": []string{kept[0].ID}}, nil); err != nil {
			t.Fatal(err)
		}
		for _, p := range asking {
			if got := p.bash("go build ./a"); got.Verdict != decisions.Ask {
				t.Fatalf("forgotten: %s by %s", got.Verdict, got.By)
			}
		}
	}
}

// TestRememberParts: each effect of its own that asked gets a choice; a call with a part of
// these effects is allowed, and one with more is not.
func TestRememberParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, map[string]string{"go.mod": "module canary\n"}))
	const whole = "go build ./a && touch out.txt && git status"
	q := p.bash(whole)
	kept := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	asks := 0
	for _, e := range q.Effects {
		if e.Verdict == decisions.Ask && e.Text != "write ./" {
			asks++ // what go build writes by itself is the run's
		}
	}
	if len(kept) != asks || asks < 2 {
		t.Errorf("%d choices for %d asks: %+v", len(kept), asks, kept)
	}
	for _, command := range []string{whole, "touch out.txt", "go build ./a", "touch out.txt; go build ./a"} {
		p.is(p.bash(command), decisions.Allow, decisions.ByMemory)
	}
	for _, command := range []string{whole + " && touch other.txt", whole + " > log", "touch out.txt other.txt", "X=1 " + whole} {
		if got := d.asks(t, filepath.Join(d.home, "project")).bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s: %s by %s", command, got.Verdict, got.By)
		}
	}
}

// TestRememberNothing: no width is offered if one of the asks cannot be remembered.
func TestRememberNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"run.sh": "echo canary\n", "x": ""})
	p := d.asks(t, project)
	for _, command := range []string{
		"bash -ic 'go build ./a'", "python3 -c 'print(1)'", "sudo go build ./a", "X=1 go build ./a", "cat x | sh",
		"go build $(cat x)", "timeout 5 bash run.sh extra", "env -i go build ./a", "xargs go build < x", "go build ./a; export A=b",
		"mystery() { go build ./a; }; mystery",
	} {
		q := p.bash(command)
		if q.Verdict != decisions.Ask || q.Widths != nil {
			t.Errorf("%s: %s with the widths %+v", command, q.Verdict, q.Widths)
		}
	}
	// What a shell runs is remembered, the shell is not.
	for _, w := range d.asks(t, project).bash("bash -c 'go build ./a'").Widths {
		if strings.Contains(w.Rule, "bash") {
			t.Errorf("the shell is offered: %+v", w)
		}
	}
	// Only a script's text is remembered. (Earlier calls may have changed the agent's
	// shell, so its folder is no longer known.)
	p = d.asks(t, project)
	q := p.bash("bash run.sh")
	if len(q.Widths) != 1 {
		t.Fatalf("a script: %s with the widths %+v", q.Verdict, q.Widths)
	}
	p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	p.is(p.bash("bash run.sh"), decisions.Allow, decisions.ByMemory)
	if err := os.WriteFile(filepath.Join(project, "run.sh"), []byte("echo changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.bash("bash run.sh"); got.Verdict != decisions.Ask {
		t.Errorf("a changed script: %s", got.Verdict)
	}
}
