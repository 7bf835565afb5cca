package setup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/cmd/permd/internal/service"
)

// installReport is the result for one configuration file. Its JSON form is stable.
type installReport struct {
	File string `json:"file,omitzero"`
	// Action is wrote, removed, unchanged, absent, or by hand. With --dry-run it is
	// what would be done.
	Action string         `json:"action"`
	DryRun bool           `json:"dryRun,omitzero"`
	Diff   string         `json:"diff,omitzero"`
	Backup string         `json:"backup,omitzero"`
	Units  []files.Change `json:"units,omitempty"`
	Notes  []string       `json:"notes,omitempty"`
	Next   []string       `json:"next,omitempty"`
}

func newInstallReport(c *configChange, changed, same string) installReport {
	r := installReport{File: c.place.path, Action: changed, Diff: lineDiff(c.place.path, c.before, c.after)}
	if c.isEmpty() {
		r.Action, r.Diff = same, ""
	}
	return r
}

// checkAsked returns an error if the user could not be asked and has not confirmed.
func (i *Installer) checkAsked(o *Options) error {
	if i.JSON && !o.Yes && !o.DryRun {
		return cli.Failf(cli.ExitUsage, "add --yes or --dry-run", "--json does not ask for confirmation")
	}
	return nil
}

// confirmChange shows the change, asks for confirmation, and makes it. With
// --dry-run it only shows it.
func (i *Installer) confirmChange(c *configChange, s configStore, r *installReport, o *Options) error {
	if !i.JSON && r.Diff != "" {
		fmt.Fprintf(i.Out, "%s\n", visibleLines(r.Diff))
	}
	if o.DryRun {
		r.DryRun = true
		return nil
	}
	if r.Diff != "" && !o.Yes {
		if err := i.Confirm("Make this change?"); err != nil {
			return err
		}
	}
	return c.apply(s, uint32(os.Geteuid()))
}

// installUnits installs the units of the daemon for the service manager of this system unless
// they exist, so that the daemon runs when it is first asked.
func (i *Installer) installUnits(ctx context.Context, program string, r *installReport, o *Options) error {
	manager := service.Here()
	if manager == nil || o.NoService {
		return nil
	}
	dirs, err := account.Dirs(i.Root)
	if err != nil {
		return err
	}
	if manager.Installed(dirs) {
		return nil
	}
	units, err := manager.Units(program, dirs)
	if err != nil {
		return cli.Failf(cli.ExitError, "name another place with --exec, or use --no-service", "%s is written; the units are not: %v", r.File, err)
	}
	byHand := manager.StartedByHand(ctx, dirs)
	report, err := manager.Install(dirs, units, false)
	if err == nil {
		err = manager.SetEnabled(dirs, report)
	}
	if err != nil {
		return fmt.Errorf("%s is written; the units are not: %w", r.File, err)
	}
	if byHand > 0 {
		report.Next = slices.Insert(report.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without %s", byHand, manager.Name))
	}
	r.Units, r.Next = report.Files, append(r.Next, report.Next...)
	return nil
}

// print prints the report in readable form. what is shown if there is no file.
func (r *installReport) print(w io.Writer, what string) {
	action := r.Action
	if r.DryRun && r.Diff != "" {
		action = map[string]string{"wrote": "to write", "removed": "to remove"}[r.Action]
	}
	fmt.Fprintf(w, "%-9s  %s\n", action, cmp.Or(r.File, what))
	if r.Backup != "" {
		fmt.Fprintf(w, "%-9s  %s\n", "backup", r.Backup)
	}
	for _, f := range r.Units {
		fmt.Fprintf(w, "%-9s  %s\n", f.Action, f.Path)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(w, "\nNote:\n")
		for _, n := range r.Notes {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(w, "\nNow run:\n")
		for _, n := range r.Next {
			fmt.Fprintf(w, "  %s\n", n)
		}
	}
}
