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
	long := `Run the daemon under systemd for your user, on macOS under launchd. It listens
on the daemon's sockets and starts it with the first request.`
	example := `  permd service install
  permd service remove`
	return group("service", "Run the daemon under systemd or launchd", long, example, a.serviceInstallCommand(), a.serviceRemoveCommand())
}

// serviceOptions are the options of service install.
type serviceOptions struct {
	program string // the permd to run; "" means this one
	force   bool   // overwrite units that were changed by hand
	dryRun  bool   // print the units without writing them
}

func (a *app) serviceInstallCommand() *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install systemd user units, or a launchd agent, for the daemon",
		Long: `Write permd.socket, permd-admin.socket and permd.service to
~/.config/systemd/user, and print the commands that enable them; permd does not
run them itself. The daemon then starts with the first request, and again after
a crash. On macOS, the agent io.github.permd.permd.plist is written to
~/Library/LaunchAgents instead; it was never tried on a Mac.

A unit that was changed by hand is kept, unless --force is given. To keep your
changes apart, use: systemctl --user edit permd.service

` + cli.ExitCodes,
		Example: `  permd service install
  permd service install --exec ~/.local/bin/permd
  permd service install --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serviceInstall(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.program, "exec", "", "`path` of the permd to run (default: this one)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite units that were changed by hand")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the units without writing them")
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
	manager, err := here()
	if err != nil {
		return err
	}
	units, err := manager.Units(program, dirs)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "name another place with --exec", "%v", err)
	}
	if o.dryRun {
		if a.JSON {
			return a.unitsAsJSON(manager.Dir(dirs), units)
		}
		for _, u := range units {
			fmt.Fprintf(a.Out, "# %s\n%s\n", filepath.Join(manager.Dir(dirs), u.Name), u.Text)
		}
		return nil
	}
	report, err := manager.Install(dirs, units, o.force)
	if err != nil {
		return err
	}
	if pid := manager.StartedByHand(ctx, dirs); pid > 0 {
		report.Next = slices.Insert(report.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without %s", pid, manager.Name))
	}
	return a.reportService(report)
}

// here returns the service manager of this system.
func here() (*service.Manager, error) {
	if m := service.Here(); m != nil {
		return m, nil
	}
	return nil, cli.Failf(cli.ExitError, "start it with: permd serve", "permd knows no service manager of this system")
}

// unitsAsJSON prints what would be written, in the form of the report.
func (a *app) unitsAsJSON(dir string, units []packaging.Unit) error {
	type unit struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	list := make([]unit, len(units))
	for i, u := range units {
		list[i] = unit{filepath.Join(dir, u.Name), u.Text}
	}
	return cli.PrintJSON(a.Out, map[string]any{"dryRun": true, "files": list})
}

func (a *app) serviceRemoveCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the systemd user units, or the launchd agent",
		Long: `Remove the units that permd service install wrote and the links that enable
them, and print the commands that stop a running daemon. Rules, settings,
remembered choices and the journal are kept.

` + cli.ExitCodes,
		Example: `  permd service remove`,
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return a.serviceRemove(force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also remove units that were changed by hand")
	return cmd
}

// serviceRemove removes the units.
func (a *app) serviceRemove(force bool) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	manager, err := here()
	if err != nil {
		return err
	}
	report, err := manager.Remove(dirs, force)
	if err != nil {
		return err
	}
	return a.reportService(report)
}

func (a *app) reportService(r *service.Report) error {
	if a.JSON {
		return cli.PrintJSON(a.Out, r)
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
