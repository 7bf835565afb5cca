package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// TestOpencodeExample runs the bridge against a server that sends questions in
// opencode's format.
func TestOpencodeExample(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs Node")
	}
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the example is not run")
	}
	bridge, err := filepath.Abs("../../examples/clients/opencode/bridge.mjs")
	if err != nil {
		t.Fatal(err)
	}
	d := newTestDaemon(t)
	d.policy(t, "hook.rego", hookRules)
	d.start(t)
	replies := make(chan string, 10)
	events := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			replies <- r.URL.Path + " " + string(body)
			fmt.Fprint(w, "true")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case event := <-events:
				fmt.Fprint(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	cmd := exec.Command(node, bridge, server.URL)
	cmd.Dir, cmd.Env = d.project(t, nil), d.env
	var output lockedBuffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.CloseClientConnections()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	first := func(id, command string) string {
		return `data: {"id":"evt_01","type":"permission.asked","properties":{"id":"` + id + `","sessionID":"ses_01","permission":"bash","patterns":["` + command + `"],"metadata":{"command":"` + command + `"},"always":["x *"],"tool":{"messageID":"msg_01","callID":"call_` + id + `"}}}`
	}
	second := func(id, command string) string {
		return `data: {"id":"evt_02","type":"permission.v2.asked","properties":{"id":"` + id + `","sessionID":"ses_01","action":"shell","resources":["` + command + `"],"metadata":{"command":"` + command + `"}}}`
	}
	wait := func(what string, text <-chan string) string {
		t.Helper()
		select {
		case got := <-text:
			return got
		case <-time.After(eventually.Limit):
			t.Fatalf("no %s:\n%s", what, output.String())
		}
		return ""
	}
	for _, c := range []struct{ event, want string }{
		{": a comment\n\ndata: no JSON\n\n" + first("per_01", "welcome") + "\n\n", `/permission/per_01/reply {"reply":"once"}`},
		{first("per_02", "forbidden") + "\r\n\r\n", `/permission/per_02/reply {"reply":"reject","message":"permd denies: forbidden"}`},
		{second("per_03", "welcome") + "\n\n", `/api/session/ses_01/permission/per_03/reply {"reply":"once"}`},
		{second("per_04", "forbidden") + "\n\n", `/api/session/ses_01/permission/per_04/reply {"reply":"reject","message":"permd denies: forbidden"}`},
		// What permd leaves to the person is not answered: the next answer is for
		// the next question.
		{first("per_05", "questioned") + "\n\n" + first("per_06", "welcome") + "\n\n", `/permission/per_06/reply {"reply":"once"}`},
	} {
		// In pieces, as networks do.
		events <- c.event[:len(c.event)/2]
		events <- c.event[len(c.event)/2:]
		if got := wait("answer", replies); got != c.want {
			t.Errorf("the answer is %s, want %s", got, c.want)
		}
	}
	says := func(text string) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("it says %q", text), func() bool { return strings.Contains(output.String(), text) }, output.String)
	}
	// The questions are asked side by side: that one may still be on its way.
	says("per_05 bash is for you: questioned")
	// Who answers in opencode lets it run, which opencode tells by the name of the tool.
	ran := func(call, status string) string {
		return `data: {"type":"message.part.updated","properties":{"part":{"type":"tool","sessionID":"ses_01","callID":"` + call + `","tool":"bash_tool","state":{"status":"` + status + `","input":{}}}}}` + "\n\n"
	}
	if out := d.permd(t, "allow"); !strings.Contains(out, "questioned") {
		t.Errorf("no call waits:\n%s", out)
	}
	events <- ran("call_per_05", "running") + ran("call_per_05", "error") + ran("call_o2", "completed") + ran("call_per_05", "completed") + ran("call_per_05", "completed")
	says("per_05 bash has run")
	if out := d.permd(t, "allow"); strings.Contains(out, "questioned") {
		t.Errorf("what has run waits:\n%s", out)
	}
	if out := d.permd(t, "log", "list"); !strings.Contains(out, "ask, then run") {
		t.Errorf("the log does not say that it has run:\n%s", out)
	}
	d.kill()
	events <- first("per_07", "welcome") + "\n\n"
	says("per_07 bash is for you")
	if len(replies) > 0 {
		t.Errorf("%d answers too many:\n%s", len(replies), output.String())
	}
}
