package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
)

// TestFailures has the failures between a client and its answer: each row really
// breaks one part, and the answer must not be allow. As a control, the same request
// is allowed while nothing is broken.
func TestFailures(t *testing.T) {
	failures(t, []failure{
		{"message cannot be read in one way", unreadableMessages},
		{"call not understood", callsNotUnderstood},
		{"only claims name what is denied", deniedClaims},
		{"call changes its tool", changedTools},
		{"a turn cannot be read, or is not what it seems", brokenTurns},
		{"tools declared wrongly", wrongDeclarations},
		{"profiles of agents broken, or gone", brokenProfiles},
		{"policy fails", policyFailures},
		{"organisation denies on failure", policyFailuresDenied},
		{"policy cannot be read", unreadablePolicies},
		{"decision cannot be logged, disk full", journalFull},
		{"decision cannot be logged, spool taken away", journalGone},
		{"journal's database locked", journalLocked},
		{"journal damaged", journalDamaged},
		{"memory damaged", memoryDamaged},
		{"author of an answer forged, or gone before it is recorded", authorForged},
		{"choice changed, memory locked", changeLocked},
		{"client of changes that never reads", changesUnread},
		{"rules break, hang or end with their client while open questions are decided again", reconsiderFails},
		{"rules change all the time while many clients wait", reconsiderStorm},
		{"change of a choice taken back, memory locked", undoLocked},
		{"change of a choice taken back, daemon killed", undoKilled},
		{"memory's log damaged", memoryLogDamaged},
		{"what a choice is bound to is not what it was", boundChanged},
		{"memory cannot be stored, disk full", memoryFull},
		{"choices that do not fit", wrongChoices},
		{"descriptors used up", descriptorsUsedUp},
		{"daemons race for one socket", daemonsRace},
		{"too many connections", tooManyConnections},
		{"slow reader", slowReader},
		{"memory used up", memoryUsedUp},
		{"hogs beside others", hogsBesideOthers},
		{"shutting down", shuttingDown},
		{"daemon not reachable", notReachable},
		{"hook without a daemon", hooksUnreachable},
		{"hook with a daemon that is silent", hooksSilent},
		{"hook with a daemon that breaks off", hooksBrokenOff},
		{"hook with a daemon that answers nonsense", hooksNonsense},
		{"hook with a daemon of another protocol", hooksOtherVersion},
		{"proxy with a daemon of another protocol", proxyOtherVersion},
		{"permd decide with a daemon of another protocol", decideOtherVersion},
		{"hook whose harness does not end its input", hooksOpenInput},
		{"hook after a tool without a daemon", hooksAfter},
		{"hook that waits with a daemon that hangs", hooksWaitSilent},
		{"hook that waits with a daemon that answers nonsense", hooksWaitNonsense},
	}, "call not understood", "daemon not reachable")
}

// failure is something that is broken for real.
type failure struct {
	name string
	test func(t *testing.T)
}

// failures runs a quarter of the rows of a table at the same time as other tests, all of them if
// samples are whole, and with -short only the quick ones.
func failures(t *testing.T, rows []failure, quick ...string) {
	t.Helper()
	t.Parallel()
	if !testing.Short() {
		n := len(rows)
		if !testload.Race { // of which this would be a quarter of a quarter
			n = (n + 3) / 4
		}
		rows = testload.Sample(t, n, rows)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(quick, row.name) {
				t.Skip("long: a whole table of failures")
			}
			t.Parallel()
			row.test(t)
		})
	}
}

// longRows returns rows that take seconds of processors where samples are whole, else none.
func longRows(t *testing.T, rows ...failure) []failure {
	t.Helper()
	return rows[:len(rows)*testload.Rounds(t, "", 0, 1)]
}

// probe is a call that is allowed unless something fails.
const probe = "git status"

// wantAllowed is the control: both forms of the probe are allowed.
func wantAllowed(t *testing.T, w *wire) {
	t.Helper()
	for form, line := range map[string]string{"permd/decide": decideLine(probe), "ACP": acpLine(probe)} {
		if got := w.ask(t, line); got.Verdict != "allow" || form == "ACP" && got.Picked != "allow-once" {
			t.Fatalf("control, %s: the answer is %+v, want allow", form, got)
		}
	}
}

// wantProbe wants the same verdict, decider and reason for both forms.
func wantProbe(t *testing.T, w *wire, verdict, by, reason string) {
	t.Helper()
	for form, line := range map[string]string{"permd/decide": decideLine(probe), "ACP": acpLine(probe)} {
		wantAnswer(t, form, w.ask(t, line), verdict, by, reason)
	}
}

func wantAnswer(t *testing.T, name string, got answer, verdict, by, reason string) {
	t.Helper()
	if got.allowed() {
		t.Errorf("%s: allowed: %+v", name, got)
	}
	if got.Verdict != verdict || by != "" && got.By != by || !strings.Contains(got.Reason, reason) {
		t.Errorf("%s: the answer is %+v, want %s by %q with %q in the reason", name, got, verdict, by, reason)
	}
}

