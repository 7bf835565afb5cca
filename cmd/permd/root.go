package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/gateways"
	"github.com/permd/permd/cmd/permd/internal/trusting"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// app holds the state that all subcommands share.
type app struct {
	cli.Streams
	root string // prefix of /etc and /var, from --root
}

// dirs returns permd's directories for this process.
func (a *app) dirs() (xdg.Dirs, error) { return account.Dirs(a.root) }

// run runs permd with the given arguments and returns its exit code.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{Streams: cli.Streams{In: in, Out: out, Err: errw}}
	cmd := a.command()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errw)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Once the context is canceled, restore the default handling, so that a
	// second signal kills a command that does not return, such as one that
	// blocks on writing its output.
	context.AfterFunc(ctx, stop)
	err := cmd.ExecuteContext(ctx)
	// Where the options could not be parsed, --json counts as far as it is there.
	if own := slices.Index(args, "--"); own >= 0 {
		args = args[:own]
	}
	a.JSON = a.JSON || err != nil && slices.Contains(args, "--json")
	return a.hookRefused(args, a.report(err))
}

// report prints an error in permd's form and returns its exit code.
func (a *app) report(err error) int {
	if err == nil {
		return cli.ExitOK
	}
	code, hint := cli.ExitError, ""
	if f, ok := errors.AsType[*cli.Failure](err); ok {
		code, hint = f.Code, f.Hint
		if f.Err == nil {
			return code
		}
	} else {
		if errors.Is(err, client.ErrUnreachable) {
			code = cli.ExitUnreachable
		}
		if h, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); ok {
			hint = h.Hint()
		}
	}
	// What the daemon refuses says by itself what is wrong.
	refused, ok := errors.AsType[*client.Error](err)
	if ok = ok && refused.Code == socket.CodeParams; hint == "" && !ok {
		hint = cli.Hints[code]
	}
	text := err.Error()
	if ok { // words of the protocol mean nothing to a person
		text = strings.Replace(text, "invalid params: ", "", 1)
	}
	if a.JSON {
		_ = cli.PrintJSON(a.Err, map[string]any{"error": errorJSON{text, hint, code}})
		return code
	}
	fmt.Fprintf(a.Err, "permd: error: %s\n", cli.Visible(text))
	if hint != "" {
		fmt.Fprintf(a.Err, "permd: hint: %s\n", cli.Visible(hint))
	}
	return code
}

// errorJSON is an error as --json prints it, as the member error of an object on standard
// error.
type errorJSON struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
	Code    int    `json:"exitCode"`
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:         "permd",
		Annotations: cli.ReadsOnly,
		Short:       "Decide whether an AI agent's tool call may run",
		Long: `permd decides whether an AI agent's tool call may run. Editors and agent
harnesses send it each call over a Unix socket; it answers allow, deny or ask,
with the reason.

With --json a command prints a JSON object; one that lists prints an object for
each entry, one a line. An error is an object on standard error, with the member
"error" that holds message, hint and exitCode.

` + cli.ExitCodes,
		Example: `  permd serve
  permd status
  permd try 'git push -f'`,
		Version:       buildinfo.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return helpOf(cmd)
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	// Lines of help fit a terminal.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	flags := root.PersistentFlags()
	flags.BoolVar(&a.JSON, "json", false, "print JSON")
	flags.StringVar(&a.root, "root", "", "use /etc and /var below this `directory` (for tests)")
	root.AddGroup(
		&cobra.Group{ID: "daemon", Title: "Daemon:"},
		&cobra.Group{ID: "calls", Title: "Calls and decisions:"},
		&cobra.Group{ID: "policy", Title: "Policies:"},
		&cobra.Group{ID: "setup", Title: "Setup and diagnosis:"},
	)
	root.SetHelpCommand(helpCommand())
	through := &gateways.Gateways{
		Streams: &a.Streams, Dirs: a.dirs, Dial: dialDaemon, Printer: a.printer, Render: renderDecision,
		Caller: func(ctx context.Context, local bool) (client.Caller, func(), error) {
			return a.caller(ctx, &decideOptions{local: local})
		},
	}
	for _, sub := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{"daemon", a.serveCommand()},
		{"daemon", a.statusCommand()},
		{"daemon", a.reloadCommand()},
		{"daemon", a.pauseCommand()},
		{"daemon", a.resumeCommand()},
		{"daemon", a.lockCommand()},
		{"daemon", a.unlockCommand()},
		{"policy", trusting.Command(&a.Streams)},
		{"calls", a.decideCommand()},
		{"calls", a.tryCommand()},
		{"calls", a.acpCommand()},
		{"calls", through.AAP()},
		{"calls", through.MCP()},
		{"calls", through.OTC()},
		{"calls", through.RAP()},
		{"calls", a.explainCommand()},
		{"calls", a.logCommand()},
		{"calls", a.todayCommand()},
		{"calls", a.rememberCommand()},
		{"calls", a.allowCommand()},
		{"calls", a.denyCommand()},
		{"calls", a.reviewCommand()},
		{"setup", a.hookCommand()},
		{"policy", a.policyCommand()},
		{"policy", a.importCommand()},
		{"policy", a.replayCommand()},
		{"policy", a.whyAskedCommand()},
		{"policy", a.suggestCommand()},
		{"setup", a.initCommand()},
		{"setup", a.doctorCommand()},
		{"setup", a.serviceCommand()},
		{"setup", a.uninstallCommand()},
		{"setup", a.completionCommand()},
		{"setup", a.versionCommand()},
		{"setup", a.generateCommand()},
	} {
		sub.cmd.GroupID = sub.group
		root.AddCommand(sub.cmd)
	}
	usageErrors(root)
	a.completeFlags(root)
	return root
}
