package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	acpsdk "github.com/coder/acp-go-sdk"
)

// pairPlan is what a client does, whatever it is written in; it reads that from
// a file.
type pairPlan struct {
	Cwd   string     `json:"cwd"`
	Steps []pairStep `json:"steps"`
}

// pairStep is one step of a plan: a prompt, with the person's reactions to the
// permission requests that it causes, a switch of mode, or a session to load.
type pairStep struct {
	Prompt string   `json:"prompt,omitempty"`
	Pick   []string `json:"pick,omitempty"` // beginnings of options' names, the first that there is; or cancel, stop, withdraw
	Mode   string   `json:"mode,omitempty"`
	Load   string   `json:"load,omitempty"`
	Code   int      `json:"code,omitempty"` // the error that the request ends with

	// What the test wants: the agent's words, and whether permd answers the
	// agent's, or here the client's, request itself.
	said  string
	permd bool
}

// cancelledSeen lets a peer of the Go SDK wait for the answer to a request that
// it has cancelled, for which the SDK does not wait: it looks for the error's
// code in what it reads.
type cancelledSeen struct {
	r    io.Reader
	seen chan struct{}
	line []byte
}

func (c *cancelledSeen) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for _, b := range p[:n] {
		if c.line = append(c.line, b); b == '\n' {
			if bytes.Contains(c.line, []byte(`"code":-32800`)) {
				c.seen <- struct{}{}
			}
			c.line = c.line[:0]
		}
	}
	return n, err
}

// pairAgent is the agent of testdata/node/agent.mjs with the Go SDK.
type pairAgent struct {
	acpsdk.Agent // what is not overridden is not called
	conn         *acpsdk.AgentSideConnection
	made         chan struct{}
	cancelled    *cancelledSeen
	withdraw     chan struct{}
	calls        int
}

func runPairAgent() int {
	a := &pairAgent{
		made: make(chan struct{}), withdraw: make(chan struct{}, 1),
		cancelled: &cancelledSeen{r: os.Stdin, seen: make(chan struct{}, 1)},
	}
	a.conn = acpsdk.NewAgentSideConnection(a, os.Stdout, a.cancelled)
	close(a.made) // it answers before there is a connection to answer on
	<-a.conn.Done()
	return 0
}

func (a *pairAgent) Initialize(context.Context, acpsdk.InitializeRequest) (acpsdk.InitializeResponse, error) {
	return acpsdk.InitializeResponse{
		ProtocolVersion:   acpsdk.ProtocolVersionNumber,
		AgentInfo:         &acpsdk.Implementation{Name: "claude-agent-acp", Version: "0.100.0"},
		AgentCapabilities: acpsdk.AgentCapabilities{LoadSession: true},
	}, nil
}

func (a *pairAgent) NewSession(context.Context, acpsdk.NewSessionRequest) (acpsdk.NewSessionResponse, error) {
	modes := []acpsdk.SessionMode{{Id: "ask", Name: "Ask"}, {Id: "yolo", Name: "Yolo"}}
	return acpsdk.NewSessionResponse{SessionId: "s1", Modes: &acpsdk.SessionModeState{CurrentModeId: "ask", AvailableModes: modes}}, nil
}

func (a *pairAgent) LoadSession(ctx context.Context, p acpsdk.LoadSessionRequest) (r acpsdk.LoadSessionResponse, err error) {
	<-a.made
	u := acpsdk.StartToolCall("call-1", "rm -rf /", acpsdk.WithStartKind(acpsdk.ToolKindExecute), acpsdk.WithStartRawInput(map[string]any{"command": "rm -rf /"}))
	return r, a.conn.SessionUpdate(ctx, acpsdk.SessionNotification{SessionId: p.SessionId, Update: u})
}

func (a *pairAgent) SetSessionMode(_ context.Context, p acpsdk.SetSessionModeRequest) (r acpsdk.SetSessionModeResponse, err error) {
	return r, refusedIf(p.ModeId == "yolo")
}

func (a *pairAgent) Cancel(context.Context, acpsdk.CancelNotification) error { return nil }

func (a *pairAgent) HandleExtensionMethod(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == "_test/withdraw" {
		a.withdraw <- struct{}{}
	}
	return nil, nil
}

// refusedIf is the error by which these peers refuse what permd would.
func refusedIf(yes bool) error {
	if yes {
		return &acpsdk.RequestError{Code: -32001, Message: "no"}
	}
	return nil
}

