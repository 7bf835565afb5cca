package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/packaging"
)

func (a *app) serviceCommand() *cobra.Command {
	long := `Keep the daemon running under systemd, for you alone: its sockets are always
there, and it is started by the first question.`
	example := `  permd service install
  permd service remove`
	return group("service", "Keep the daemon running by systemd", long, example, a.serviceInstallCommand(), a.serviceRemoveCommand())
}

// serviceOptions are what a person can say about the units.
type serviceOptions struct {
	program string // the permd that is started; "" is this one
	force   bool   // write over units that were changed by hand
	dry     bool   // show the units and write nothing
}

func (a *app) serviceInstallCommand() *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the units that run the daemon for you",
		Long: `Write permd.socket, permd-admin.socket and permd.service into
~/.config/systemd/user, and show the commands that enable them: permd runs
nothing by itself. The daemon then starts with the first question, and again
after a crash.

A unit that was changed by hand is left alone unless --force is given; better,
change it with: systemctl --user edit permd.service

` + cli.ExitCodes,
		Example: `  permd service install
  permd service install --exec ~/.local/bin/permd
  permd service install --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serviceInstall(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.program, "exec", "", "the permd that is started (default: this one)")
	cmd.Flags().BoolVar(&o.force, "force", false, "write over units that were changed by hand")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "show the units and write nothing")
	return cmd
}

// serviceInstall writes the units.
func (a *app) serviceInstall(ctx context.Context, o serviceOptions) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	program, err := service.Program(o.program)
	if err != nil {
		return err
	}
	units, err := packaging.UserUnits(program)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "name another place with --exec", "%v", err)
	}
	if o.dry {
		for _, u := range units {
			fmt.Fprintf(a.Out, "# %s\n%s\n", filepath.Join(service.Dir(dirs), u.Name), u.Text)
		}
		return nil
	}
	report, err := service.Install(service.Dir(dirs), units, o.force)
	if err != nil {
		return err
	}
	if pid := service.StartedByHand(ctx, dirs); pid > 0 {
		report.Next = slices.Insert(report.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without systemd", pid))
	}
	return a.reportService(report)
}

func (a *app) serviceRemoveCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the units again",
		Long: `Remove what permd service install wrote, with the links that enabling the
sockets made, and show the commands that stop what still runs. Rules, settings,
choices and the journal stay.

` + cli.ExitCodes,
		Example: `  permd service remove`,
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return a.serviceRemove(force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove units that were changed by hand too")
	return cmd
}

// serviceRemove removes the units.
func (a *app) serviceRemove(force bool) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	report, err := service.Remove(service.Dir(dirs), force)
	if err != nil {
		return err
	}
	return a.reportService(report)
}

func (a *app) reportService(r *service.Report) error {
	if a.JSON {
		return cli.PrintIndented(a.Out, r)
	}
	for _, f := range r.Files {
		fmt.Fprintf(a.Out, "%-9s  %s\n", f.Action, f.Path)
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(a.Out, "\nNow run:\n")
		for _, n := range r.Next {
			fmt.Fprintf(a.Out, "  %s\n", n)
		}
	}
	return nil
}
