package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// gate is a request of the agent for a terminal.
func gate(id int, command string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"terminal/create","params":{"sessionId":"s","command":%q,"env":[{"name":"LD_PRELOAD","value":"/tmp/x.so"}]}}`, id, command)
}

// gateStart begins a conversation, with rules that deny and ask.
func gateStart(t *testing.T, settings string) (*testDaemon, *mirrored) {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "deny: {run: [\"frob *\"]}\nask: {run: [\"quux *\"]}\n")
	if settings != "" {
		writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), settings)
	}
	d.start(t)
	return d, d.mirror(t, d.project(t, nil), "claude-agent-acp", 1)
}

// question sends a line that is replaced by a question to the person, and returns the
// question's id.
func (m *mirrored) question(line string) string {
	m.t.Helper()
	got := m.shows(line)
	_, id, _ := strings.Cut(got, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if !strings.HasPrefix(id, "permd-") {
		m.t.Fatalf("no question of permd's: %s", got)
	}
	return id
}

func (m *mirrored) replies(id, option string) string {
	m.t.Helper()
	m.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, id, option))
	return m.hear()
}

// outcomes returns the outcomes of the records that match a filter, the oldest first.
func (d *testDaemon) outcomes(t *testing.T, filter decisions.RecordFilter) (list []string) {
	t.Helper()
	for _, r := range d.recordsThat(t, filter) {
		list = append(list, strings.TrimSpace(string(r.Decision.Verdict)+" "+string(r.Decision.Outcome)))
	}
	return list
}

// TestGates checks the results of gates with a real daemon, and their records in
// the journal.
func TestGates(t *testing.T) {
	t.Parallel()
	d, m := gateStart(t, "")
	m.passes(gate(1, "make"))
	if got := m.shutAt(gate(2, "frob a")); !strings.Contains(got, "permd denies this") {
		t.Error(got)
	}
	if got := m.replies(m.question(gate(3, "quux a")), "permd-once"); got != gate(3, "quux a") {
		t.Error(got)
	}
	if got := m.replies(m.question(gate(4, "quux a")), "permd-reject"); !strings.Contains(got, "declined") {
		t.Error(got)
	}
	// The agent asks, and does just that.
	plain := `{"jsonrpc":"2.0","id":6,"method":"terminal/create","params":{"sessionId":"s","command":"quux b"}}`
	m.shows(mirrorAsks(5, "quux b"))
	m.picks(5, "yes")
	m.passes(plain)
	m.question(strings.Replace(plain, `"id":6`, `"id":7`, 1)) // a second time
	m.passes(`{"jsonrpc":"2.0","id":8,"method":"session/set_mode","params":{"sessionId":"s","modeId":"yolo"}}`)
	got := strings.Join(d.outcomes(t, decisions.RecordFilter{}), "; ")
	if want := "ask passed; deny; ask; ask; ask; ask approved; ask; ask passed"; got != want {
		t.Errorf("the journal has %s, want %s", got, want)
	}
	recs := d.recordsThat(t, decisions.RecordFilter{Tool: "terminal/create"})
	if r := recs[0]; len(recs) != 6 || r.Agent.Name != "claude-agent-acp" || r.Decision.Effects[0].Text != "LD_PRELOAD='/tmp/x.so'" {
		t.Errorf("%d records, the first is %+v", len(recs), r)
	}
	for i, want := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		if a := recs[i+2].Answer; a == nil || a.Verdict != want {
			t.Errorf("answer %d in the journal is %+v", i, a)
		}
	}
	if out := d.permd(t, "log", "show", recs[0].Decision.ID); !strings.Contains(out, "outcome passed: no rule denies it") {
		t.Error(out)
	}
	if out := d.permd(t, "log", "list", "--json", "--tool", "terminal/create"); strings.Count(out, "\n") != len(recs) {
		t.Errorf("%d records are listed as:\n%s", len(recs), out)
	}
	if out := d.permd(t, "log", "list"); !strings.Contains(out, "ask, passed") || !strings.Contains(out, "ask, approved") {
		t.Error(out)
	}
}

// shutAt has the agent ask for something that it gets an error for.
func (m *mirrored) shutAt(line string) string {
	m.t.Helper()
	m.say(line)
	got := m.hear()
	if !strings.Contains(got, `"error"`) {
		m.t.Fatalf("%s was answered %s", line, got)
	}
	return got
}

// TestUnpromptedRecords: calls that ran without a question are in the journal, the
// status and the doctor's findings.
func TestUnpromptedRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the doctor; TestGates is the quick one")
	}
	t.Parallel()
	d, m := gateStart(t, "")
	call := func(id, command, status string) {
		m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":%q,"name":"Bash","title":%q,"kind":"execute","rawInput":{"command":%q},"status":"pending"}}}`, id, command, command))
		m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":%q,"status":%q}}}`, id, status))
	}
	call("a", "git status", "completed")
	call("b", "frob a", "completed")
	call("c", "quux a", "failed")
	m.say(mirrorAsks(1, "frob b"))
	if got := m.told(); got != "no" {
		t.Errorf("the agent got %q", got)
	}
	m.passes(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"frob b","rawInput":{"command":"frob b"},"status":"completed"}}}`)
	want := "allow unasked; ask unasked; deny despite; deny unasked"
	got := ""
	eventually.Holds(t, "the journal has "+want, func() bool {
		list := d.outcomes(t, decisions.RecordFilter{Unapproved: true})
		slices.Sort(list) // they are recorded side by side
		got = strings.Join(list, "; ")
		return got == want
	}, func() string { return got })
	if got := d.permd(t, "log", "list", "--json", "--unasked", "--verdict", "allow"); strings.Count(got, "\n") != 1 {
		t.Errorf("filtered: %q", got)
	}
	s := d.status(t)
	if want := (daemon.AgentRuns{Agent: "claude-agent-acp", Allow: 1, Ask: 1, Deny: 1, Despite: 1}); len(s.Unasked) != 1 || s.Unasked[0] != want {
		t.Errorf("the status has %+v", s.Unasked)
	}
	if out := d.permd(t, "status"); !strings.Contains(out, "claude-agent-acp: 3 calls that the agent did not ask for: 1 would have been denied, 1 asked, 1 allowed; 1 call done although denied") {
		t.Error(out)
	}
	out, _ := d.command("doctor").CombinedOutput() // a warning may be among others
	if !strings.Contains(string(out), "3 calls that the agent did not ask for") {
		t.Errorf("%s", out)
	}
	m.waitSays("run what your rules deny: run frob a")
}

// TestGateSettings: with the setting ask_gates, every gate that is not allowed asks.
func TestGateSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it needs a daemon of other settings; TestGates is the quick one")
	}
	t.Parallel()
	d, m := gateStart(t, "ask_gates = true\n")
	m.question(gate(1, "make"))
	m.passes(`{"jsonrpc":"2.0","id":2,"method":"terminal/create","params":{"sessionId":"s","command":"git status"}}`)
	m.passes(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s","path":%q}}`, filepath.Join(d.home, "project", "a")))
	writeFile(t, filepath.Join(d.home, ".config", "permd", "permd.toml"), "")
	d.reload(t)
	m.passes(gate(4, "make"))
}

