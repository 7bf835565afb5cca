package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestWhole: a shortened id counts only if no other one begins with it.
func TestWhole(t *testing.T) {
	t.Parallel()
	all := []string{"abcdef01", "abcdff02", "0123abcd", "0123abcd", "abcd"}
	for typed, want := range map[string]string{
		"abcde": "abcdef01", "abcdef01": "abcdef01", "0123a": "0123abcd", "abcd": "abcd",
		"ffff": "ffff", "x": "x", "": "!", "0": "!", "012": "!", "abc": "!", "abcdx": "abcdx",
	} {
		got, err := whole(typed, all, "choice")
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%q: %q, %v, want %q", typed, got, err, want)
		}
	}
	_, err := whole("0123", []string{"0123b", "0123a", "0123a"}, "choice")
	if err == nil || !strings.Contains(err.Error(), "short for several choices: 0123a, 0123b") || cli.HintOf(err, "") != "type more of it" {
		t.Errorf("ambiguous: %v", err)
	}
}

// TestShortIDs uses ids of decisions and choices that are shortened.
func TestShortIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	project := d.project(t, nil)
	writeFile(t, filepath.Join(d.home, "calls.jsonl"), `{"tool":{"name":"Bash"},"input":{"command":"git status"}}
{"tool":{"name":"Bash"},"input":{"command":"git log"}}`)
	said := d.permd(t, "decide", "--json", "--cwd", project, "--agent", "claude-agent-acp", filepath.Join(d.home, "calls.jsonl"))
	var ids []string
	for line := range strings.Lines(said) {
		_, rest, _ := strings.Cut(line, `"decisionId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		ids = append(ids, id)
	}
	if len(ids) != 2 {
		t.Fatalf("no two decisions: %s", said)
	}
	const most = 34 // of 36 characters; the last but two are random
	if out := d.permd(t, "log", "show", ids[1][:most]); !strings.Contains(out, "run git log") || !strings.Contains(out, ids[1]) {
		t.Errorf("log show: %s", out)
	}
	if out := d.permd(t, "explain", ids[0][:most]); !strings.Contains(out, "run git status") {
		t.Errorf("explain: %s", out)
	}
	out, err := d.command("log", "show", ids[0][:6]).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "short for several decisions: "+min(ids[0], ids[1])) {
		t.Errorf("ambiguous: %v: %s", err, out)
	}

	// A question can be allowed by what is short for no other decision.
	m := allowedBy.FindStringSubmatch(string(d.hook(t, "cursor", hookInput(hookShell[8].in, project, "whatever -f x")).Stdout))
	if m == nil {
		t.Fatal("no way to allow it is named")
	}
	out, err = d.command("allow", m[1][:6]).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "short for several decisions") {
		t.Errorf("allowing what is also short for decisions of the journal: %v: %s", err, out)
	}
	if out := d.permd(t, "allow", m[1][:most]); !strings.Contains(out, "allowed once") {
		t.Errorf("allowing: %s", out)
	}

	// The journal is read from its file, too.
	d.permd(t, "remember", "add", "run", "go vet *", "--dir", project)
	d.permd(t, "remember", "add", "run", "go test *", "--dir", project)
	list := strings.Fields(d.permd(t, "remember", "list"))
	if out := d.permd(t, "remember", "forget", list[0][:6]); !strings.Contains(out, "forgotten: ") {
		t.Errorf("forgetting: %s", out)
	}
	out, err = d.command("remember", "forget", list[0]).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no choice of that id") {
		t.Errorf("forgetting it again: %v: %s", err, out)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if out := d.permd(t, "log", "show", ids[0][:most]); !strings.Contains(out, "run git status") {
		t.Errorf("log show without a daemon: %s", out)
	}
}
