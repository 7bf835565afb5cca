package setup

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/internal/xdg"
)

// hookReport is the output of install and uninstall. Its JSON form is stable.
type hookReport struct {
	Harness string `json:"harness"`
	installReport
}

// openCodeSteps are the instructions for opencode, whose hooks cannot stop a tool.
var openCodeSteps = []string{
	`in opencode.json, set "permission": {"*": "ask"}: opencode then asks before its tools run`,
	"run the bridge that lets permd answer its questions; see docs/hooks.md",
}

// InstallHook configures a harness to ask permd before each tool call.
func (i *Installer) InstallHook(ctx context.Context, harness string, o *Options) error {
	if harness == openCode {
		return i.reportHook(&hookReport{harness, installReport{Action: "by hand", Notes: openCodeSteps}})
	}
	if err := checkWait(harness, o.Wait); err != nil {
		return err
	}
	if o.System && !o.Managed {
		return cli.Failf(cli.ExitUsage, "add --managed, or leave --system out", "only managed hooks ask the machine's daemon alone")
	}
	place, store, err := i.configPlace(harness, o)
	if err != nil {
		return err
	}
	program, err := namedProgram(o.Program)
	if err != nil {
		return err
	}
	c, err := planInstall(place, store, program, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &hookReport{harness, newInstallReport(c, "wrote", "unchanged")}
	report.Notes = slices.Clone(place.notes)
	if report.Action == "unchanged" {
		report.Notes = nil
	}
	var after *configChange
	if place.after != nil {
		if after, err = planInstall(place.after, store, program, uint32(os.Geteuid())); err != nil {
			// Calls are asked about nevertheless.
			report.Notes, after = append(report.Notes, "permd is not told what has run: "+err.Error()), nil
		}
		report.include(after, "wrote")
	}
	if err := i.confirmChange(c, store, &report.installReport, o); err != nil {
		return err
	}
	if after != nil && !report.DryRun {
		if err := after.apply(store, uint32(os.Geteuid())); err != nil {
			return err
		}
	}
	if report.DryRun {
		return i.reportHook(report)
	}
	if c.base != nil {
		report.Backup = store.backup(place)
	}
	if o.Managed {
		switch {
		case service.Here() == nil || o.NoService:
		case o.System:
			report.Next = append(report.Next, "systemctl enable --now permd.socket permd-admin.socket   # one daemon for all", "gpasswd --add USER permd   # for each user")
		default:
			report.Next = append(report.Next, "permd service install   # each user, for the daemon")
			if i.Root == "" && machineDaemon() {
				report.Notes = append(report.Notes, systemNote)
			}
		}
		return i.reportHook(report)
	}
	if err := i.installUnits(ctx, program, &report.installReport, o); err != nil {
		return err
	}
	return i.reportHook(report)
}

// systemNote is for a managed hook that a daemon of the person's own may answer.
const systemNote = "this machine has a daemon for all people, but the hook asks a daemon of a person's own first, which an agent could start with rules of its own; --system has it ask the machine's alone"

// machineDaemon reports whether this machine has a daemon for all people, which may wait for its
// first question.
func machineDaemon() bool {
	info, err := os.Lstat(xdg.MachineSocket(xdg.FromOS(), false).Path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// UninstallHook removes permd from the configuration of a harness.
func (i *Installer) UninstallHook(harness string, o *Options) error {
	if harness == openCode {
		return i.reportHook(&hookReport{harness, installReport{Action: "by hand", Notes: []string{"stop the bridge, and remove the permission setting"}}})
	}
	place, store, err := i.configPlace(harness, o)
	if err != nil {
		return err
	}
	c, err := planUninstall(place, store, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &hookReport{harness, newInstallReport(c, "removed", "absent")}
	if report.Action == "removed" {
		report.Notes = []string{restartNote}
	}
	if bytes.Contains(c.after, []byte("permd")) && bytes.Contains(c.after, []byte(" hook "+harness)) {
		report.Notes = append(report.Notes, "the file still has permd hook "+harness+", but not as install writes it: remove it by hand, or the harness keeps asking permd")
	}
	var after *configChange
	if place.after != nil {
		if after, err = planUninstall(place.after, store, uint32(os.Geteuid())); err != nil {
			report.Notes, after = append(report.Notes, err.Error()), nil
		}
		report.include(after, "removed")
	}
	first, second := c, after
	if after != nil {
		first, second = after, c // the folder goes with the first file, and has to be empty by then
	}
	if err := i.confirmChange(first, store, &report.installReport, o); err != nil {
		return err
	}
	if second != nil && !report.DryRun {
		if err := second.apply(store, uint32(os.Geteuid())); err != nil {
			return err
		}
	}
	return i.reportHook(report)
}

// include adds the change of a second file, which may be nil, to the report of the first.
func (r *hookReport) include(c *configChange, done string) {
	if c == nil {
		return
	}
	other := newInstallReport(c, done, "")
	if other.Action == done {
		if r.Diff == "" {
			r.File = c.place.path
		}
		r.Action, r.Diff = done, r.Diff+other.Diff
		r.Notes = append(r.Notes, "with "+c.place.path+", which tells permd what has run")
	}
}

// configPlace returns the file to change and the store of its backup.
func (i *Installer) configPlace(harness string, o *Options) (*configPlace, configStore, error) {
	if !slices.Contains(hookHarnesses(), harness) {
		return nil, configStore{}, cli.Failf(cli.ExitUsage, "one of: "+strings.Join(Harnesses(), ", "), "there is no harness %q", harness)
	}
	if err := i.checkAsked(o); err != nil {
		return nil, configStore{}, err
	}
	dirs, err := account.Dirs(i.Root)
	if o.Managed {
		store := configStore{filepath.Join("/", i.Root, "var/lib/permd/hooks")}
		if places := managedPlaces(hookPlaces(i.Root, harness, "", hookOptions{o.Wait, o.System}), true); len(places) > 0 {
			return &places[0], store, err
		}
		return nil, store, cli.Failf(cli.ExitUsage, "install it for each user: permd hook install "+harness, "%s has no managed settings", harness)
	}
	if err == nil {
		dirs, err = account.OwnDirs(i.Root)
	}
	if err != nil {
		return nil, configStore{}, err
	}
	home, err := account.Home()
	if err != nil {
		return nil, configStore{}, err
	}
	return &managedPlaces(hookPlaces(i.Root, harness, home, hookOptions{wait: o.Wait}), false)[0], configStore{filepath.Join(dirs.Data, "hooks")}, nil
}

func (i *Installer) reportHook(r *hookReport) error {
	if i.JSON {
		return cli.PrintJSON(i.Out, r)
	}
	r.print(i.Out, r.Harness)
	return nil
}
