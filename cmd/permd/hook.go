package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/hookproc"
	"github.com/permd/permd/socket/hook"
)

func (a *app) hookCommand() *cobra.Command {
	prompt, after := false, false
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
the harness decides. On an error, or without an answer within ` + strconv.Itoa(int(hookproc.Deadline/time.Second)) + ` seconds, the
call is left to the person or blocked, never allowed.

With --after, at an event after a tool or at the end of a turn: tell the daemon
that the call has run, so that its question waits no longer. That is no answer
to the question. Nothing is printed and the exit code is 0, whether the daemon
runs or not.

With --permission-prompt-tool, run as Claude Code's permission-prompt tool, an
MCP server on standard input and output.

The exit code is 0 if an answer was printed, and 2 if the call is blocked
without one.

` + cli.ExitCodes,
		Example: `  permd hook claude
  permd hook claude --after
  permd hook claude --permission-prompt-tool
  claude -p --permission-prompt-tool mcp__permd__approve "run the tests"`,
		ValidArgs: hook.Names(),
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h := hook.ByName(args[0])
			switch {
			case h == nil:
				hint := cmp.Or(nearest(args[0], subcommands(cmd), cmd.CommandPath()+" "), nearest(args[0], hook.Names(), cmd.CommandPath()+" "), "one of: "+strings.Join(hook.Names(), ", "))
				return cli.Failf(cli.ExitUsage, hint, "unknown harness %q", args[0])
			case prompt && h.Name != "claude":
				return cli.Failf(cli.ExitUsage, "leave it out", "only claude has a permission-prompt tool")
			case prompt && after:
				return cli.Failf(cli.ExitUsage, "leave out one", "--after and --permission-prompt-tool cannot be used together")
			case prompt:
				return a.hookPrompt(cmd.Context())
			}
			answer := hookproc.Answer
			if after {
				answer = hookproc.After
			}
			if code := answer(cmd.Context(), h, a.In, a.Out, a.Err); code != cli.ExitOK {
				return &cli.Failure{Code: code}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&prompt, "permission-prompt-tool", false, "run as Claude Code's permission-prompt tool, an MCP server")
	cmd.Flags().BoolVar(&after, "after", false, "tell the daemon that a call has run, and decide nothing")
	cmd.AddCommand(a.hookInstallCommand(), a.hookUninstallCommand())
	return cmd
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
	ctx, cancel := hookproc.WithDeadline(ctx)
	defer cancel()
	d, err := hookproc.Ask(ctx, hook.ByName("claude"), call.Request)
	if err != nil {
		return call.Failed(hookproc.NoDecision(err))
	}
	return call.Answer(d)
}
