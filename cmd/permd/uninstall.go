package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/cmd/permd/internal/setup"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/client"
)

type uninstallOptions struct{ yes, dryRun, purge bool }

// uninstallReport is what permd uninstall prints with --json.
type uninstallReport struct {
	Places []setup.Installed `json:"places"`
	Units  []string          `json:"units"`
	Purge  []string          `json:"purge"`
	// Kept are permd's folders that stay.
	Kept   []string `json:"kept"`
	DryRun bool     `json:"dryRun,omitzero"`
	Next   []string `json:"next"`
}

func (a *app) uninstallCommand() *cobra.Command {
	var o uninstallOptions
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take back everything that permd has set up",
		Long: `Undo permd hook install, permd acp install and permd service install, wherever
they were used: first the hooks of harnesses and the agents of ACP clients, so
that none runs a permd that is gone, and then the systemd units. What will be
removed is shown, and it is asked before.

If permd cannot be taken out of one place, nothing is changed, and it is said
what to do there by hand. The settings of codecompanion, avante and agent-shell
are code: permd acp uninstall says what to remove. The program itself stays.

Rules, settings, remembered choices and the journal stay too, unless --purge is
given. That deletes permd's folders of your user, with the backups of changed
files; it needs a daemon that does not run.

` + cli.ExitCodes,
		Example: `  permd uninstall --dry-run
  permd uninstall
  permd uninstall --purge --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.uninstall(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "remove without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be removed")
	f.BoolVar(&o.purge, "purge", false, "also delete your rules, settings, remembered choices and the journal")
	return cmd
}

// uninstall takes permd out of other programs, and then removes its units.
func (a *app) uninstall(ctx context.Context, o uninstallOptions) error {
	if a.JSON && !o.yes && !o.dryRun {
		return cli.Failf(cli.ExitUsage, "add --yes or --dry-run", "--json does not ask for confirmation")
	}
	dirs, err := account.OwnDirs(a.root)
	if err != nil {
		return err
	}
	r, err := a.planUninstall(ctx, dirs, o)
	if err != nil {
		return err
	}
	if !a.JSON {
		a.renderUninstall(r)
	}
	nothing := len(r.Places)+len(r.Units)+len(r.Purge) == 0
	if o.dryRun || nothing {
		if r.DryRun = o.dryRun; a.JSON {
			return cli.PrintJSON(a.Out, r)
		}
		return nil
	}
	for i := range r.Places {
		if p := &r.Places[i]; p.ByHand != "" {
			return cli.Failf(cli.ExitError, "remove it by hand, or with: "+p.Command, "nothing was changed: %s: %s", p.File, p.ByHand)
		}
	}
	if !o.yes {
		if err := a.Confirm("Remove all of it?"); err != nil {
			return err
		}
	}
	manager, byHand := service.Here(), 0
	if manager != nil {
		byHand = manager.StartedByHand(ctx, dirs)
	}
	if err := a.remove(dirs, r); err != nil {
		return err
	}
	if byHand > 0 {
		r.Next = slices.Insert(r.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without %s", byHand, manager.Name))
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, r)
	}
	fmt.Fprintln(a.Out, "removed")
	a.renderKept(r)
	if len(r.Next) > 0 {
		if len(r.Places) > 0 {
			fmt.Fprintf(a.Out, "\nSessions of agents that run already still ask permd: end them first.\n")
		}
		fmt.Fprintf(a.Out, "\nNow run:\n")
		for _, n := range r.Next {
			fmt.Fprintf(a.Out, "  %s\n", n)
		}
	}
	return nil
}

// planUninstall finds what is to be removed.
func (a *app) planUninstall(ctx context.Context, dirs xdg.Dirs, o uninstallOptions) (*uninstallReport, error) {
	places, err := a.installer().Installed()
	if err != nil {
		return nil, err
	}
	r := &uninstallReport{Places: append([]setup.Installed{}, places...), Units: []string{}, Purge: []string{}, Kept: []string{}, Next: []string{}}
	manager := service.Here()
	var units []string
	if manager != nil {
		units = manager.Links(dirs)
		for _, name := range manager.Names {
			units = append(units, filepath.Join(manager.Dir(dirs), name))
		}
	}
	for _, path := range units {
		if _, err := os.Lstat(path); err == nil {
			r.Units = append(r.Units, path)
		}
	}
	if len(r.Units) > 0 {
		if err := manager.Removable(dirs); err != nil {
			return nil, err
		}
	}
	if !o.purge {
		for _, dir := range []string{dirs.Config, dirs.Data, dirs.State} {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				r.Kept = append(r.Kept, dir)
			}
		}
		return r, nil
	}
	for _, dir := range []string{dirs.Config, dirs.Data, dirs.State} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("looking at permd's folder: %w", err)
		case !info.IsDir() || filepath.Base(dir) != "permd":
			return nil, cli.Failf(cli.ExitError, "delete by hand what belongs to permd there", "%s is no folder of permd alone", dir)
		default:
			r.Purge = append(r.Purge, dir)
		}
	}
	// With a unit that listens, to look would start the daemon.
	running := len(r.Units) > 0
	if !running {
		if c, err := client.Dial(ctx, dirs.AdminSocket(), client.Options{Admin: true}); err == nil {
			_ = c.Close() // nothing was asked
			running = true
		}
	}
	if running && !o.dryRun {
		return nil, cli.Failf(cli.ExitError, "use permd uninstall without --purge first, run the commands that it prints, and stop the daemon",
			"the daemon runs, or systemd would start it, so what it holds cannot be deleted; nothing was changed")
	}
	return r, nil
}

// remove removes what was found, in the order that leaves no program with a permd that is
// not there.
func (a *app) remove(dirs xdg.Dirs, r *uninstallReport) error {
	for i := range r.Places {
		if err := r.Places[i].Remove(a.installer()); err != nil {
			return fmt.Errorf("%w (the units of the daemon were not removed)", err)
		}
	}
	left, err := a.installer().Installed()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return cli.Failf(cli.ExitError, "remove it by hand, or with: "+left[0].Command, "%s still runs permd (the units of the daemon were not removed)", left[0].File)
	}
	if len(r.Units) > 0 {
		done, err := service.Here().Remove(dirs, false)
		if err != nil {
			return err
		}
		r.Next = append(r.Next, done.Next...)
	}
	for _, dir := range r.Purge {
		if err := os.RemoveAll(dir); err != nil { //nolint:forbidigo // permd's own folders, which the person was shown
			return fmt.Errorf("deleting permd's folder: %w", err)
		}
	}
	return nil
}

func (a *app) renderUninstall(r *uninstallReport) {
	for i := range r.Places {
		p := &r.Places[i]
		fmt.Fprintf(a.Out, "%-9s  %s (%s)\n", cli.Either(p.ByHand == "", "to remove", "by hand"), p.File, p.Command)
	}
	for _, path := range r.Units {
		fmt.Fprintf(a.Out, "to remove  %s\n", path)
	}
	for _, dir := range r.Purge {
		fmt.Fprintf(a.Out, "to delete  %s, with all that is in it\n", dir)
	}
	if len(r.Places)+len(r.Units)+len(r.Purge) == 0 {
		fmt.Fprintln(a.Out, "permd is not set up anywhere")
		a.renderKept(r)
	}
}

// renderKept says what stays, and what deletes it.
func (a *app) renderKept(r *uninstallReport) {
	for _, dir := range r.Kept {
		fmt.Fprintf(a.Out, "kept       %s (permd uninstall --purge)\n", dir)
	}
}
