package main

import (
	"cmp"
	"fmt"
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
	var o hookproc.Options
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

With --wait, hold the harness for that time at most where it would block a call
that a person may allow, or where nobody is in front of it: with claude -p, and
if PERMD_UNATTENDED=1 is set in its environment. permd allow lists the call
meanwhile, and permd allow or permd deny answers it. If nobody does, the hook
answers as without --wait. It waits only if the harness's settings let it run
for longer than that, as permd hook install --wait writes them.

With --system, ask the machine's daemon (permd serve --system) and no other,
whatever the environment says. Otherwise a daemon of your own is asked first.

With --permission-prompt-tool, run as Claude Code's permission-prompt tool, an
MCP server on standard input and output.

The exit code is 0 if an answer was printed, and 2 if the call is blocked
without one.

` + cli.ExitCodes,
		Example: `  permd hook claude
  permd hook claude --after
  permd hook claude --wait 5m
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
			case after && o.Wait != 0:
				return cli.Failf(cli.ExitUsage, "leave out one", "--after and --wait cannot be used together")
			}
			if o.Wait != 0 {
				if err := hookproc.CheckWait(o.Wait); err != nil {
					return cli.Failf(cli.ExitUsage, "such as --wait 5m", "--wait %s: %w", o.Wait, err)
				}
			}
			if prompt {
				return hookproc.Prompt(cmd.Context(), o, buildinfo.Version(), a.In, a.Out)
			}
			var code int
			if after {
				code = hookproc.After(cmd.Context(), h, o, a.In, a.Out, a.Err)
			} else {
				code = hookproc.Answer(cmd.Context(), h, o, a.In, a.Out, a.Err)
			}
			if code != cli.ExitOK {
				return &cli.Failure{Code: code}
			}
			return nil
		},
	}
	cmd.Flags().Var(cli.Duration{To: &o.Wait}, "wait", "wait for a person's answer for this `duration`, at most 1h")
	cmd.Flags().BoolVar(&o.System, "system", false, "ask the machine's daemon, and no other")
	cmd.Flags().BoolVar(&prompt, "permission-prompt-tool", false, "run as Claude Code's permission-prompt tool, an MCP server")
	cmd.Flags().BoolVar(&after, "after", false, "tell the daemon that a call has run, and decide nothing")
	cmd.AddCommand(a.hookInstallCommand(), a.hookUninstallCommand(), a.hookLimitCommand())
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