func (a *pairAgent) Prompt(ctx context.Context, p acpsdk.PromptRequest) (r acpsdk.PromptResponse, err error) {
	<-a.made
	prompt, going := ctx, context.WithoutCancel(ctx) // a prompt that is cancelled is still brought to its end
	verb, what, _ := strings.Cut(p.Prompt[0].Text.Text, " ")
	said, err := a.act(prompt, going, p.SessionId, verb, what)
	if rpc, ok := errors.AsType[*acpsdk.RequestError](err); ok {
		said = fmt.Sprintf("refused %d", rpc.Code)
	}
	if err := a.conn.SessionUpdate(going, acpsdk.SessionNotification{SessionId: p.SessionId, Update: acpsdk.UpdateAgentMessageText(said)}); err != nil {
		return r, err
	}
	if verb == "stop" {
		return r, prompt.Err()
	}
	r.StopReason = acpsdk.StopReasonEndTurn
	if said == "cancelled" {
		r.StopReason = acpsdk.StopReasonCancelled
	}
	return r, nil
}

func (a *pairAgent) act(prompt, ctx context.Context, id acpsdk.SessionId, verb, what string) (said string, err error) {
	switch verb {
	case "run":
		return a.permission(ctx, id, what)
	case "stop":
		context.AfterFunc(prompt, func() { _ = a.conn.NotifyExtension(ctx, "_test/stopped", struct{}{}) })
		return a.permission(ctx, id, what)
	case "withdraw":
		ctx, cancel := context.WithCancel(ctx)
		go func() { <-a.withdraw; cancel() }()
		said, err = a.permission(ctx, id, what)
		<-a.cancelled.seen
		return said, err
	case "write":
		_, err = a.conn.WriteTextFile(ctx, acpsdk.WriteTextFileRequest{SessionId: id, Path: what, Content: "text é\u2028\n"})
		return "wrote", err
	case "read":
		f, err := a.conn.ReadTextFile(ctx, acpsdk.ReadTextFileRequest{SessionId: id, Path: what, Line: acpsdk.Ptr(1), Limit: acpsdk.Ptr(10)})
		return f.Content, err
	case "terminal":
		return a.terminal(ctx, id, strings.Fields(what))
	case "echo":
		var back struct{ Text string }
		raw, err := a.conn.CallExtension(ctx, "_test/echo", map[string]string{"text": what})
		return back.Text, errors.Join(err, json.Unmarshal(raw, &back))
	case "say":
		n, err := strconv.Atoi(what)
		return strings.Repeat("é", n/2), err
	}
	return "", errUnused
}

func (a *pairAgent) terminal(ctx context.Context, id acpsdk.SessionId, words []string) (string, error) {
	made, err := a.conn.CreateTerminal(ctx, acpsdk.CreateTerminalRequest{SessionId: id, Command: words[0], Args: words[1:]})
	if err != nil {
		return "", err
	}
	out, err := a.conn.TerminalOutput(ctx, acpsdk.TerminalOutputRequest{SessionId: id, TerminalId: made.TerminalId})
	if err != nil {
		return "", err
	}
	exit, err := a.conn.WaitForTerminalExit(ctx, acpsdk.WaitForTerminalExitRequest{SessionId: id, TerminalId: made.TerminalId})
	if err != nil {
		return "", err
	}
	_, killed := a.conn.KillTerminal(ctx, acpsdk.KillTerminalRequest{SessionId: id, TerminalId: made.TerminalId})
	_, released := a.conn.ReleaseTerminal(ctx, acpsdk.ReleaseTerminalRequest{SessionId: id, TerminalId: made.TerminalId})
	return fmt.Sprintf("%s %d", out.Output, *exit.ExitCode), errors.Join(killed, released)
}

func (a *pairAgent) permission(ctx context.Context, id acpsdk.SessionId, command string) (string, error) {
	a.calls++
	shared := sdkAgent{conn: a.conn, calls: a.calls - 1}
	return shared.permission(ctx, id, command)
}

// pairClient is the client of testdata/node/client.mjs with the Go SDK.
type pairClient struct {
	acpsdk.Client // what is not overridden is not called
	conn          *acpsdk.ClientSideConnection
	made          chan struct{}
	cancelled     *cancelledSeen
	step          atomic.Pointer[pairStep]
	cancel        atomic.Pointer[context.CancelFunc]
	stopped       chan struct{}
	ended         chan struct{} // session/cancel was sent
}

// Write sends a line to the agent.
func (c *pairClient) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if bytes.Contains(p, []byte(`"session/cancel"`)) {
		select {
		case c.ended <- struct{}{}:
		default:
		}
	}
	return n, err
}

