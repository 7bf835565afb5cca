package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/setup"
)

// installer returns what changes the configuration of other programs.
func (a *app) installer() *setup.Installer { return &setup.Installer{Streams: a.Streams, Root: a.root} }

// changeFlags defines the flags of commands that change the configuration of
// another program.
func changeFlags(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "make the change without asking")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the change without making it")
}

// programFlags defines the flags of commands that write the path of permd.
func programFlags(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().StringVar(&o.Program, "exec", "", "`path` of the permd to run (default: this one)")
	cmd.Flags().BoolVar(&o.NoService, "no-service", false, "do not install systemd units")
}

func managedFlag(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().BoolVar(&o.Managed, "managed", false, "change the harness's managed settings, for all users of this machine (as root)")
}

func (a *app) hookInstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "install HARNESS",
		Short: "Configure a harness to ask permd before each tool call",
		Long: `Add permd hook to the configuration of a harness: claude, codex, gemini, cursor,
copilot or cline. The change is shown and made only after you confirm it. The
rest of the file is preserved, with comments and order. A backup is kept, and
permd hook uninstall restores the file. For opencode, the steps are printed.

The hook is configured with a timeout, and to block the tool if the hook fails,
as far as the harness has settings for that. What it has no setting for is
reported.

With --wait, the hook holds the harness for that time at most where it would
block a call that a person may allow with permd allow, or where nobody is in
front of the harness (see permd hook). The harness's timeout is set to more than
that; Cline has none to set, and waits at most 20 seconds.

With --managed, change the managed settings, which apply to all users of this
machine, instead of your own. With --system in addition, the hook asks the
machine's daemon (permd serve --system) alone: without it, a daemon of a user's
own is asked first.

Unless they exist, systemd units that start the daemon on demand are installed
and enabled too (see permd service install). They take effect at the next login;
the commands that start them now are printed.

` + cli.ExitCodes,
		Example: `  permd hook install claude
  permd hook install codex --dry-run
  permd hook install claude --wait 5m
  sudo permd hook install copilot --managed --system`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: setup.Harnesses(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installer().InstallHook(cmd.Context(), args[0], &o)
		},
	}
	cmd.Flags().Var(cli.Duration{To: &o.Wait}, "wait", "have the hook wait for a person's answer for this `duration`")
	managedFlag(cmd, &o)
	cmd.Flags().BoolVar(&o.System, "system", false, "have managed hooks ask the machine's daemon alone")
	changeFlags(cmd, &o)
	programFlags(cmd, &o)
	return cmd
}

func (a *app) hookUninstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "uninstall HARNESS",
		Short: "Undo permd hook install",
		Long: `Undo permd hook install. If the file has not been changed since, it is restored;
otherwise only permd's entries are removed. The change is shown first. From then
on the harness applies its own rules only.

The daemon's systemd units stay; permd service remove removes them.

` + cli.ExitCodes,
		Example: `  permd hook uninstall claude
  sudo permd hook uninstall copilot --managed --yes`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: setup.Harnesses(),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.installer().UninstallHook(args[0], &o)
		},
	}
	managedFlag(cmd, &o)
	changeFlags(cmd, &o)
	return cmd
}

// hookLimitCommand is what permd hook --wait runs, to know how long it may run.
func (a *app) hookLimitCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "limit HARNESS",
		Short:  "Print how long a harness lets its waiting hooks run, in seconds",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			limit, err := setup.HookLimit(a.root, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Out, int(limit/time.Second))
			return nil
		},
	}
}