// TestGateFailures: a failure never lets a denied gate pass, and the person is
// asked if permd is running and cannot decide.
func TestGateFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it breaks one thing after the other; TestGates is the quick one")
	}
	t.Parallel()
	rows := []struct {
		name string
		test func(t *testing.T, d *testDaemon, m *mirrored)
	}{
		{"rules fail", func(t *testing.T, d *testDaemon, m *mirrored) {
			d.policy(t, "broken.rego", brokenPolicies[0].rego)
			d.reload(t)
			m.question(gate(1, "frob a")) // the deny is in the layer that broke
			m.question(`{"jsonrpc":"2.0","id":2,"method":"terminal/create","params":{"sessionId":"s","command":"git status"}}`)
		}},
		{"decision cannot be logged", func(t *testing.T, d *testDaemon, m *mirrored) {
			m.passes(gate(1, "make"))
			lift := limitFiles(t, d.cmd.Process.Pid, 4096)
			m.shutAt(gate(2, "frob a"))
			m.question(gate(3, "make"))
			lift()
			m.passes(gate(4, "make"))
		}},
		{"two ways to read it", func(t *testing.T, _ *testDaemon, m *mirrored) {
			m.shutAt(`{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s","command":"git status","Command":"frob a"}}`)
			m.question(`{"jsonrpc":"2.0","id":2,"method":"terminal/create","params":{"sessionId":"s","command":"make","env":[{"name":"A","Name":"B","value":"c"}]}}`)
		}},
		{"a line that only a tolerant client takes for a message", func(t *testing.T, _ *testDaemon, m *mirrored) {
			for _, line := range []string{"/*x*/" + gate(1, "frob a"), "\ufeff" + gate(2, "frob a"), "ready " + gate(3, "frob a"), "x {method: 'terminal/create'}"} {
				m.say(line)
			}
			m.waitSays("some readers may find one in it")
			// permd tells the agent four times; what the command printed is nowhere.
			for range 4 {
				if got := m.hear(); !strings.Contains(got, `"id":null`) || strings.Contains(got, "frob") {
					t.Error(got)
				}
			}
			m.passes("ready")
		}},
		{"the rules deny it while the person looks", func(t *testing.T, d *testDaemon, m *mirrored) {
			id := m.question(gate(1, "quux a"))
			d.policy(t, "late.rego", `deny contains "frozen" if input.effect.program == "quux"`)
			d.reload(t)
			if got := m.replies(id, "permd-once"); !strings.Contains(got, "frozen") {
				t.Error(got)
			}
		}},
		{"the daemon is another one when the person answers", func(t *testing.T, d *testDaemon, m *mirrored) {
			id := m.question(gate(1, "quux a"))
			d.policy(t, "late.rego", `deny contains "frozen" if input.effect.program == "quux"`)
			d.kill()
			d.start(t)
			m.waitSays("permd is there again")
			if got := m.replies(id, "permd-once"); !strings.Contains(got, "frozen") {
				t.Error(got)
			}
		}},
		{"no daemon", func(t *testing.T, d *testDaemon, m *mirrored) {
			d.kill()
			m.passes(gate(1, "make")) // as without permd; --require and --ask-gates change that
			d.start(t)
			m.waitSays("permd is there again")
			m.shutAt(gate(2, "frob a"))
		}},
		{"a call that was announced to another daemon", func(t *testing.T, d *testDaemon, m *mirrored) {
			announce := func(id string) {
				m.passes(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"` + id + `","name":"mcp__x__y","title":"y"}}}`)
			}
			ask := func(n int, id string) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":%q,"kind":"execute","title":"git status","name":"Bash","rawInput":{"command":"git status"}},%s}}`, n, id, mirrorOptions)
			}
			announce("old")
			d.kill()
			d.start(t)
			m.waitSays("permd is there again")
			m.shows(ask(1, "old")) // what was said about it is not known
			// The agent never announced this one.
			m.say(ask(2, "new"))
			if got := m.told(); got != "yes" {
				t.Errorf("the agent got %q", got)
			}
		}},
	}
	for _, row := range testload.Sample(t, (len(rows)+1)/2, rows) {
		t.Run(row.name, func(t *testing.T) {
			d, m := gateStart(t, "")
			row.test(t, d, m)
		})
	}
}
