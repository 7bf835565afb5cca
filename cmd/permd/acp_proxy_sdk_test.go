package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	acpsdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/eventually"
)

// editor is a client of the Go SDK that does not know permd. Its person picks the
// option whose name begins with pick.
type editor struct {
	acpsdk.Client // what is not overridden is not called
	t             *testing.T
	conn          *acpsdk.ClientSideConnection
	session       acpsdk.SessionId
	stderr        lockedBuffer

	mu    sync.Mutex
	pick  string
	shown []acpsdk.RequestPermissionRequest
	wrote []string
	texts chan string
}

func (e *editor) RequestPermission(_ context.Context, p acpsdk.RequestPermissionRequest) (r acpsdk.RequestPermissionResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = append(e.shown, p)
	for _, o := range p.Options {
		if strings.HasPrefix(o.Name, e.pick) {
			r.Outcome.Selected = &acpsdk.RequestPermissionOutcomeSelected{OptionId: o.OptionId, Outcome: "selected"}
			return r, nil
		}
	}
	e.t.Errorf("no option %q in %+v", e.pick, p.Options)
	r.Outcome.Cancelled = &acpsdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}
	return r, nil
}

func (e *editor) SessionUpdate(_ context.Context, n acpsdk.SessionNotification) error {
	if c := n.Update.AgentMessageChunk; c != nil {
		e.texts <- c.Content.Text.Text
	}
	return nil
}

func (e *editor) WriteTextFile(_ context.Context, p acpsdk.WriteTextFileRequest) (r acpsdk.WriteTextFileResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrote = append(e.wrote, p.Path)
	return r, nil
}

func (e *editor) ReadTextFile(context.Context, acpsdk.ReadTextFileRequest) (r acpsdk.ReadTextFileResponse, err error) {
	return acpsdk.ReadTextFileResponse{Content: "content"}, nil
}

func (e *editor) CreateTerminal(context.Context, acpsdk.CreateTerminalRequest) (r acpsdk.CreateTerminalResponse, err error) {
	return acpsdk.CreateTerminalResponse{TerminalId: "term-1"}, nil
}

// edit starts an editor with permd acp as its agent, and opens a session.
func (d *testDaemon) edit(t *testing.T, project string, flags ...string) *editor {
	t.Helper()
	cmd := d.command(append(append([]string{"acp"}, flags...), "--", os.Args[0], asAgent, "sdk")...)
	e := &editor{t: t, texts: make(chan string, 16)}
	cmd.Stderr = &e.stderr
	in, out := started(t, cmd)
	e.conn = acpsdk.NewClientSideConnection(e, in, out)
	t.Cleanup(func() {
		in.Close() // the client ends, and with it the agent and permd
		ended(t, cmd, &e.stderr, 0)
	})
	if _, err := e.conn.Initialize(t.Context(), acpsdk.InitializeRequest{ProtocolVersion: acpsdk.ProtocolVersionNumber}); err != nil {
		t.Fatal(err, e.stderr.String())
	}
	s, err := e.conn.NewSession(t.Context(), acpsdk.NewSessionRequest{Cwd: project, McpServers: []acpsdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	e.session = s.SessionId
	return e
}

// ended waits until a process ends by itself, and checks its status.
func ended(t *testing.T, cmd *exec.Cmd, stderr *lockedBuffer, want int) {
	t.Helper()
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(eventually.Limit):
		cmd.Process.Kill()
		<-done
		t.Errorf("permd acp did not end: %s", stderr.String())
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status %d, want %d: %s", got, want, stderr.String())
	}
}

// prompt makes the agent do something and returns its message about the result.
func (e *editor) prompt(text string) string {
	e.t.Helper()
	_, err := e.conn.Prompt(e.t.Context(), acpsdk.PromptRequest{SessionId: e.session, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock(text)}})
	if err != nil {
		e.t.Fatal(err, e.stderr.String())
	}
	select {
	case said := <-e.texts:
		return said
	case <-time.After(eventually.Limit):
		e.t.Fatalf("the agent said nothing: %s", e.stderr.String())
		return ""
	}
}

