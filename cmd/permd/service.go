package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) serviceCommand() *cobra.Command {
	long := `Keep the daemon running under systemd, for you alone: its sockets are always
there, and it is started by the first question.`
	example := `  permd service install
  permd service remove`
	return group("service", "Keep the daemon running by systemd", long, example, a.serviceInstallCommand(), a.serviceRemoveCommand())
}

// serviceReport is what the two commands did. Its JSON form is kept.
type serviceReport struct {
	Files []serviceFile `json:"files"`
	// Next are the commands that make it count, which permd does not run.
	Next []string `json:"next"`
}

type serviceFile struct {
	Path   string `json:"path"`
	Action string `json:"action"` // wrote, unchanged, removed, absent
}

func (a *app) serviceInstallCommand() *cobra.Command {
	var program string
	var force, dry bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the units that run the daemon for you",
		Long: `Write permd.socket, permd-admin.socket and permd.service into
~/.config/systemd/user, and show the commands that enable them: permd runs
nothing by itself. The daemon then starts with the first question, and again
after a crash.

A unit that was changed by hand is left alone unless --force is given; better,
change it with: systemctl --user edit permd.service

` + exitCodes,
		Example: `  permd service install
  permd service install --exec ~/.local/bin/permd
  permd service install --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := a.dirs()
			if err != nil {
				return err
			}
			program, err := serviceProgram(program)
			if err != nil {
				return err
			}
			units, err := packaging.UserUnits(program)
			if err != nil {
				return failf(exitUsage, "name another place with --exec", "%v", err)
			}
			if dry {
				for _, u := range units {
					fmt.Fprintf(a.out, "# %s\n%s\n", filepath.Join(unitDir(dirs), u.Name), u.Text)
				}
				return nil
			}
			report, err := installUnits(unitDir(dirs), units, force)
			if err != nil {
				return err
			}
			if pid := startedByHand(cmd.Context(), dirs); pid > 0 {
				report.Next = slices.Insert(report.Next, 0, fmt.Sprintf("kill -TERM %d   # the daemon that runs without systemd", pid))
			}
			return a.reportService(report)
		},
	}
	cmd.Flags().StringVar(&program, "exec", "", "the permd that is started (default: this one)")
	cmd.Flags().BoolVar(&force, "force", false, "write over units that were changed by hand")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show the units and write nothing")
	return cmd
}

func (a *app) serviceRemoveCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the units again",
		Long: `Remove what permd service install wrote, with the links that enabling the
sockets made, and show the commands that stop what still runs. Rules, settings,
choices and the journal stay.

` + exitCodes,
		Example: `  permd service remove`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dirs, err := a.dirs()
			if err != nil {
				return err
			}
			report, err := removeUnits(unitDir(dirs), force)
			if err != nil {
				return err
			}
			return a.reportService(report)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove units that were changed by hand too")
	return cmd
}

func (a *app) reportService(r *serviceReport) error {
	if a.json {
		return printIndented(a.out, r)
	}
	for _, f := range r.Files {
		fmt.Fprintf(a.out, "%-9s  %s\n", f.Action, f.Path)
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(a.out, "\nNow run:\n")
		for _, n := range r.Next {
			fmt.Fprintf(a.out, "  %s\n", n)
		}
	}
	return nil
}

// unitDir is where a person's units are; the fence around permd's own files
// names them there.
func unitDir(dirs xdg.Dirs) string {
	return filepath.Join(filepath.Dir(dirs.Config), "systemd", "user")
}

// unitNames are the files that are installed.
var unitNames = []string{packaging.DecisionSocket, packaging.AdminSocket, packaging.Service}

// enabledLinks are the links that systemctl enable makes for the sockets.
func enabledLinks(dir string) []string {
	wants := filepath.Join(dir, "sockets.target.wants")
	return []string{filepath.Join(wants, packaging.DecisionSocket), filepath.Join(wants, packaging.AdminSocket)}
}

// startedByHand is the process of a daemon that holds the sockets by itself, 0
// if there is none. systemd would take their paths from under it.
func startedByHand(ctx context.Context, dirs xdg.Dirs) int {
	for _, link := range enabledLinks(unitDir(dirs)) {
		if _, err := os.Lstat(link); err == nil {
			return 0
		}
	}
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	c, err := client.Dial(ctx, dirs.AdminSocket(), client.Options{Admin: true})
	if err != nil {
		return 0
	}
	defer c.Close()
	var s status
	if err := c.Call(ctx, admin.MethodStatus, struct{}{}, &s); err != nil {
		return 0
	}
	return s.PID
}

// serviceProgram is the absolute path of the program that the service starts.
func serviceProgram(chosen string) (string, error) {
	const hint = "install permd where it stays (go install ./cmd/permd), or name it with --exec"
	find := os.Executable
	if chosen != "" {
		find = func() (string, error) { return filepath.Abs(chosen) }
	}
	path, err := find()
	if err != nil {
		return "", failf(exitError, hint, "finding the program: %v", err)
	}
	// go run builds into a folder that goes away when permd ends.
	if chosen == "" && strings.Contains(path, string(filepath.Separator)+"go-build") {
		return "", failf(exitError, hint, "this permd is a build that will not stay: %s", path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", failf(exitError, hint, "looking at the program: %v", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0:
		return "", failf(exitError, hint, "%s is not a program", path)
	case info.Mode().Perm()&0o002 != 0:
		return "", failf(exitError, "chmod o-w "+path, "everybody can change %s, and what decides for you must be yours", path)
	}
	return path, nil
}

// mark begins the first line of a unit that permd wrote. What follows it is the
// digest of the rest, so that an older permd's unit is told from one that a
// person has changed.
const mark = "# Written by permd service install; sha256 of what follows: "

func marked(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return []byte(mark + hex.EncodeToString(sum[:]) + "\n" + text)
}

// ownUnit reports whether data is a unit just as a permd wrote it.
func ownUnit(data []byte) bool {
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && bytes.Equal(data, marked(string(rest)))
}

// readUnit reads an installed unit: its text, whether something is there, and
// whether permd wrote it as it is. A link is never permd's.
func readUnit(path string) (data []byte, there, own bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, fmt.Errorf("looking at a unit: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, true, false, nil
	}
	if data, err = os.ReadFile(path); err != nil {
		return nil, true, false, fmt.Errorf("reading a unit: %w", err)
	}
	return data, true, ownUnit(data), nil
}

// refuseChanged fails if one of the units is there and not as a permd wrote it.
func refuseChanged(dir, verb string) error {
	for _, name := range unitNames {
		path := filepath.Join(dir, name)
		_, there, own, err := readUnit(path)
		if err != nil {
			return err
		}
		if there && !own {
			return failf(exitError, "look at it, then use --force to "+verb+" it", "%s was changed, or is not permd's", path)
		}
	}
	return nil
}

// installUnits writes the units into dir: all of them or, if one must be left
// alone, none.
func installUnits(dir string, units []packaging.Unit, force bool) (*serviceReport, error) {
	if !force {
		if err := refuseChanged(dir, "overwrite"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of units: %w", err)
	}
	report := &serviceReport{}
	for _, u := range units {
		path := filepath.Join(dir, u.Name)
		have, _, _, err := readUnit(path)
		if err != nil {
			return nil, err
		}
		f := serviceFile{path, "unchanged"}
		if want := marked(u.Text); !bytes.Equal(have, want) {
			f.Action = "wrote"
			if err := replaceFile(path, want); err != nil {
				return nil, fmt.Errorf("writing a unit: %w", err)
			}
		}
		report.Files = append(report.Files, f)
	}
	report.Next = []string{
		"systemctl --user daemon-reload",
		"systemctl --user enable --now " + packaging.DecisionSocket + " " + packaging.AdminSocket,
		"permd doctor",
	}
	return report, nil
}

// enableSockets makes the links that systemctl enable makes, so that from the
// next login on the daemon starts when somebody asks it.
func enableSockets(dir string, report *serviceReport) error {
	for _, link := range enabledLinks(dir) {
		f := serviceFile{link, "unchanged"}
		if _, err := os.Lstat(link); errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				return fmt.Errorf("enabling a socket: %w", err)
			}
			if err := os.Symlink(filepath.Join(dir, filepath.Base(link)), link); err != nil {
				return fmt.Errorf("enabling a socket: %w", err)
			}
			f.Action = "enabled"
		} else if err != nil {
			return fmt.Errorf("enabling a socket: %w", err)
		}
		report.Files = append(report.Files, f)
	}
	report.Next = []string{
		"systemctl --user daemon-reload",
		"systemctl --user start " + packaging.DecisionSocket + " " + packaging.AdminSocket,
		"permd doctor",
	}
	return nil
}

// removeUnits removes the units and the links to them.
func removeUnits(dir string, force bool) (*serviceReport, error) {
	if !force {
		if err := refuseChanged(dir, "remove"); err != nil {
			return nil, err
		}
	}
	report := &serviceReport{}
	for _, path := range enabledLinks(dir) {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			continue // not enabled, or a file that a person has put there
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("disabling a socket: %w", err)
		}
		report.Files = append(report.Files, serviceFile{path, "removed"})
	}
	removed := false
	for _, name := range unitNames {
		f := serviceFile{filepath.Join(dir, name), "removed"}
		switch err := os.Remove(f.Path); {
		case errors.Is(err, fs.ErrNotExist):
			f.Action = "absent"
		case err != nil:
			return nil, fmt.Errorf("removing a unit: %w", err)
		default:
			removed = true
		}
		report.Files = append(report.Files, f)
	}
	if removed {
		// Stopping comes first: systemd removes the sockets' files as long as it
		// knows the units.
		report.Next = []string{
			"systemctl --user stop " + strings.Join(unitNames, " "),
			"systemctl --user daemon-reload",
		}
	}
	return report, nil
}

// replaceFile puts a file in the place of another, whole or not at all.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".permd-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
