package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/hook"
)

// hookDeadline bounds the run time of a hook, including reading its input. It is
// well below the timeout after which harnesses proceed without an answer: 10
// seconds in the configurations that permd writes.
const hookDeadline = 5 * time.Second

func (a *app) hookCommand() *cobra.Command {
	prompt := false
	cmd := &cobra.Command{
		Use:   "hook HARNESS",
		Short: "Answer an agent harness's hook",
		Long: `Answer the hook of an agent harness: read the call from standard input, ask the
daemon, and answer in the harness's format and with its exit codes.
HARNESS is ` + strings.Join(hook.Names(), ", ") + `.
Harnesses run this command; docs/hooks.md shows their settings.

If permd leaves a call to the person, it tells the harness to ask, provided that
the harness surely will. Otherwise it blocks the call and names the command that
allows it: permd allow. If no rule matches and the harness has rules of its own,
the harness decides. On an error, or without an answer within ` + strconv.Itoa(int(hookDeadline/time.Second)) + ` seconds, the
call is left to the person or blocked, never allowed.

With --permission-prompt-tool, run as Claude Code's permission-prompt tool, an MCP
server on standard input and output.

The exit code is 0 if an answer was printed, and 2 if the call is blocked without
one.

` + cli.ExitCodes,
		Example: `  permd hook claude
  permd hook claude --permission-prompt-tool
  claude -p --permission-prompt-tool mcp__permd__approve "run the tests"`,
		ValidArgs: hook.Names(),
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h := hook.ByName(args[0])
			switch {
			case h == nil:
				return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(hook.Names(), ", "), "unknown harness %q", args[0])
			case prompt && h.Name != "claude":
				return cli.Failf(cli.ExitUsage, "leave it out", "only claude has a permission-prompt tool")
			case prompt:
				return a.hookPrompt(cmd.Context())
			}
			if code := a.hook(cmd.Context(), h); code != cli.ExitOK {
				return &cli.Failure{Code: code}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&prompt, "permission-prompt-tool", false, "run as Claude Code's permission-prompt tool, an MCP server")
	cmd.AddCommand(a.hookInstallCommand(), a.hookUninstallCommand())
	return cmd
}

// hookProcess runs `permd hook HARNESS` without setting up the other commands,
// since an agent waits for it before each call. ok is false for other arguments.
func (a *app) hookProcess(args []string) (code int, ok bool) {
	if len(args) != 2 || args[0] != "hook" {
		return 0, false
	}
	h := hook.ByName(args[1])
	if h == nil {
		return 0, false
	}
	// Most harnesses proceed with the call when a hook dies of a signal.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Some also proceed when a hook dies of SIGPIPE without a message on standard
	// error.
	signal.Ignore(syscall.SIGPIPE)
	return a.hook(ctx, h), true
}

// hookRefused prints an answer that blocks the call if the command line of the
// hook was wrong. It returns code, the exit code.
func (a *app) hookRefused(args []string, code int) int {
	if code == cli.ExitOK || len(args) < 2 || args[0] != "hook" {
		return code
	}
	if h := hook.ByName(args[1]); h != nil && code == cli.ExitUsage {
		out := h.Failed(nil, "its command line is wrong")
		fmt.Fprintf(a.Out, "%s", out.Stdout)
	}
	return code
}

// hook answers one hook.
func (a *app) hook(ctx context.Context, h *hook.Harness) int {
	out := a.hookAnswer(ctx, h)
	if _, err := a.Out.Write(out.Stdout); err != nil && len(out.Stdout) > 0 {
		out = hook.Block("writing the answer: " + err.Error())
	}
	if out.Stderr != "" {
		fmt.Fprint(a.Err, out.Stderr)
	}
	return out.Code
}

func (a *app) hookAnswer(ctx context.Context, h *hook.Harness) (out hook.Output) {
	defer func() {
		if r := recover(); r != nil {
			out = h.Failed(nil, "permd hook broke: "+fmt.Sprint(r))
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, hookDeadline, errors.New("it took too long"))
	defer cancel()
	in, err := readHook(ctx, a.In)
	if err != nil {
		return h.Failed(nil, err.Error())
	}
	req, err := h.Read(in)
	if err != nil {
		return h.Failed(nil, err.Error())
	}
	d, err := askForHook(ctx, h, req)
	if err != nil {
		return h.Failed(req, noDecisionReason(err))
	}
	return h.Answer(req, d)
}

// noDecisionReason says why there is no decision, and what to do.
func noDecisionReason(err error) string {
	if errors.Is(err, client.ErrUnreachable) {
		return "permd cannot decide, " + err.Error() + "; start it with: permd serve"
	}
	return "permd cannot decide, " + err.Error() + "; permd doctor looks for what is wrong"
}

// readHook reads what the harness writes, until it ends or ctx does.
func readHook(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		in  []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		in, err := io.ReadAll(io.LimitReader(r, hook.MaxInput+1))
		done <- result{in, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading what the harness wrote: %w", context.Cause(ctx))
	case got := <-done:
		if got.err != nil {
			return nil, fmt.Errorf("reading what the harness wrote: %w", got.err)
		}
		return got.in, nil
	}
}

// askForHook requests a decision from the daemon.
func askForHook(ctx context.Context, h *hook.Harness, r *hook.Request) (*decisions.Decision, error) {
	c, err := client.Connect(ctx, client.Options{Timeout: hookDeadline})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := client.Session{
		ID: r.Session, Harness: h.Name, Cwd: r.Cwd, Roots: r.Roots, Agent: &h.Agent,
		Client: &effects.Party{Name: "permd hook"}, Mode: r.Mode, AtShell: r.AtShell,
	}
	if r.Parent != "" {
		parent := s
		parent.ID = r.Parent
		if _, err := client.DeclareSession(ctx, c, &parent); err != nil {
			return nil, err
		}
		s.Parent = r.Parent
	}
	if _, err := client.DeclareSession(ctx, c, &s); err != nil {
		return nil, err
	}
	tool := client.Tool{Name: r.Call.Name, Server: r.Call.Server, Source: r.Call.Source}
	decided, err := client.Decide(ctx, c, r.Session, client.ToolCall{ID: r.Call.ID, Tool: tool, Input: r.Call.Input})
	if err != nil {
		return nil, err
	}
	return decided[0], nil
}

// hookPrompt serves the permission-prompt tool until its input ends.
func (a *app) hookPrompt(ctx context.Context) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	p := &hook.Prompt{
		Session: fmt.Sprintf("prompt-%d-%d", os.Getpid(), time.Now().UnixNano()), Cwd: cwd, Version: buildinfo.Version(),
	}
	lines := bufio.NewScanner(a.In)
	lines.Buffer(make([]byte, 0, 64<<10), hook.MaxInput)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		answer, call := p.Line(line)
		if call != nil {
			answer = answerPrompt(ctx, call)
		}
		if _, err := a.Out.Write(answer); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading what the harness wrote: %w", err)
	}
	return nil
}

func answerPrompt(ctx context.Context, call *hook.PromptCall) (answer []byte) {
	defer func() {
		if r := recover(); r != nil {
			answer = call.Failed("permd hook broke: " + fmt.Sprint(r))
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, hookDeadline, errors.New("it took too long"))
	defer cancel()
	d, err := askForHook(ctx, hook.ByName("claude"), call.Request)
	if err != nil {
		return call.Failed(noDecisionReason(err))
	}
	return call.Answer(d)
}
