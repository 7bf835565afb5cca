package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	acpsdk "github.com/coder/acp-go-sdk"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// delegate is an ACP client that leaves permission to permd, as an editor
// would: what permd answers it passes on, what permd wants a person for it
// counts and rejects.
type delegate struct {
	t      *testing.T
	permd  *client.Client
	asked  []string
	picked []acpsdk.PermissionOptionId
	seen   chan struct{} // gets one for each update that was passed on
}

func (d *delegate) RequestPermission(ctx context.Context, p acpsdk.RequestPermissionRequest) (acpsdk.RequestPermissionResponse, error) {
	// The SDK hands notifications and requests to different goroutines, so a
	// client that keeps their order must wait for the update before the request.
	select {
	case <-d.seen:
	case <-time.After(eventually.Limit):
		d.t.Error("no update came before the request")
	}
	var answer acpsdk.RequestPermissionResponse
	err := d.permd.Call(ctx, "session/request_permission", p, &answer)
	if rpc, ok := errors.AsType[*client.Error](err); ok && rpc.Code == -32050 {
		d.asked = append(d.asked, rpc.Message)
		for _, o := range p.Options {
			if o.Kind == acpsdk.PermissionOptionKindRejectOnce {
				return acpsdk.RequestPermissionResponse{Outcome: acpsdk.RequestPermissionOutcome{Selected: &acpsdk.RequestPermissionOutcomeSelected{OptionId: o.OptionId, Outcome: "selected"}}}, nil
			}
		}
	}
	if err == nil && answer.Outcome.Selected != nil {
		d.picked = append(d.picked, answer.Outcome.Selected.OptionId)
	}
	return answer, err
}

func (d *delegate) SessionUpdate(ctx context.Context, n acpsdk.SessionNotification) error {
	defer func() { d.seen <- struct{}{} }()
	return d.permd.Notify(ctx, "session/update", n)
}

var errUnused = errors.New("not part of this test")

func (d *delegate) ReadTextFile(context.Context, acpsdk.ReadTextFileRequest) (r acpsdk.ReadTextFileResponse, err error) {
	return r, errUnused
}

func (d *delegate) WriteTextFile(context.Context, acpsdk.WriteTextFileRequest) (r acpsdk.WriteTextFileResponse, err error) {
	return r, errUnused
}

func (d *delegate) CreateTerminal(context.Context, acpsdk.CreateTerminalRequest) (r acpsdk.CreateTerminalResponse, err error) {
	return r, errUnused
}

func (d *delegate) KillTerminal(context.Context, acpsdk.KillTerminalRequest) (r acpsdk.KillTerminalResponse, err error) {
	return r, errUnused
}

func (d *delegate) TerminalOutput(context.Context, acpsdk.TerminalOutputRequest) (r acpsdk.TerminalOutputResponse, err error) {
	return r, errUnused
}

func (d *delegate) ReleaseTerminal(context.Context, acpsdk.ReleaseTerminalRequest) (r acpsdk.ReleaseTerminalResponse, err error) {
	return r, errUnused
}

func (d *delegate) WaitForTerminalExit(context.Context, acpsdk.WaitForTerminalExitRequest) (r acpsdk.WaitForTerminalExitResponse, err error) {
	return r, errUnused
}

// step is one tool call of the agent.
type step struct {
	name    string
	update  acpsdk.SessionUpdate // sent first
	request acpsdk.ToolCallUpdate
	want    acpsdk.PermissionOptionId // what the agent must be told
	asked   bool                      // a person was needed
}

// agent is an ACP agent whose turn is a list of tool calls.
type agent struct {
	acpsdk.Agent // what is not overridden is not called
	conn         *acpsdk.AgentSideConnection
	t            *testing.T
	steps        []step
	got          []acpsdk.PermissionOptionId
}

func (a *agent) Initialize(context.Context, acpsdk.InitializeRequest) (acpsdk.InitializeResponse, error) {
	return acpsdk.InitializeResponse{
		ProtocolVersion: acpsdk.ProtocolVersionNumber,
		AgentInfo:       &acpsdk.Implementation{Name: "claude-agent-acp", Version: "0.100.0"},
	}, nil
}

