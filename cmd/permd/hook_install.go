package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
)

// hookReport is what install or uninstall did. Its JSON form is kept.
type hookReport struct {
	Harness string `json:"harness"`
	File    string `json:"file,omitzero"`
	// Action is wrote, removed, unchanged, absent, or by hand; with --dry-run
	// what would be.
	Action string        `json:"action"`
	DryRun bool          `json:"dryRun,omitzero"`
	Diff   string        `json:"diff,omitzero"`
	Backup string        `json:"backup,omitzero"`
	Units  []serviceFile `json:"units,omitempty"`
	Notes  []string      `json:"notes,omitempty"`
	Next   []string      `json:"next,omitempty"`
}

// hookOptions are the flags of install and uninstall.
type hookOptions struct {
	managed, yes, dry bool
	exec              string
	noService         bool
}

func (o *hookOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.managed, "managed", false, "the organisation's settings of the harness, for everybody on this machine (as root)")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before the change is made")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "show the change and make none")
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
	cmd.Flags().StringVar(&o.exec, "exec", "", "the permd that is run (default: this one)")
	cmd.Flags().BoolVar(&o.noService, "no-service", false, "leave the units of the daemon alone")
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
	"run the bridge that answers its questions by permd; docs/clients.md shows it",
}

func (a *app) hookInstall(cmd *cobra.Command, harness string, o *hookOptions) error {
	if harness == "opencode" {
		return a.reportHook(&hookReport{Harness: harness, Action: "by hand", Notes: byHand})
	}
	place, store, err := a.hookPlace(harness, o)
	if err != nil {
		return err
	}
	program, err := serviceProgram(o.exec)
	if err != nil {
		return err
	}
	if err := checkHookProgram(program); err != nil {
		return err
	}
	c, err := planInstall(place, store, program, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := a.newHookReport(c, "wrote", "unchanged")
	report.Notes = place.notes
	if report.Action == "unchanged" {
		report.Notes = nil
	}
	if done, err := a.confirmHook(c, store, report, o); done || err != nil {
		return err
	}
	if c.base != nil {
		report.Backup = store.backup(place)
	}
	if err := a.hookService(cmd, program, report, o); err != nil {
		return err
	}
	return a.reportHook(report)
}

func (a *app) hookUninstall(harness string, o *hookOptions) error {
	if harness == "opencode" {
		return a.reportHook(&hookReport{Harness: harness, Action: "by hand", Notes: []string{"end the bridge, and take the permission setting back"}})
	}
	place, store, err := a.hookPlace(harness, o)
	if err != nil {
		return err
	}
	c, err := planUninstall(place, store, uint32(os.Geteuid()))
	if err != nil {
		return err
	}
	report := a.newHookReport(c, "removed", "absent")
	if report.Action == "removed" {
		report.Notes = []string{restartNote}
	}
	if bytes.Contains(c.after, []byte("permd")) && bytes.Contains(c.after, []byte(" hook "+harness)) {
		report.Notes = append(report.Notes, "the file still names permd hook "+harness+", not as install writes it: take that out by hand, or it is still asked")
	}
	if done, err := a.confirmHook(c, store, report, o); done || err != nil {
		return err
	}
	return a.reportHook(report)
}

// hookPlace is the file that is changed, and where its backup is.
func (a *app) hookPlace(harness string, o *hookOptions) (*hookPlace, hookStore, error) {
	if !slices.Contains(hookHarnesses, harness) {
		return nil, hookStore{}, failf(exitUsage, "one of: "+strings.Join(hookHarnesses, ", ")+", opencode", "there is no harness %q", harness)
	}
	if a.json && !o.yes && !o.dry {
		return nil, hookStore{}, failf(exitUsage, "say --yes or --dry-run", "with --json nobody is asked")
	}
	dirs, err := a.dirs()
	if o.managed {
		store := hookStore{filepath.Join("/", a.root, "var/lib/permd/hooks")}
		if places := hookPlacesOf(a.hookPlaces(harness, ""), true); len(places) > 0 {
			return &places[0], store, err
		}
		return nil, store, failf(exitUsage, "install it for each person: permd hook install "+harness, "%s has no settings for an organisation", harness)
	}
	if err == nil {
		dirs, err = a.ownDirs()
	}
	if err != nil {
		return nil, hookStore{}, err
	}
	home, err := personHome()
	if err != nil {
		return nil, hookStore{}, err
	}
	return &hookPlacesOf(a.hookPlaces(harness, home), false)[0], hookStore{filepath.Join(dirs.Data, "hooks")}, nil
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

func (a *app) newHookReport(c *hookChange, changed, same string) *hookReport {
	r := &hookReport{Harness: c.place.harness, File: c.place.path, Action: changed, Diff: lineDiff(c.place.path, c.before, c.after)}
	if c.none() {
		r.Action, r.Diff = same, ""
	}
	return r
}

// confirmHook shows the change, asks, and makes it; done means that there is
// nothing more to do.
func (a *app) confirmHook(c *hookChange, s hookStore, r *hookReport, o *hookOptions) (done bool, err error) {
	if !a.json && r.Diff != "" {
		fmt.Fprintf(a.out, "%s\n", r.Diff)
	}
	if o.dry {
		r.DryRun = true
		return true, a.reportHook(r)
	}
	if r.Diff != "" && !o.yes {
		fmt.Fprintf(a.out, "Make this change? [y/N] ")
		line, err := bufio.NewReader(a.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return true, fmt.Errorf("reading the answer: %w", err)
		}
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return true, failf(exitError, "say y, or --yes", "nothing was changed")
		}
	}
	return false, c.apply(s, uint32(os.Geteuid()))
}

// hookService writes the units of the daemon where there are none.
func (a *app) hookService(cmd *cobra.Command, program string, r *hookReport, o *hookOptions) error {
	if runtime.GOOS != "linux" || o.noService {
		return nil
	}
	if o.managed {
		r.Next = append(r.Next, "permd service install   # each person, for the daemon")
		return nil
	}
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(unitDir(dirs), packaging.DecisionSocket)); err == nil {
		return nil
	}
	units, err := packaging.UserUnits(program)
	if err != nil {
		return failf(exitError, "name another place with --exec, or say --no-service", "the hook is installed; the units are not: %v", err)
	}
	byHand := startedByHand(cmd.Context(), dirs)
	report, err := installUnits(unitDir(dirs), units, false)
	if err == nil {
		err = enableSockets(unitDir(dirs), report)
	}
	if err != nil {
		return fmt.Errorf("the hook is installed; the units are not: %w", err)
	}
	if byHand > 0 {
		report.Next = slices.Insert(report.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without systemd", byHand))
	}
	r.Units, r.Next = report.Files, append(r.Next, report.Next...)
	return nil
}

func (a *app) reportHook(r *hookReport) error {
	if a.json {
		return printIndented(a.out, r)
	}
	action := r.Action
	if r.DryRun && r.Diff != "" {
		action = map[string]string{"wrote": "to write", "removed": "to remove"}[r.Action]
	}
	fmt.Fprintf(a.out, "%-9s  %s\n", action, cmp.Or(r.File, r.Harness))
	if r.Backup != "" {
		fmt.Fprintf(a.out, "%-9s  %s\n", "backup", r.Backup)
	}
	for _, f := range r.Units {
		fmt.Fprintf(a.out, "%-9s  %s\n", f.Action, f.Path)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(a.out, "\nNote:\n")
		for _, n := range r.Notes {
			fmt.Fprintf(a.out, "  %s\n", n)
		}
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(a.out, "\nNow run:\n")
		for _, n := range r.Next {
			fmt.Fprintf(a.out, "  %s\n", n)
		}
	}
	return nil
}
