package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFailuresMCP is like TestFailures, for calls through permd mcp: each row breaks one part,
// and the server must not get the call.
func TestFailuresMCP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestMCP is the quick one")
	}
	rows := []failure{
		{"server does not end", mcpEndless},
		{"server's responses cannot be read", mcpUnreadable},
		{"daemon gone while the server asks", func(t *testing.T) { mcpGoneBetween(t, mcpPeers{}) }},
		{"daemon gone while the server asks, over HTTP", func(t *testing.T) { mcpGoneBetween(t, mcpPeers{overHTTP: true}) }},
		{"server over HTTP is gone", mcpUpstreamGone},
		{"server over HTTP ends the session", mcpUpstreamSession},
	}
	for _, both := range []struct {
		name   string
		breaks func(t *testing.T, peers mcpPeers)
	}{
		{"daemon gone while the person is asked", mcpGone},
		{"decision cannot be logged, disk full", mcpUnlogged},
		{"rules change while the person is asked", mcpLate},
		{"what a tool was cannot be read", mcpUnread},
		{"what a tool is cannot be noted", mcpUnnoted},
		{"client gone while the person is asked", mcpClientGone},
		{"server gone when the person says yes", mcpYesGone},
	} {
		for _, p := range allMCPPeers() {
			rows = append(rows, failure{both.name + ", " + p.String(), func(t *testing.T) { both.breaks(t, p) }})
		}
	}
	failures(t, rows)
}

const mcpAllowed = `allow contains "echo" if { input.effect.kind == "use"; input.effect.tool == "echo" }`

// mcpDaemon allows the tool echo, if allowed is set.
func mcpDaemon(t *testing.T, peers mcpPeers, allowed bool) *testDaemon {
	t.Helper()
	d := newTestDaemon(t)
	d.mcp = peers
	if allowed {
		d.policy(t, "mcp.rego", mcpAllowed)
	}
	d.start(t)
	return d
}

func mcpGone(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, false)
	c := d.startMCP(t, "says it", "once")
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	c.before = d.kill
	wantHas(t, "killed", c.call(t, "echo", "b"), "the call was not made, as the person's answer could not be taken")
	c.before = nil
	wantHas(t, "without a daemon", c.call(t, "echo", "b"), "the call was not made, as permd cannot be asked")
	d.start(t)
	wantHas(t, "there again", c.call(t, "echo", "c"), "said c")
	c.wantCalls(t, "echo a;echo c;")
}

// mcpGoneBetween has a daemon that is gone when a call is repeated with answers to the server.
func mcpGoneBetween(t *testing.T, peers mcpPeers) {
	d := newTestDaemon(t)
	d.mcp = peers
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "allow:\n  use: [\"test:deploy\"]\n")
	d.start(t)
	c := d.startMCP(t, asksBack, "x")
	wantHas(t, "control", c.call(t, "deploy", "a"), "said a")
	c.before = d.kill
	// Whether the connection is found ended before or after the request is written is a race.
	wantHas(t, "killed", c.call(t, "deploy", "b"), "permd: the call was not made, as permd ", "is not reachable")
	c.wantCalls(t, "deploy? a;deploy a for a accept x;deploy? b;")
}

func mcpUnlogged(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, true)
	c := d.startMCP(t, "says it", "once")
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	lift := limitFiles(t, d.cmd.Process.Pid, 4096)
	c.answer = "cancel"
	wantHas(t, "full", c.call(t, "echo", "b"), "The call was not made")
	if len(c.forms) != 1 {
		t.Errorf("%d questions, want 1", len(c.forms))
	}
	lift()
	wantHas(t, "with space again", c.call(t, "echo", "c"), "said c")
	c.wantCalls(t, "echo a;echo c;")
}

func mcpLate(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, false)
	c := d.startMCP(t, "says it", "once")
	c.before = func() {
		d.policy(t, "late.rego", `deny contains "no more" if { input.effect.kind == "use"; input.effect.tool == "echo" }`)
		d.reload(t)
	}
	wantHas(t, "denied meanwhile", c.call(t, "echo", "a"), "permd denied this call: no more")
	c.wantCalls(t, "")
}

// mcpPins is the file in which it is noted what tools are.
func mcpPins(t *testing.T, d *testDaemon) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.home, ".local", "state", "permd", "mcp", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	return files[0]
}

func mcpUnread(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, true)
	c := d.startMCP(t, "says it", "decline")
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	pins := mcpPins(t, d)
	for _, tt := range []struct {
		what   string
		breaks func() error
	}{
		{"cut", func() error { return os.WriteFile(pins, []byte("{"), 0o600) }},
		{"a pipe", func() error { return syscall.Mkfifo(pins, 0o600) }},
		{"a link", func() error { return os.Symlink("/dev/zero", pins) }},
	} {
		if err := errors.Join(os.Remove(pins), tt.breaks()); err != nil {
			t.Fatal(err)
		}
		wantHas(t, tt.what, c.call(t, "echo", "b"), "the person has rejected this call")
	}
	c.wantCalls(t, "echo a;")
}

func mcpUnnoted(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, true)
	state := filepath.Join(d.home, ".local", "state", "permd")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(state, "mcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := d.startMCP(t, "says it", "decline")
	wantHas(t, "control", c.call(t, "echo", "a"), "said a")
	pins := mcpPins(t, d)
	if err := os.Remove(pins); err != nil {
		t.Fatal(err)
	}
	// A folder that is not empty is in the way of the new file.
	if err := os.MkdirAll(filepath.Join(pins+".new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantHas(t, "not noted", c.call(t, "echo", "b"), "the tool's definition could not be noted")
	c.wantCalls(t, "echo a;")
}

func mcpClientGone(t *testing.T, peers mcpPeers) {
	d := mcpDaemon(t, peers, false)
	c := d.startMCP(t, "says it", "once")
	c.asked, c.late = make(chan struct{}), make(chan struct{})
	ended := make(chan string, 1)
	go func() { ended <- c.call(t, "echo", "a") }()
	<-c.asked
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	close(c.late)
	wantHas(t, "killed", <-ended, "error: ")
	c.wantCalls(t, "")
}

// mcpUnreadable has a server whose responses cannot be read: the first one surely is that to the
// first request, of the second one this is not certain, and the third one breaks off. The client
// gets an error for each request.
func mcpUnreadable(t *testing.T) {
	d := newTestDaemon(t)
	cmd := d.command("mcp", "--name", "x", "--", "sh", "-c", `read a; read b; read c
		printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}' '{"jsonrpc":"2.0","id":null,"result":{}}'
		printf %s '{"jsonrpc":"2.0","id":3,"result":{'`)
	var client []string
	for _, id := range []string{"1", "2", "3"} {
		client = append(client, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.WriteString(in, strings.Join(client, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if n := strings.Count(string(out), `"id":`+id+`,"error"`); n != 1 {
			t.Errorf("%d answers to the request %s: %s", n, id, out)
		}
	}
	wantHas(t, "the first answer", string(out), `"id":1,"error":{"code":-32603,"message":"permd: the server's response cannot be passed on`)
}

// mcpEndless has servers that run on when their input, or their output, is closed.
func mcpEndless(t *testing.T) {
	d := newTestDaemon(t)
	for what, script := range map[string]string{
		"its input is closed":  "exec sleep 3600",
		"its output is closed": "exec sleep 3600 >/dev/null",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := d.command("mcp", "--name", "x", "--", "sh", "-c", script)
			cmd.Stdin = strings.NewReader("")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