func runPairClient(path string) int {
	c := &pairClient{
		made: make(chan struct{}), stopped: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		cancelled: &cancelledSeen{r: os.Stdin, seen: make(chan struct{}, 1)},
	}
	c.conn = acpsdk.NewClientSideConnection(c, c, c.cancelled)
	close(c.made)
	if err := c.run(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	return 0
}

func (c *pairClient) run(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var plan pairPlan
	if err := json.Unmarshal(data, &plan); err != nil {
		return err
	}
	capable := acpsdk.ClientCapabilities{Fs: acpsdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true}
	if _, err := c.conn.Initialize(ctx, acpsdk.InitializeRequest{
		ProtocolVersion: acpsdk.ProtocolVersionNumber, ClientCapabilities: capable,
		ClientInfo: &acpsdk.Implementation{Name: "pair-client", Version: "1"},
	}); err != nil {
		return err
	}
	s, err := c.conn.NewSession(ctx, acpsdk.NewSessionRequest{Cwd: plan.Cwd, McpServers: []acpsdk.McpServer{}})
	if err != nil {
		return err
	}
	for _, step := range plan.Steps {
		c.step.Store(&step)
		err := c.take(ctx, s.SessionId, plan.Cwd, &step)
		rpc, _ := errors.AsType[*acpsdk.RequestError](err)
		switch {
		case err == nil && step.Code == 0, rpc != nil && rpc.Code == step.Code:
		default:
			return fmt.Errorf("%+v: %w", step, err)
		}
	}
	return nil
}

func (c *pairClient) take(ctx context.Context, id acpsdk.SessionId, cwd string, step *pairStep) error {
	switch {
	case step.Mode != "":
		_, err := c.conn.SetSessionMode(ctx, acpsdk.SetSessionModeRequest{SessionId: id, ModeId: acpsdk.SessionModeId(step.Mode)})
		return err
	case step.Load != "":
		_, err := c.conn.LoadSession(ctx, acpsdk.LoadSessionRequest{SessionId: acpsdk.SessionId(step.Load), Cwd: cwd, McpServers: []acpsdk.McpServer{}})
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.cancel.Store(&cancel)
	_, err := c.conn.Prompt(ctx, acpsdk.PromptRequest{SessionId: id, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock(step.Prompt)}})
	if ctx.Err() != nil {
		<-c.cancelled.seen
	}
	return err
}

func (c *pairClient) HandleExtensionMethod(_ context.Context, method string, params json.RawMessage) (any, error) {
	if method == "_test/stopped" {
		c.stopped <- struct{}{}
	}
	return params, nil
}

func (c *pairClient) RequestPermission(ctx context.Context, p acpsdk.RequestPermissionRequest) (r acpsdk.RequestPermissionResponse, err error) {
	<-c.made
	r.Outcome.Cancelled = &acpsdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}
	step := c.step.Load()
	switch step.Pick[0] {
	case "cancel":
		return r, c.conn.Cancel(ctx, acpsdk.CancelNotification{SessionId: p.SessionId})
	case "stop":
		select {
		case <-c.ended: // of an earlier turn
		default:
		}
		(*c.cancel.Load())()
		// The SDK sends both by goroutines of their own.
		<-c.stopped
		<-c.ended
		return r, nil
	case "withdraw":
		if err := c.conn.NotifyExtension(ctx, "_test/withdraw", struct{}{}); err != nil {
			return r, err
		}
		<-ctx.Done()
		return r, ctx.Err()
	}
	for _, wish := range step.Pick {
		i := slices.IndexFunc(p.Options, func(o acpsdk.PermissionOption) bool { return strings.HasPrefix(o.Name, wish) })
		if i >= 0 {
			return acpsdk.RequestPermissionResponse{Outcome: acpsdk.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
		}
	}
	return r, errUnused
}

func (c *pairClient) SessionUpdate(context.Context, acpsdk.SessionNotification) error { return nil }

func (c *pairClient) WriteTextFile(_ context.Context, p acpsdk.WriteTextFileRequest) (r acpsdk.WriteTextFileResponse, err error) {
	return r, refusedIf(strings.HasSuffix(p.Path, "/locked"))
}

func (c *pairClient) ReadTextFile(context.Context, acpsdk.ReadTextFileRequest) (acpsdk.ReadTextFileResponse, error) {
	return acpsdk.ReadTextFileResponse{Content: "content"}, nil
}

func (c *pairClient) CreateTerminal(_ context.Context, p acpsdk.CreateTerminalRequest) (acpsdk.CreateTerminalResponse, error) {
	return acpsdk.CreateTerminalResponse{TerminalId: "term-1"}, refusedIf(p.Command == "terraform")
}

func (c *pairClient) TerminalOutput(context.Context, acpsdk.TerminalOutputRequest) (acpsdk.TerminalOutputResponse, error) {
	return acpsdk.TerminalOutputResponse{Output: "listing"}, nil
}

func (c *pairClient) WaitForTerminalExit(context.Context, acpsdk.WaitForTerminalExitRequest) (acpsdk.WaitForTerminalExitResponse, error) {
	return acpsdk.WaitForTerminalExitResponse{ExitCode: acpsdk.Ptr(0)}, nil
}

func (c *pairClient) KillTerminal(context.Context, acpsdk.KillTerminalRequest) (r acpsdk.KillTerminalResponse, err error) {
	return r, nil
}

func (c *pairClient) ReleaseTerminal(context.Context, acpsdk.ReleaseTerminalRequest) (r acpsdk.ReleaseTerminalResponse, err error) {
	return r, nil
}
