package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	acpsdk "github.com/coder/acp-go-sdk"
)

// asAgent makes this test binary an agent, for tests of permd acp: the next
// argument is the kind of agent.
const asAgent = "acp-test-agent"

func init() {
	if len(os.Args) > 2 && os.Args[1] == asAgent {
		os.Exit(runAgent(os.Args[2], os.Args[3:]))
	}
}

func runAgent(kind string, args []string) int {
	switch kind {
	case "pair":
		return runPairAgent()
	case "pair-client":
		return runPairClient(args[0])
	case "tap":
		return runTap(args[0], args[1:])
	case "relay":
		return runRelay(args[0], args[1:])
	case "sdk":
		a := &sdkAgent{made: make(chan struct{})}
		a.conn = acpsdk.NewAgentSideConnection(a, os.Stdout, os.Stdin)
		close(a.made) // it answers before there is a connection to answer on
		<-a.conn.Done()
	case "echo": // prints what it reads
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 1
		}
	case "exit": // prints its arguments, and ends with a status
		fmt.Println(strings.Join(args, " "))
		fmt.Fprintln(os.Stderr, "words of the agent")
		return 42
	case "crash": // dies in the middle of a line
		fmt.Print(`{"jsonrpc":"2.0","method":"_whole"}` + "\n" + `{"jsonrpc":"2.0","me`)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "signal": // ends with the signal, and prints that its child got it too
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		child := exec.Command(os.Args[0], asAgent, "child")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return 1
		}
		<-signals
		_ = child.Wait()
		signal.Reset(syscall.SIGTERM)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(time.Minute)
	case "child":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		<-signals
		fmt.Println("the child was told")
	case "deaf": // prints how it is told to end, and continues until its input ends
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, syscall.SIGTERM)
		go func() {
			for range signals {
				fmt.Println("told")
			}
		}()
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 7
	case "cling": // ignores signals that end programs
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "linger": // does nothing until a signal ends it
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "orphan": // leaves a process running that keeps its output open
		child := exec.Command(os.Args[0], asAgent, "child")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return 1
		}
		return 0
	}
	return 0
}

// sdkAgent is an agent of the Go SDK. Each prompt is one action, whose result it
// sends as a message.
type sdkAgent struct {
	acpsdk.Agent // what is not overridden is not called
	conn         *acpsdk.AgentSideConnection
	made         chan struct{}
	calls        int
}

func (a *sdkAgent) Initialize(context.Context, acpsdk.InitializeRequest) (acpsdk.InitializeResponse, error) {
	return acpsdk.InitializeResponse{
		ProtocolVersion: acpsdk.ProtocolVersionNumber,
		AgentInfo:       &acpsdk.Implementation{Name: "claude-agent-acp", Version: "0.100.0"},
	}, nil
}

func (a *sdkAgent) NewSession(context.Context, acpsdk.NewSessionRequest) (acpsdk.NewSessionResponse, error) {
	return acpsdk.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *sdkAgent) SetSessionMode(context.Context, acpsdk.SetSessionModeRequest) (acpsdk.SetSessionModeResponse, error) {
	return acpsdk.SetSessionModeResponse{}, nil
}

func (a *sdkAgent) Cancel(context.Context, acpsdk.CancelNotification) error { return nil }

func (a *sdkAgent) Prompt(ctx context.Context, p acpsdk.PromptRequest) (r acpsdk.PromptResponse, err error) {
	<-a.made
	r.StopReason = acpsdk.StopReasonEndTurn
	verb, what, _ := strings.Cut(p.Prompt[0].Text.Text, " ")
	said := ""
	switch verb {
	case "run":
		said, err = a.permission(ctx, p.SessionId, what)
	case "write":
		_, err = a.conn.WriteTextFile(ctx, acpsdk.WriteTextFileRequest{SessionId: p.SessionId, Path: what, Content: "text"})
		said = "wrote"
	case "read":
		var f acpsdk.ReadTextFileResponse
		f, err = a.conn.ReadTextFile(ctx, acpsdk.ReadTextFileRequest{SessionId: p.SessionId, Path: what})
		said = f.Content
	case "terminal":
		var made acpsdk.CreateTerminalResponse
		words := strings.Fields(what)
		made, err = a.conn.CreateTerminal(ctx, acpsdk.CreateTerminalRequest{SessionId: p.SessionId, Command: words[0], Args: words[1:]})
		said = made.TerminalId
	}
	if err != nil {
		said = "error: " + err.Error()
	}
	return r, a.conn.SessionUpdate(ctx, acpsdk.SessionNotification{SessionId: p.SessionId, Update: acpsdk.UpdateAgentMessageText(said)})
}

// permission announces a call and asks about it by its id alone.
func (a *sdkAgent) permission(ctx context.Context, id acpsdk.SessionId, command string) (string, error) {
	a.calls++
	call := acpsdk.ToolCallId(fmt.Sprintf("call-%d", a.calls))
	u := acpsdk.StartToolCall(call, command, acpsdk.WithStartKind(acpsdk.ToolKindExecute), acpsdk.WithStartRawInput(map[string]any{"command": command}))
	u.ToolCall.Meta = map[string]any{"claudeCode": map[string]any{"toolName": "Bash"}}
	if err := a.conn.SessionUpdate(ctx, acpsdk.SessionNotification{SessionId: id, Update: u}); err != nil {
		return "", err
	}
	answer, err := a.conn.RequestPermission(ctx, acpsdk.RequestPermissionRequest{
		SessionId: id, ToolCall: acpsdk.ToolCallUpdate{ToolCallId: call},
		Options: []acpsdk.PermissionOption{
			{OptionId: "allow-always", Name: "Always Allow", Kind: acpsdk.PermissionOptionKindAllowAlways},
			{OptionId: "allow-once", Name: "Allow", Kind: acpsdk.PermissionOptionKindAllowOnce},
			{OptionId: "reject", Name: "Reject", Kind: acpsdk.PermissionOptionKindRejectOnce},
		},
	})
	switch {
	case err != nil:
		return "", err
	case answer.Outcome.Selected == nil:
		return "cancelled", nil
	}
	return string(answer.Outcome.Selected.OptionId), nil
}
