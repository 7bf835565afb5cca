package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// serve starts permd rap with a configuration, in place of the one that runs.
func (g *rapGateway) serve(config string) {
	g.t.Helper()
	g.end(g.process)
	file := filepath.Join(g.home, "tools.yaml")
	writeFile(g.t, file, config)
	cmd := g.command("rap", "--config", file, "--listen", cmp.Or(g.at, "127.0.0.1:0"))
	cmd.Dir = g.home
	g.output = new(lockedBuffer)
	cmd.Stderr = g.output
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.process = cmd
	g.t.Cleanup(func() { g.end(cmd) })
	listening := regexp.MustCompile(`listening on (\S+)\n`)
	eventually.Holds(g.t, "permd rap listens", func() bool { return listening.MatchString(g.output.String()) })
	g.address = "http://" + listening.FindStringSubmatch(g.output.String())[1]
	token, err := os.ReadFile(filepath.Join(g.home, ".local", "state", "permd", "rap", "token"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.token = strings.TrimSpace(string(token))
}

// end ends a gateway that has not ended yet.
func (g *rapGateway) end(cmd *exec.Cmd) {
	g.t.Helper()
	if cmd == nil || cmd.ProcessState != nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		g.t.Errorf("permd rap: %v\n%s", err, g.output)
	}
}

// killed kills a gateway as a power cut would.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// rapGatewayKilled: a gateway that is started again after a kill does not repeat a call that
// it had sent, and answers that the call may have run.
func rapGatewayKilled(t *testing.T) {
	g := newRAPGateway(t)
	config, err := os.ReadFile(filepath.Join(g.home, "tools.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	restart := func() {
		t.Helper()
		g.at = strings.TrimPrefix(g.address, "http://")
		killed(t, g.process)
		g.serve(string(config))
	}
	moved := []string{"POST /move " + moveIt}
	want(t, "the result", "done", g.call("1", "root", "move_bin", moveIt, "Yes once"))
	want(t, "no", "Error: permission denied: denied by the user", g.call("2", "root", "move_bin", moveIt, "No"))
	want(t, "has run", moved, g.tool.ran())
	running, hangs := make(chan struct{}), make(chan struct{})
	g.tool.answers(func(http.ResponseWriter, *http.Request) {
		close(running)
		<-hangs
	})
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("3", "root", "list_bins", `{}`)); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	<-running
	restart()
	close(hangs)
	g.tool.answers(nil)
	g.tool.ran()
	const again = "Error: the call was sent before, and its result is not known: it may have run"
	want(t, "has run before", again, g.call("1", "root", "move_bin", moveIt))
	want(t, "was running", again, g.call("3", "root", "list_bins", `{}`))
	if status, _ := g.send(http.MethodPost, "/invoke", g.invocation("1", "root", "list_bins", `{}`)); status != http.StatusBadRequest {
		t.Errorf("another call of that id: status %d", status)
	}
	want(t, "has run", []string(nil), g.tool.ran())
	want(t, "was rejected, and never sent", "done", g.call("2", "root", "move_bin", moveIt, "Yes once"))
	want(t, "that id of another thread", "done", g.call("1", "other", "list_bins", `{}`))
	want(t, "has run", append(moved, "POST /list {}"), g.tool.ran())

	// What cannot be noted is not sent.
	files, err := filepath.Glob(filepath.Join(g.home, ".local/state/permd/rap/*.sent"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	killed(t, g.process)
	for _, damage := range []string{"damaged" + strings.Repeat("x", 60), strings.Repeat("x", 10<<20)} {
		writeFile(t, files[0], damage)
		out, err := g.command("rap", "--config", filepath.Join(g.home, "tools.yaml"), "--listen", g.at).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "reading which calls were sent") {
			t.Errorf("%v: %s", err, out)
		}
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	g.serve(string(config))
	// One that cannot be reached was not sent.
	g.tool.CloseClientConnections()
	g.tool.Listener.Close()
	want(t, "the tool is gone", "Error: the tool failed: it cannot be reached", g.call("4", "root", "list_bins", `{}`))
	restart()
	want(t, "and was never sent to", "Error: the tool failed: it cannot be reached", g.call("4", "root", "list_bins", `{}`))
}

// otcGateKilled: the same for a call of Open Tool Calling, by its call_id.
func otcGateKilled(t *testing.T) {
	g := startOTCGate(t)
	const sms, other = `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"1"}}`, `{"tool_id":"Sms.Send","call_id":"s","input":{"to":"2"}}`
	const clock, ran = `{"tool_id":"Clock.Now","call_id":"c"}`, "Clock.Now@1.0.0 c"
	g.wantCall(t, "a call", clock, 200, `"success":true`, ran)
	id := decisionOf(t, g.wantCall(t, "asked", sms, 400, "A person must approve", ""))
	g.person(t, "deny", id)
	g.listen = g.at
	killed(t, g.cmd)
	g.cmd = nil
	g.start(t)
	g.wantCall(t, "again", clock, 400, "The call was sent before, and its answer is kept no longer", "")
	g.wantCall(t, "another one of that id", strings.Replace(clock, "}", `,"input":{"zone":"x"}}`, 1), 400, "The call_id was used for another call", "")
	g.wantCall(t, "a new id", strings.Replace(clock, `"c"`, `"c2"`, 1), 200, `"success":true`, ran+"2")
	g.wantCall(t, "was denied, and never sent", other, 400, "A person must approve", "")
}

// aapKilled: a permission that a gateway has posted which was killed since is not given again
// without a person.
func aapKilled(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, calls(aapTwo...), says("done"))
	url, key, kill := d.runGateway(t, s.front.URL)
	c := newPlainAAP(t, url, key, "message")
	messages := c.answer(c.post(aapUser("go")))
	ses := s.sessions[c.session]
	history, waiting, step := slices.Clone(ses.history), maps.Clone(ses.waiting), ses.step
	posted := make(chan struct{})
	s.change = func(_ http.ResponseWriter, _ *httptest.ResponseRecorder) {
		ses.history, ses.waiting, ses.step = history, waiting, step // it has run, and forgets that
		close(posted)
		kill()
	}
	body, err := json.Marshal(map[string]any{"messages": messages, "stream": c.stream})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, c.url+"/sessions/"+c.session+"/turns", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("the gateway answers with status %d", resp.StatusCode)
	}
	<-posted
	s.change = nil
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	at := strings.TrimPrefix(url, "http://")
	c.url, c.key, _ = d.runGateway(t, s.front.URL, "--listen", at, "--wait", "1s")
	// A client that trusts the tool says nothing of the call.
	c.past()
	_, _ = c.sends([]any{map[string]any{"role": "tool", "toolCallId": "a1", "content": "it is said"}})
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
	c.person = func(string) bool { return false }
	c.resume()
	want(t, "the server ran", []string{`deploy ` + staging}, s.executed)
}
