package main

import (
	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/setup"
)

// installer is what changes configurations of other programs.
func (a *app) installer() *setup.Installer { return &setup.Installer{Streams: a.Streams, Root: a.root} }

// changeFlags are those of commands that change the configuration of another
// program.
func changeFlags(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask before the change is made")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the change and make none")
}

// programFlags are those of commands that write the path of permd.
func programFlags(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().StringVar(&o.Program, "exec", "", "the permd that is run (default: this one)")
	cmd.Flags().BoolVar(&o.NoService, "no-service", false, "leave the units of the daemon alone")
}

func managedFlag(cmd *cobra.Command, o *setup.Options) {
	cmd.Flags().BoolVar(&o.Managed, "managed", false, "the organisation's settings of the harness, for everybody on this machine (as root)")
}

func (a *app) hookInstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "install HARNESS",
		Short: "Make a harness ask permd before its tools run",
		Long: `Add permd hook to the configuration of a harness: claude, codex, gemini, cursor,
copilot or cline. The change is shown first, and made when you say yes. What is
in the file stays as it is, with its comments and its order. A backup is kept,
and permd hook uninstall gives the same file back.

The hook gets the time limit and the switches with which that harness stops a
tool when the hook fails. What the harness has no switch for is said.

With --managed, the settings that the organisation gives to everybody on this
machine are changed instead. For opencode, what to do is shown.

The units that start the daemon with the first question are written and enabled
too, where there are none (see permd service install). They count from the next
login on; the commands that start them now are shown.

` + cli.ExitCodes,
		Example: `  permd hook install claude
  permd hook install codex --dry-run
  sudo permd hook install copilot --managed`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: setup.Harnesses(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installer().InstallHook(cmd.Context(), args[0], &o)
		},
	}
	managedFlag(cmd, &o)
	changeFlags(cmd, &o)
	programFlags(cmd, &o)
	return cmd
}

func (a *app) hookUninstallCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "uninstall HARNESS",
		Short: "Take permd out of a harness's configuration again",
		Long: `Undo permd hook install: give back the file as it was, if nobody changed it
since, and else take out permd's entries alone. The change is shown first. From
then on the harness goes by its own rules only.

The units of the daemon stay; permd service remove removes them.

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
