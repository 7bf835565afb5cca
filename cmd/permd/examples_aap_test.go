package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleAAP runs the server of examples/servers unchanged.
func TestExampleAAP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds a server and runs it as a process")
	}
	t.Parallel()
	program := filepath.Join(t.TempDir(), "aap")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/servers/aap").CombinedOutput(); err != nil {
		t.Fatalf("building the example: %v\n%s", err, out)
	}
	d := newTestDaemon(t)
	d.policy(t, "server.rego", `allow contains "harmless" if { input.effect.kind == "use"; input.effect.server == "example"; input.effect.tool == "clock" }
deny contains {"reason": "no", "message": "no full backups"} if { input.effect.kind == "use"; input.effect.tool == "backup"; input.effect.arguments.what == "full" }`)
	d.start(t)
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "PERMD_SOCKET=" + d.socket(), "PORT=0"}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	url, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c := &plainAAP{t: t, url: strings.TrimSpace(url), stream: "none", enabled: []aapTool{{Name: "clock", Trust: true}, {Name: "backup", Trust: true}, {Name: "mail"}}}
	c.open()
	s := c.post([]any{map[string]string{"role": "user", "content": "clock backup:nightly backup:full mail:ana"}})
	if len(s.calls) != 4 || s.stop != "tool_use" {
		t.Fatalf("%+v", s)
	}
	id := func(n int) string { return s.calls[n].ID }
	want(t, "results", map[string]string{id(0): `"clock has run"`, id(2): `"Tool call denied: no full backups"`}, s.results)
	permit := func(id string, granted bool) []any {
		return []any{map[string]any{"role": "tool_permission", "toolCallId": id, "granted": granted}}
	}
	want(t, "granted", map[string]string{id(1): `"backup has run"`}, c.post(permit(id(1), true)).results)
	want(t, "not granted", map[string]string{id(3): `"Tool call denied"`}, c.post(permit(id(3), false)).results)
	for _, again := range []string{id(1), id(3), id(0), id(2), "none"} {
		status, text := c.do("POST", "/sessions/"+c.session+"/turns", map[string]any{"messages": permit(again, true)})
		var e struct{ Error string }
		if status != http.StatusBadRequest || json.Unmarshal([]byte(text), &e) != nil || !strings.Contains(e.Error, "waits for a permission") {
			t.Errorf("%s again: %d %s", again, status, text)
		}
	}
	// By then a rule denies it; without a daemon nothing runs.
	s = c.post([]any{map[string]string{"role": "user", "content": "mail:bob mail:eve"}})
	d.policy(t, "later.rego", `deny contains {"reason": "no", "message": "no mail any more"} if { input.effect.kind == "use"; input.effect.arguments.what == "bob" }`)
	d.permd(t, "reload")
	want(t, "denied by then", map[string]string{id(0): `"Tool call denied: no mail any more"`}, c.post(permit(id(0), true)).results)
	d.kill()
	want(t, "without a daemon", map[string]string{id(1): `"Tool call denied: permd does not answer"`}, c.post(permit(id(1), true)).results)
	s = c.post([]any{map[string]string{"role": "user", "content": "clock"}})
	if len(s.results) > 0 || s.stop != "tool_use" {
		t.Errorf("without a daemon: %+v", s)
	}
}