func (a *agent) NewSession(context.Context, acpsdk.NewSessionRequest) (acpsdk.NewSessionResponse, error) {
	return acpsdk.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *agent) Prompt(ctx context.Context, p acpsdk.PromptRequest) (r acpsdk.PromptResponse, err error) {
	for _, s := range a.steps {
		if err := a.conn.SessionUpdate(ctx, acpsdk.SessionNotification{SessionId: p.SessionId, Update: s.update}); err != nil {
			return r, err
		}
		answer, err := a.conn.RequestPermission(ctx, acpsdk.RequestPermissionRequest{
			SessionId: p.SessionId, ToolCall: s.request,
			Options: []acpsdk.PermissionOption{
				{OptionId: "allow-always", Name: "Always Allow", Kind: acpsdk.PermissionOptionKindAllowAlways},
				{OptionId: "allow-once", Name: "Allow", Kind: acpsdk.PermissionOptionKindAllowOnce},
				{OptionId: "reject", Name: "Reject", Kind: acpsdk.PermissionOptionKindRejectOnce},
			},
		})
		if err != nil || answer.Outcome.Selected == nil {
			a.t.Errorf("%s: answer %+v, error %v", s.name, answer.Outcome, err)
			a.got = append(a.got, "")
			continue
		}
		a.got = append(a.got, answer.Outcome.Selected.OptionId)
	}
	return acpsdk.PromptResponse{StopReason: acpsdk.StopReasonEndTurn}, nil
}

// TestACPWithSDK runs a whole prompt between an agent and a client of the Go
// SDK, an implementation that is not ours, with permd deciding in between.
func TestACPWithSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs an SDK; TestProxyWithSDK is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	permd := d.dial(t)
	err := permd.Call(t.Context(), "permd/session", map[string]any{
		"sessionId": "s1", "cwd": project,
		"agent":  map[string]string{"name": "claude-agent-acp", "version": "0.100.0"},
		"client": map[string]string{"name": "test", "version": "1"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	tool := func(name string) map[string]any {
		return map[string]any{"claudeCode": map[string]any{"toolName": name}}
	}
	bash := func(id, command string) (acpsdk.SessionUpdate, acpsdk.ToolCallUpdate) {
		u := acpsdk.StartToolCall(acpsdk.ToolCallId(id), command,
			acpsdk.WithStartKind(acpsdk.ToolKindExecute), acpsdk.WithStartRawInput(map[string]any{"command": command}))
		u.ToolCall.Meta = tool("Bash")
		// The request has only the call's id: permd decides by the updates that it has
		// received about the call.
		return u, acpsdk.ToolCallUpdate{ToolCallId: acpsdk.ToolCallId(id)}
	}
	var steps []step
	add := func(name, command string, want acpsdk.PermissionOptionId, asked bool) {
		u, r := bash("call-"+name, command)
		steps = append(steps, step{name: name, update: u, request: r, want: want, asked: asked})
	}
	add("read-only", "git status && cat main.go", "allow-once", false)
	add("publishes", "git push origin main", "reject", true)
	add("catastrophe", "rm -rf ~", "reject", false)
	add("attack", "echo 'allow contains 1' > ~/.config/permd/policy.d/x.rego", "reject", false)
	steps = append(steps, step{
		name:    "announced nowhere",
		update:  acpsdk.UpdateAgentMessageText("working"),
		request: acpsdk.ToolCallUpdate{ToolCallId: "call-unknown"},
		want:    "reject", asked: true,
	})

	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	ag := &agent{t: t, steps: steps}
	ag.conn = acpsdk.NewAgentSideConnection(ag, fromAgent, toAgent)
	cl := &delegate{t: t, permd: permd, seen: make(chan struct{}, len(steps))}
	conn := acpsdk.NewClientSideConnection(cl, fromClient, toClient)
	defer fromClient.Close()
	defer fromAgent.Close()

	ctx := t.Context()
	if _, err := conn.Initialize(ctx, acpsdk.InitializeRequest{ProtocolVersion: acpsdk.ProtocolVersionNumber}); err != nil {
		t.Fatal(err)
	}
	session, err := conn.NewSession(ctx, acpsdk.NewSessionRequest{Cwd: project, McpServers: []acpsdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Prompt(ctx, acpsdk.PromptRequest{SessionId: session.SessionId, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock("go")}}); err != nil {
		t.Fatal(err)
	}
	asks := 0
	for i, s := range steps {
		if ag.got[i] != s.want {
			t.Errorf("%s: the agent got %q, want %q", s.name, ag.got[i], s.want)
		}
		if s.asked {
			asks++
		}
	}
	if len(cl.asked) != asks {
		t.Errorf("a person was asked %d times, want %d: %q", len(cl.asked), asks, cl.asked)
	}
}
