package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
)

// folderCall is a call that names no folder, with a path that means something only in
// one.
var folderCall = oneCall{tool: "Bash", input: `{"command":"cat main.go"}`}

// TestSessionFolder: over every protocol and hook, a call that names no folder is decided
// in that of its session, whose paths are then the project's.
func TestSessionFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it says the same over each protocol; TestRemember is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.listensHTTP(t, "unix")
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	d.start(t)
	s := &speaker{wire: d.session(t, project), http: d.http(t), dir: project}
	s.say(t, "permd/session", map[string]any{"sessionId": "aap", "cwd": project, "client": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}})
	newest := func() decisions.Record {
		list := d.records(t)
		if len(list) == 0 {
			t.Fatal("nothing was decided")
		}
		return list[len(list)-1]
	}
	seen := map[string]bool{}
	check := func(name string) {
		r := newest()
		if seen[r.Decision.ID] || r.Cwd != project {
			t.Errorf("%s: decided in %q", name, r.Cwd)
		}
		seen[r.Decision.ID] = true
	}
	// The tools of RAP and OTC are those of servers, which may do anything.
	asks := map[string]bool{"RAP": true, "OTC": true}
	for name, ask := range protocols {
		got := ask(s, t, folderCall)
		if want := map[bool]string{true: "ask", false: "allow"}[asks[name]]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		check(name)
	}
	for _, h := range testload.WithShort(t, 4, hookShell) {
		d.hook(t, h.harness, hookInput(h.in, project, "cat main.go"))
		if r := newest(); r.Decision.Verdict != decisions.Allow && !strings.Contains(h.name, "plan") {
			t.Errorf("%s: %s: %s", h.name, r.Decision.Verdict, r.Decision.Reason)
		}
		check(h.name)
	}
	m := d.mirror(t, project, "claude-agent-acp", 1)
	m.say(mirrorAsks(1, "cat main.go"))
	if got := m.hear(); strings.Contains(got, `"method"`) {
		t.Errorf("permd acp asks the person: %s", got)
	}
	check("permd acp")
}
