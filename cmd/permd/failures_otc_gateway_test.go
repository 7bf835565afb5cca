package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailuresOTCGateway is like TestFailures, for calls through permd otc: each row breaks
// one part, and the upstream must not get the call.
func TestFailuresOTCGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestOTCGateway is the quick one")
	}
	failures(t, []failure{
		{"daemon gone", otcGateGone},
		{"decision cannot be logged, disk full", otcGateUnlogged},
		{"rules change after the answer", otcGateLate},
		{"killed after it has sent a call", otcGateKilled},
		{"what a tool was cannot be read", otcGateUnread},
		{"credential cannot be read, or others can read it", otcGateCredential},
		{"more questions than permd lists", otcGateManyAsk},
		{"caller does not read its answer", otcGateDeaf},
	})
}

const (
	gateClock     = `{"tool_id":"Clock.Now"}`
	gateUndecided = "could not be decided, and has not run"
)

// wantClock calls a tool that a rule allows.
func (g *otcGate) wantClock(t *testing.T, what string, runs bool, says string) {
	t.Helper()
	status, answer := g.request(t, "POST", "/tools/call", gateClock)
	if ran := g.upstream.runs(); (ran != "") != runs || (status == 200) != runs || !strings.Contains(answer, says) {
		t.Errorf("%s: %d %s, ran %q", what, status, answer, ran)
	}
}

func otcGateGone(t *testing.T) {
	g := startOTCGate(t)
	g.wantClock(t, "control", true, `"success":true`)
	id := decisionOf(t, g.wantCall(t, "asked", `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"1"}}`, 400, "A person must approve", ""))
	g.d.kill()
	g.wantClock(t, "killed", false, gateUndecided)
	if status, _ := g.request(t, "GET", "/health", ""); status != 503 {
		t.Errorf("health: %d", status)
	}
	g.d.start(t)
	g.wantClock(t, "there again", true, `"success":true`)
	if again := decisionOf(t, g.wantCall(t, "asked again", `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"1"}}`, 400, "A person must approve", "")); again == id {
		t.Error("the same question of another daemon")
	}
}

func otcGateUnlogged(t *testing.T) {
	g := startOTCGate(t)
	g.wantClock(t, "control", true, `"success":true`)
	lift := limitFiles(t, g.d.cmd.Process.Pid, 4096)
	g.wantClock(t, "full", false, "A person must approve")
	// A person's yes counts, with a warning that the log does not have it.
	id := decisionOf(t, g.wantCall(t, "asked", `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"1"}}`, 400, "A person must approve", ""))
	const warning = "the answer is not in the decision log"
	if out, err := g.d.command("allow", id).CombinedOutput(); err != nil || !strings.Contains(string(out), warning) {
		t.Errorf("permd allow: %v\n%s", err, out)
	}
	lift()
	id = decisionOf(t, g.wantCall(t, "asked", `{"tool_id":"Sms.Send","call_id":"s2","input":{"to":"2"}}`, 400, "A person must approve", ""))
	if out, err := g.d.command("allow", id).CombinedOutput(); err != nil || strings.Contains(string(out), warning) {
		t.Errorf("permd allow with space again: %v\n%s", err, out)
	}
	g.wantClock(t, "with space again", true, `"success":true`)
}

func otcGateLate(t *testing.T) {
	g := startOTCGate(t)
	const send = `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"1"}}`
	id := decisionOf(t, g.wantCall(t, "asked", send, 400, "A person must approve", ""))
	g.person(t, "allow", id)
	g.d.policy(t, "late.rego", `deny contains "no more" if { input.effect.kind == "use"; input.effect.server == "Sms" }`)
	g.d.reload(t)
	g.wantCall(t, "denied meanwhile", send, 400, "This tool call is not permitted", "")
}

func otcGateUnread(t *testing.T) {
	g := startOTCGate(t)
	g.wantClock(t, "control", true, `"success":true`)
	files, err := filepath.Glob(filepath.Join(g.d.home, ".local", "state", "permd", "otc", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.wantClock(t, "cut", false, "A person must approve")
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	// A folder that is not empty is in the way of the new file.
	if err := os.MkdirAll(filepath.Join(files[0]+".new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.wantClock(t, "not noted", false, gateUndecided)
}

func otcGateCredential(t *testing.T) {
	g := startOTCGate(t)
	g.wantClock(t, "control", true, `"success":true`)
	file := filepath.Join(g.d.home, "gate", "grant")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	g.wantClock(t, "others can read it", false, "temporarily unavailable")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	g.wantClock(t, "gone", false, "temporarily unavailable")
	writeFile(t, file, gateGrant)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	g.wantClock(t, "there again", true, `"success":true`)
}