// answers does that, and checks what the person was shown: nothing, or an
// option of that name.
func (e *editor) answers(prompt, pick, want string) {
	e.t.Helper()
	e.mu.Lock()
	e.pick, e.shown = pick, nil
	e.mu.Unlock()
	got := e.prompt(prompt)
	start, open := strings.CutSuffix(want, "…")
	if got != want && (!open || !strings.HasPrefix(got, start)) {
		e.t.Errorf("%s: the agent got %q, want %q", prompt, got, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if (len(e.shown) > 0) != (pick != "") {
		e.t.Errorf("%s: the person was shown %+v, want that %q is picked", prompt, e.shown, pick)
	}
}

// TestProxyWithSDK runs whole prompts between an agent and a client that do not know
// permd.
func TestProxyWithSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs whole prompts; TestProxyProcess is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.policy(t, "acp.rego", `
deny contains {"reason": "no terraform", "message": "use the pipeline"} if input.effect.program == "terraform"
deny contains "locked" if { input.effect.kind == "write"; endswith(input.effect.path, "/locked") }
deny contains "no modes" if input.effect.kind == "mode"`)
	d.start(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	e := d.edit(t, project)

	e.answers("run git status && cat main.go", "", "allow-once")
	e.answers("run rm -rf ~", "", "reject")
	e.answers("run git commit -m x", "Reject", "reject")
	e.answers("run git commit -m main", "Allow", "allow-once")

	// What the person is shown: permd's widths and its reason.
	shown := e.shown[0]
	names := []string{}
	for _, o := range shown.Options {
		names = append(names, o.Name)
		if o.OptionId == "allow-always" {
			t.Error("the agent's own always is shown")
		}
	}
	want := []string{"Allow", "Always, exactly this: run git commit -m main (project)", "Always, any `git commit` with harmless options (in this project): run git commit * (project)", "Reject"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("shown (-want +got):\n%s", d)
	}
	if n := len(shown.ToolCall.Content); n != 1 || !strings.HasPrefix(shown.ToolCall.Content[0].Content.Content.Text.Text, "permd asks: ") {
		t.Errorf("shown %+v", shown.ToolCall.Content)
	}
	// Remembered, and not asked again.
	e.answers("run git commit -m main", want[2], "allow-once")
	e.answers("run git commit -m other", "", "allow-once")

	e.answers("write "+project+"/free", "", "wrote")
	e.answers("write "+project+"/locked", "", "error: …")
	e.answers("write "+d.home+"/.config/permd/policy.d/x.rego", "", "error: …")
	if len(e.wrote) != 1 || e.wrote[0] != project+"/free" {
		t.Errorf("the client wrote %q", e.wrote)
	}
	e.answers("read "+project+"/main.go", "", "content")
	e.answers("terminal ls -l", "", "term-1")
	e.answers("terminal terraform apply", "", "error: …")
	if _, err := e.conn.SetSessionMode(t.Context(), acpsdk.SetSessionModeRequest{SessionId: e.session, ModeId: "yolo"}); err == nil || !strings.Contains(err.Error(), "no modes") {
		t.Errorf("the mode was switched: %v", err)
	}
}

// TestProxyDaemon stops the daemon and starts it again.
func TestProxyDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for daemons that end and start")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	e := d.edit(t, project)
	e.answers("run git status", "Always", "allow-always") // as without permd
	d.start(t)
	e.waitSays("permd is there again")
	e.answers("run git status", "", "allow-once")
	d.kill()
	e.answers("run git status", "Reject", "reject")
	e.answers("write "+project+"/free", "", "wrote")
	d.start(t)
	e.waitSays("permissions are yours", "permd is there again", "permissions are yours", "permd is there again")
	e.answers("run git status", "", "allow-once")
}

// waitSays waits until permd has printed these on standard error, in order.
func (e *editor) waitSays(want ...string) {
	e.t.Helper()
	eventually.Holds(e.t, fmt.Sprintf("permd says %q", want), func() bool {
		rest, found := e.stderr.String(), true
		for _, w := range want {
			if _, rest, found = strings.Cut(rest, w); !found {
				break
			}
		}
		return found
	}, e.stderr.String)
}
