package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/internal/xdg"
)

// hookReport is what install or uninstall did. Its JSON form is kept.
type hookReport struct {
	Harness string `json:"harness"`
	installReport
}

// hookOptions are the flags of install and uninstall.
type hookOptions struct {
	installOptions
	managed bool
}

func (o *hookOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.managed, "managed", false, "the organisation's settings of the harness, for everybody on this machine (as root)")
	o.installOptions.flags(cmd)
}

func (a *app) hookInstallCommand() *cobra.Command {
	var o hookOptions
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

` + exitCodes,
		Example: `  permd hook install claude
  permd hook install codex --dry-run
  sudo permd hook install copilot --managed`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: slices.Concat(hookHarnesses, []string{"opencode"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hookInstall(cmd, args[0], &o)
		},
	}
	o.flags(cmd)
	o.programFlags(cmd)
	return cmd
}

func (a *app) hookUninstallCommand() *cobra.Command {
	var o hookOptions
	cmd := &cobra.Command{
		Use:   "uninstall HARNESS",
		Short: "Take permd out of a harness's configuration again",
		Long: `Undo permd hook install: give back the file as it was, if nobody changed it
since, and else take out permd's entries alone. The change is shown first. From
then on the harness goes by its own rules only.

The units of the daemon stay; permd service remove removes them.

` + exitCodes,
		Example: `  permd hook uninstall claude
  sudo permd hook uninstall copilot --managed --yes`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: slices.Concat(hookHarnesses, []string{"opencode"}),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.hookUninstall(args[0], &o)
		},
	}
	o.flags(cmd)
	return cmd
}

// byHand is what a person does for opencode, whose hooks cannot stop a tool.
var byHand = []string{
	`in opencode.json, set "permission": {"*": "ask"}: opencode then asks before its tools run`,
	"run the bridge that answers its questions by permd; docs/hooks.md shows it",
}

func (a *app) hookInstall(cmd *cobra.Command, harness string, o *hookOptions) error {
	if harness == "opencode" {
		return a.reportHook(&hookReport{harness, installReport{Action: "by hand", Notes: byHand}})
	}
	place, store, err := a.configPlace(harness, o)
	if err != nil {
		return err
	}
	program, err := serviceProgram(o.exec)
	if err != nil {
		return err
	}
	if err := checkNamedProgram(program); err != nil {
		return err
	}
	c, err := planInstall(place, store, program, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := &hookReport{harness, newInstallReport(c, "wrote", "unchanged")}
	report.Notes = place.notes
	if report.Action == "unchanged" {
		report.Notes = nil
	}
	if err := a.confirmChange(c, store, &report.installReport, &o.installOptions); err != nil {
		return err
	}
	if report.DryRun {
		return a.reportHook(report)
	}
	if c.base != nil {
		report.Backup = store.backup(place)
	}
	if o.managed {
		if runtime.GOOS == "linux" && !o.noService {
			report.Next = append(report.Next, "permd service install   # each person, for the daemon")
		}
		return a.reportHook(report)
	}
	if err := a.unitsToo(cmd.Context(), program, &report.installReport, &o.installOptions); err != nil {
		return err
	}
	return a.reportHook(report)
}

func (a *app) hookUninstall(harness string, o *hookOptions) error {
	if harness == "opencode" {
		return a.reportHook(&hookReport{harness, installReport{Action: "by hand", Notes: []string{"end the bridge, and take the permission setting back"}}})
	}
	place, store, err := a.configPlace(harness, o)
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
		report.Notes = append(report.Notes, "the file still names permd hook "+harness+", not as install writes it: take that out by hand, or it is still asked")
	}
	if err := a.confirmChange(c, store, &report.installReport, &o.installOptions); err != nil {
		return err
	}
	return a.reportHook(report)
}

// configPlace is the file that is changed, and where its backup is.
func (a *app) configPlace(harness string, o *hookOptions) (*configPlace, configStore, error) {
	if !slices.Contains(hookHarnesses, harness) {
		return nil, configStore{}, failf(exitUsage, "one of: "+strings.Join(hookHarnesses, ", ")+", opencode", "there is no harness %q", harness)
	}
	if err := a.checkAsked(&o.installOptions); err != nil {
		return nil, configStore{}, err
	}
	dirs, err := a.dirs()
	if o.managed {
		store := configStore{filepath.Join("/", a.root, "var/lib/permd/hooks")}
		if places := managedPlaces(a.hookPlaces(harness, ""), true); len(places) > 0 {
			return &places[0], store, err
		}
		return nil, store, failf(exitUsage, "install it for each person: permd hook install "+harness, "%s has no settings for an organisation", harness)
	}
	if err == nil {
		dirs, err = a.ownDirs()
	}
	if err != nil {
		return nil, configStore{}, err
	}
	home, err := personHome()
	if err != nil {
		return nil, configStore{}, err
	}
	return &managedPlaces(a.hookPlaces(harness, home), false)[0], configStore{filepath.Join(dirs.Data, "hooks")}, nil
}

// personHome is where harnesses look for a person's settings, if it is theirs.
func personHome() (string, error) {
	home := os.Getenv("HOME")
	if home == "" {
		home = xdg.FromOS().Home
	}
	if !filepath.IsAbs(home) {
		return "", failf(exitError, "set HOME to a folder that is yours", "the home folder %q is not an absolute path", home)
	}
	return filepath.Clean(home), checkHome(home)
}

func (a *app) reportHook(r *hookReport) error {
	if a.json {
		return printIndented(a.out, r)
	}
	r.print(a.out, r.Harness)
	return nil
}
