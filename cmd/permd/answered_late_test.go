package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/client"
)

// late is a way for a person's approval to reach permd: it asks about a call that
// runs run.sh, and returns a function that sends the approval and reports whether
// the call may run.
type late struct {
	t       *testing.T
	d       *testDaemon
	c       *client.Client
	project string
}

// session declares the session, in a folder and a mode.
func (l *late) session(cwd, mode string) {
	l.t.Helper()
	if _, err := l.say("permd/session", `{"sessionId":"s1","cwd":%q,"mode":%q,"agent":{"name":"claude-agent-acp"},"client":{"name":"claude-code"}}`, cwd, mode); err != nil {
		l.t.Fatal(err)
	}
}

func (l *late) say(method, params string, args ...any) (string, error) {
	l.t.Helper()
	var result json.RawMessage
	err := l.c.Call(l.t.Context(), method, json.RawMessage(fmt.Sprintf(params, args...)), &result)
	return string(result), err
}

// question is the id of the decision in an answer that leaves a call to the person.
func (l *late) question(result string, err error) string {
	l.t.Helper()
	if e, ok := errors.AsType[*client.Error](err); ok {
		result = string(e.Data)
	}
	_, id, ok := strings.Cut(result, `"decisionId":"`)
	if !ok || !strings.Contains(result, `"verdict":"ask"`) {
		l.t.Fatalf("no question: %s, %v", result, err)
	}
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// chosen sends the approval with permd/choose.
func (l *late) chosen(members, method, params string, args ...any) func() bool {
	l.t.Helper()
	id := l.question(l.say(method, params, args...))
	return func() bool {
		_, err := l.say("permd/choose", `{"decisionId":%q,%s}`, id, members)
		return err == nil
	}
}

const (
	lateCall    = `{"callId":"c","tool":{"name":"Bash"},"input":{"command":"sh run.sh data"}}`
	latePermit  = `{"sessionId":"s1","toolCall":{"toolCallId":"c","name":"Bash","title":"sh run.sh data","kind":"execute","rawInput":{"command":"sh run.sh data"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}`
	lateInvoke  = `{"sessionId":"s1","operation":"move_bin","arguments":{"from":"A","to":"B"},"id":"i","group_id":"root","thread_ancestors":[],"toolset":{"name":"warehouse","endpoint":"http://127.0.0.1:7410/invoke"}}`
	lateOTC     = `{"sessionId":"s1","endpoint":"http://127.0.0.1:7420","tool_id":"Ledger.Post@2.0.0","call_id":"c","input":{}}`
	lateStopped = `{"sessionId":"s1","agent":{"name":"helper"},"tools":[{"name":"Bash"}],"turn":{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"type":"tool_use","toolCallId":"c","name":"Bash","input":{"command":"sh run.sh data"}}]}]}}`
)

// What else is known of a form.
const (
	lateFile  = 1 << iota // permd knows the files that the call depends on
	lateMoved             // the session that was declared may change
)

// lateForms are all ways for a person's approval to reach permd.
var lateForms = []struct {
	name string
	can  int
	ask  func(l *late) func() bool
}{
	{"permd/decide", lateFile | lateMoved, func(l *late) func() bool {
		return l.chosen(`"verdict":"allow"`, "permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall)
	}},
	{"permd/decide, remembered", lateFile | lateMoved, func(l *late) func() bool {
		got, err := l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall)
		id := l.question(got, err)
		_, width, _ := strings.Cut(got, `"widths":[{"id":"`)
		width, _, _ = strings.Cut(width, `"`)
		return func() bool {
			_, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow","width":%q}`, id, width)
			return err == nil
		}
	}},
	{"session/request_permission", lateFile | lateMoved, func(l *late) func() bool {
		return l.chosen(`"optionId":"yes"`, "session/request_permission", latePermit)
	}},
	{"session/request_permission, always", lateFile | lateMoved, func(l *late) func() bool {
		return l.chosen(`"optionId":"always"`, "session/request_permission", latePermit)
	}},
	{"permd/gate", lateFile | lateMoved, func(l *late) func() bool {
		return l.chosen(`"verdict":"allow"`, "permd/gate", `{"sessionId":"s1","ask":true,"method":"terminal/create","params":{"command":"sh","args":["run.sh","data"],"cwd":%q}}`, l.project)
	}},
	{"rap/choice", lateMoved, func(l *late) func() bool {
		id := l.question(l.say("rap/invoke", lateInvoke))
		return func() bool {
			got, err := l.say("rap/choice", `{"decisionId":%q,"selected":0}`, id)
			return err == nil && strings.Contains(got, `"run"`)
		}
	}},
	{"rap, permd/choose", lateMoved, func(l *late) func() bool {
		return l.chosen(`"verdict":"allow"`, "rap/invoke", lateInvoke)
	}},
	{"otc", lateMoved, func(l *late) func() bool { return l.chosen(`"verdict":"allow"`, "otc/call", lateOTC) }},
	{"aap/answer", lateFile, func(l *late) func() bool {
		got, err := l.say("aap/permissions", lateStopped)
		l.question(got, err)
		_, id, _ := strings.Cut(got, `"batchId":"`)
		id, _, _ = strings.Cut(id, `"`)
		return func() bool {
			got, err := l.say("aap/answer", `{"sessionId":"s1","batchId":%q,"answers":[{"toolCallId":"c","verdict":"allow"}]}`, id)
			return err == nil && strings.Contains(got, `"outcome":"execute"`)
		}
	}},
	{"permd/wait, of aap/permissions", lateFile, func(l *late) func() bool {
		got, err := l.say("aap/permissions", lateStopped)
		_, id, _ := strings.Cut(got, `"batchId":"`)
		id, _, _ = strings.Cut(id, `"`)
		question := l.question(got, err)
		waits := l.waits(question)
		return func() bool {
			out, err := l.d.command("allow", question).CombinedOutput()
			a := <-waits
			if yes := a.err == nil && a.Answer == "allow"; yes != (err == nil) {
				l.t.Errorf("permd allow says %v %s; the client hears %+v", err, out, a)
			}
			got, said := l.say("aap/answer", `{"sessionId":"s1","batchId":%q}`, id)
			return err == nil && said == nil && strings.Contains(got, `"outcome":"execute"`)
		}
	}},
	{"permd acp", lateFile, func(l *late) func() bool {
		m := l.d.mirror(l.t, l.project, "claude-agent-acp", 1)
		m.shows(mirrorAsks(1, "sh run.sh data"))
		return func() bool {
			m.say(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`)
			// It is the agent's answer, or the person is asked again.
			return strings.Contains(m.hear(), `"optionId":"yes"}}`)
		}
	}},
	{"permd/wait, of permd/decide", lateFile | lateMoved, func(l *late) func() bool {
		return l.waited("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall)
	}},
	{"permd/wait, of session/request_permission", lateFile | lateMoved, func(l *late) func() bool {
		return l.waited("session/request_permission", latePermit)
	}},
	{"permd/wait, of permd/gate", lateFile | lateMoved, func(l *late) func() bool {
		return l.waited("permd/gate", `{"sessionId":"s1","ask":true,"method":"terminal/create","params":{"command":"sh","args":["run.sh","data"],"cwd":%q}}`, l.project)
	}},
	{"permd/wait, of rap/invoke", lateMoved, func(l *late) func() bool { return l.waited("rap/invoke", lateInvoke) }},
	{"permd/wait, of otc/call", lateMoved, func(l *late) func() bool { return l.waited("otc/call", lateOTC) }},
	{"permd hook", lateFile, func(l *late) func() bool {
		asks := func() string {
			return string(l.d.hook(l.t, "cursor", hookInput(hookShell[8].in, l.project, "sh run.sh data")).Stdout)
		}
		m := allowedBy.FindStringSubmatch(asks())
		if m == nil {
			l.t.Fatal("no way to allow it is named")
		}
		return func() bool {
			_ = l.d.command("allow", m[1]).Run() // it may be refused
			return strings.Contains(asks(), `"allow"`)
		}
	}},
}

// TestLateYes: in whatever way a person's approval arrives, it is for what they
// were asked. It does not count if the script that the call runs, a file that it
// reads, a link to these, or the folder or mode of the session has changed, or if a
// rule denies the call by then.
func TestLateYes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it changes rules and files before a yes at every gate; TestGates is the quick one")
	}
	t.Parallel()
	changes := []struct {
		name string
		of   int // which forms it is for, 0 for all
		yes  bool
		do   func(l *late)
	}{
		{"nothing", 0, true, func(*late) {}},
		{"the same session once more", lateMoved, true, func(l *late) { l.session(l.project, "default") }},
		{"a file beside it", lateFile, true, func(l *late) { l.write("other.sh", "echo 2\n") }},
		{"the script", lateFile, false, func(l *late) { l.write("run.sh", "echo 2\n") }},
		{"what it is given", lateFile, false, func(l *late) { l.write("data", "2\n") }},
		{"where the script leads", lateFile, false, func(l *late) {
			l.write("other.sh", "echo 1\n")
			if err := errors.Join(os.Remove(filepath.Join(l.project, "run.sh")), os.Symlink("other.sh", filepath.Join(l.project, "run.sh"))); err != nil {
				l.t.Fatal(err)
			}
		}},
		{"the session's folder", lateMoved, false, func(l *late) { l.session(projectOf(l.t), "default") }},
		{"the session's mode", lateMoved, false, func(l *late) { l.session(l.project, "plan") }},
		{"the rules", 0, false, func(l *late) {
			l.d.policy(l.t, "late.rego", `deny contains "by now" if { input.effect.kind in {"run", "use"} }`)
			l.d.reload(l.t)
		}},
		{"the rules about other calls", 0, true, func(l *late) {
			l.d.policy(l.t, "late.rego", `deny contains "never" if { input.effect.host == "never.example" }`)
			l.d.reload(l.t)
		}},
		{"why the rules ask", 0, false, func(l *late) {
			l.d.policy(l.t, "late.rego", `ask contains "by now" if { input.effect.kind in {"run", "use"} }`)
			l.d.reload(l.t)
		}},
	}
	d := startDaemon(t)
	type pair struct{ form, change int }
	var pairs []pair
	for i, f := range lateForms {
		for k, c := range changes {
			if c.of == 0 || c.of&f.can != 0 {
				pairs = append(pairs, pair{i, k})
			}
		}
	}
	for _, p := range testload.SampleOf(t, len(pairs)/12, pairs, func(p pair) string { return lateForms[p.form].name }) {
		f, c := lateForms[p.form], changes[p.change]
		t.Run(f.name+", "+c.name, func(t *testing.T) {
			l := &late{t, d, d.dial(t), projectOf(t)}
			l.write("run.sh", "echo 1\n")
			l.write("data", "1\n")
			l.session(l.project, "default")
			yes := f.ask(l)
			c.do(l)
			want := c.yes
			if strings.HasPrefix(c.name, "the rules") && strings.HasSuffix(f.name, "permd/gate") {
				want = false // the strictest of several sessions asked
			}
			if got := yes(); got != want {
				t.Errorf("it may run: %v, want %v", got, want)
			}
		})
		if strings.Contains(c.name, "the rules") {
			d.policy(t, "late.rego", "")
			d.reload(t)
		}
	}
}

// projectOf is a new project.
func projectOf(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, ".git"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (l *late) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.project, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}