// unreadableMessages: a JSON-RPC error, no decision, and the connection stays.
func unreadableMessages(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	good := decideLine(probe)
	// The fault is outside the call that would be allowed.
	swap := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not part of %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := []struct {
		name, line string
		code       int
	}{
		{"half a message", good[:len(good)/2], -32700},
		{"trailing data", good + " {}", -32700},
		{"two messages on a line", good + good, -32700},
		{"duplicate member", swap(`"method":`, `"method":"permd/close","method":`), -32700},
		{"duplicate member in the input", swap(`"command":`, `"command":"rm -rf /","command":`), -32700},
		{"duplicate by an escape", swap(`"command":`, `"c\u006fmmand":"rm -rf /","command":`), -32700},
		{"member in another case", swap(`"method":`, `"Method":"x","method":`), -32600},
		{"member of the params in another case", swap(`"calls":`, `"Calls":[],"calls":`), -32602},
		{"member of a call in another case", swap(`"input":`, `"Input":{},"input":`), -32602},
		{"invalid UTF-8", swap(probe, "git \xff status"), -32700},
		{"lone surrogate", swap(probe, `git \ud800 status`), -32700},
		{"too deep", swap(`{"command":"`+probe+`"}`, deep), -32700},
		{"too long", swap(probe, "git status "+strings.Repeat("x", 5<<20)), -32600},
		{"batch", "[" + good + "]", -32600},
		{"not an object", `"permd/decide"`, -32600},
		{"no version", swap(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`), -32600},
		{"id that is an object", swap(`"id":1`, `"id":{}`), -32600},
		{"unknown method", swap("permd/decide", "permd/allow"), -32601},
		{"params of a wrong type", swap(`"calls":[`, `"calls":7,"x":[`), -32602},
		{"session of nobody", swap(`"s1"`, `"s2"`), -32602},
		{"NUL in a name", swap(`"callId":`, "\"call\x00Id\":"), -32700},
	}
	for _, tt := range tests {
		w := d.session(t, project)
		wantAllowed(t, w)
		got := w.ask(t, tt.line)
		if got.Code != tt.code || got.allowed() || got.Verdict != "" {
			t.Errorf("%s: the answer is %+v, want error %d", tt.name, got, tt.code)
		}
		if got := w.ask(t, good); got.Verdict != "allow" {
			t.Errorf("%s: then the answer to a good message is %+v, want allow", tt.name, got)
		}
		w.Close()
	}
	if got := d.output.String(); strings.Contains(got, "rm -rf") {
		t.Errorf("the log repeats what a message held:\n%s", got)
	}

	// An incomplete message gets no answer, and does not affect others.
	half := d.wire(t)
	if _, err := half.Write([]byte(good[:40])); err != nil {
		t.Fatal(err)
	}
	half.Close()

	// The unreadable message may have been an update of the call that is asked
	// about next.
	w := d.session(t, project)
	wantAllowed(t, w)
	w.ask(t, good[:len(good)/2])
	wantAnswer(t, "after a message that was lost", w.ask(t, acpLine(probe)), "ask", "", "could not be read")
}

// callsNotUnderstood: these calls ask, and the reason names what is missing.
func callsNotUnderstood(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	tests := []struct {
		name, line string
		reason     string
	}{
		{"announced nowhere", request("session/request_permission", map[string]any{
			"sessionId": "s1", "toolCall": map[string]any{"toolCallId": "nobody-knows"}, "options": acpOptions,
		}), "neither the tool nor its input was sent"},
		{"title only", request("session/request_permission", map[string]any{
			"sessionId": "s1", "toolCall": map[string]any{"toolCallId": "t2", "title": probe, "kind": "execute"}, "options": acpOptions,
		}), "the tool's input was not sent"},
		{"unknown tool", toolLine("FrobnicateTheThing", map[string]any{"command": probe}), "a tool that permd cannot look into"},
		{"input that is no object", toolLine("Bash", probe), "not an object"},
		{"no command", toolLine("Bash", map[string]any{}), "lacks what the tool works on"},
		{"command of a wrong type", toolLine("Bash", map[string]any{"command": 7}), "neither text nor a list of words"},
		{"two commands", toolLine("Bash", map[string]any{"command": probe, "Command": "curl x.dev"}), "only by case"},
		{"shell text with an error", decideLine("git status ) ("), "cannot be parsed"},
		{"quote that is not closed", decideLine("git status 'x"), "cannot be parsed"},
		{"a megabyte of parentheses", decideLine(strings.Repeat("(", 1<<20)), "longer than 32 KiB"},
		{"NUL", decideLine("git status\x00"), "hidden, control"},
		{"carriage return", decideLine("git status\rcurl x.dev"), "carriage return"},
		{"right-to-left override", decideLine("git status \u202egnp.x"), "hidden, control"},
		{"zero-width space", decideLine("git sta\u200btus"), "hidden, control"},
		{"inline code", decideLine(`python3 -c 'print(1)'`), "code given inline"},
		{"program that nobody knows", decideLine("frobnicate --all"), "does not know"},
		{"option that nobody knows", decideLine("git status --frobnicate"), "--frobnicate"},
		{"eval", decideLine("eval git status"), "code given inline"},
		{"variable as program", decideLine("$X status"), "not known before it runs"},
	}
	for _, tt := range tests {
		// What eval does to the agent's shell makes later calls ask as well.
		w := d.session(t, project)
		wantAllowed(t, w)
		wantAnswer(t, tt.name, w.ask(t, tt.line), "ask", "policy", tt.reason)
		w.Close()
	}
}

// broken policies, each of which compiles.
var brokenPolicies = []struct{ name, rego, reason string }{
	{"division by zero", `deny contains "x" if 1 / count([x | some x in input.effect.tags; x == "no such tag"]) > 7`, "broken.rego:3: eval_builtin_error: div: divide by zero"},
	{"conflict", `
f(x) := 1 if count(x) > 0
f(x) := 2 if count(x) > 0
deny contains "x" if f(input.effect.kind) == 3`, "broken.rego:5: eval_conflict_error"},
	{"runs too long", `deny contains "x" if {
	some a in letters
	some b in letters
	some c in letters
	concat("", [a, b, c]) == input.effect.kind
}
letters := split("` + strings.Repeat("x", 400) + `", "")`, "took longer than 250 ms"},
	{"number of a word", `deny contains "x" if to_number(input.effect.kind) == 7`, "broken.rego:3: eval_builtin_error: to_number"},
}

// policyFailures: ask, decided by failure.
func policyFailures(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.start(t)
	w := d.session(t, project)
	for _, tt := range brokenPolicies {
		t.Run(tt.name, func(t *testing.T) {
			wantAllowed(t, w)
			d.policy(t, "broken.rego", tt.rego)
			d.reload(t)
			wantProbe(t, w, "ask", "failure", tt.reason)
			d.policy(t, "broken.rego", "")
			d.reload(t)
			wantAllowed(t, w)
		})
	}
}

// policyFailuresDenied: with a setting of the organisation, failures are denied.
func policyFailuresDenied(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, nil)
	root := filepath.Join(d.home, "root")
	writeFile(t, filepath.Join(root, "etc", "permd", "permd.toml"), `on_failure = "deny"`)
	d.start(t, "--root", root)
	w := d.session(t, project)
	wantAllowed(t, w)
	d.policy(t, "broken.rego", brokenPolicies[0].rego)
	d.reload(t)
	wantProbe(t, w, "deny", "failure", "")
}

// unreadablePolicies: if a layer cannot be read at the start, everything asks. (One
// that breaks later leaves the last good rules in force: see reload.txtar.)
func unreadablePolicies(t *testing.T) {
	for _, tt := range []struct{ name, rego, problem string }{
		{"does not compile", `deny contains "x" if input.effect.nonsense`, "undefined ref: input.effect.nonsense"},
		{"recursion", "p(x) if q(x)\nq(x) if p(x)\ndeny contains \"x\" if p(input.effect.kind)", "rule data.permd.user.p is recursive"},
		{"forbidden builtin", `deny contains "x" if http.send({"method": "get", "url": "http://127.0.0.1/"}).status_code == 200`, "policies cannot call http.send"},
		{"member that nobody knows", `ask contains {"raeson": "misspelt"} if input.effect.kind == "run"`, `no member "raeson" is known`},
		{"not Rego", `deny: everything`, "unexpected : token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTestDaemon(t)
			project := d.project(t, nil)
			d.policy(t, "broken.rego", tt.rego)
			d.start(t)
			w := d.session(t, project)
			wantProbe(t, w, "ask", "failure", "broken.rego:3: "+tt.problem)
			d.policy(t, "broken.rego", "")
			d.reload(t)
			wantAllowed(t, w)
		})
	}
}

// policy writes a file of the person's rules, or removes it if there is no
// text.
func (d *testDaemon) policy(t *testing.T, name, rego string) {
	t.Helper()
	path := filepath.Join(d.home, ".config", "permd", "policy.d", name)
	if rego == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	writeFile(t, path, "package permd.user\nimport rego.v2\n"+rego+"\n")
}

// reload makes the daemon read its rules and fails if it cannot. Files that this machine is
// too busy to read in the daemon's time are read again, as a person would.
func (d *testDaemon) reload(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "the rules are read", func() bool {
		err := d.manage(t, admin.MethodReload, struct{}{}, nil)
		if err != nil && !strings.Contains(err.Error(), "keep changing") {
			t.Fatalf("reloading: %v", err)
		}
		return err == nil
	})
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	filetest.Write(t, path, text)
}
