// Package service writes, enables and removes the systemd units that run the daemon for
// one user. It does not run systemctl, but returns the commands for the user to run.
package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// Report is the output of service install and remove. Its JSON form is stable.
type Report struct {
	Files []files.Change `json:"files"`
	// Next are commands that the user has to run for the change to take effect.
	Next []string `json:"next"`
}

// Dir returns the folder of the user's units. The rules that protect permd's own files
// contain the same path.
func Dir(dirs xdg.Dirs) string {
	return filepath.Join(filepath.Dir(dirs.Config), "systemd", "user")
}

// UnitNames are the names of the installed units.
var UnitNames = []string{packaging.DecisionSocket, packaging.AdminSocket, packaging.Service}

// Links returns the links that systemctl enable creates for the sockets.
func Links(dir string) []string {
	wants := filepath.Join(dir, "sockets.target.wants")
	return []string{filepath.Join(wants, packaging.DecisionSocket), filepath.Join(wants, packaging.AdminSocket)}
}

// statusTimeout bounds the wait for the daemon's status.
const statusTimeout = 10 * time.Second

// StartedByHand returns the id of a daemon that systemd did not start, 0 if there is
// none. systemd would replace its sockets.
func StartedByHand(ctx context.Context, dirs xdg.Dirs) int {
	for _, link := range Links(Dir(dirs)) {
		if _, err := os.Lstat(link); err == nil {
			return 0
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	c, err := client.Dial(ctx, dirs.AdminSocket(), client.Options{Admin: true})
	if err != nil {
		return 0
	}
	defer c.Close()
	var status struct {
		PID int `json:"pid"`
	}
	if err := c.Call(ctx, admin.MethodStatus, struct{}{}, &status); err != nil {
		return 0
	}
	return status.PID
}

// Program returns the absolute path of the program that the service starts.
func Program(chosen string) (string, error) {
	const hint = "install permd where it stays (go install ./cmd/permd), or name it with --exec"
	find := os.Executable
	if chosen != "" {
		find = func() (string, error) { return filepath.Abs(chosen) }
	}
	path, err := find()
	if err != nil {
		return "", cli.Failf(cli.ExitError, hint, "finding the program: %v", err)
	}
	// go run builds into a temporary folder, which is removed when permd ends.
	if chosen == "" && strings.Contains(path, string(filepath.Separator)+"go-build") {
		return "", cli.Failf(cli.ExitError, hint, "this permd is a build that will not stay: %s", path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", cli.Failf(cli.ExitError, hint, "looking at the program: %v", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0:
		return "", cli.Failf(cli.ExitError, hint, "%s is not a program", path)
	case info.Mode().Perm()&0o002 != 0:
		return "", cli.Failf(cli.ExitError, "chmod o-w "+path, "everybody can change %s, and what decides for you must be yours", path)
	}
	return path, nil
}

// Install writes the units into dir. If one of them must not be overwritten, it writes
// none.
func Install(dir string, units []packaging.Unit, force bool) (*Report, error) {
	if !force {
		if err := checkUnchanged(dir, "overwrite"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of units: %w", err)
	}
	report := &Report{}
	for _, u := range units {
		path := filepath.Join(dir, u.Name)
		have, _, _, err := ReadUnit(path)
		if err != nil {
			return nil, err
		}
		f := files.Change{Path: path, Action: "unchanged"}
		if want := Marked(u.Text); !bytes.Equal(have, want) {
			f.Action = "wrote"
			if err := files.ReplaceUnsynced(path, want); err != nil {
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

// Enable creates the links that systemctl enable creates: from the next login on,
// systemd starts the daemon at the first connection.
func Enable(dir string, report *Report) error {
	for _, link := range Links(dir) {
		f := files.Change{Path: link, Action: "unchanged"}
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

// Removable returns an error if Remove would refuse to remove the units.
func Removable(dir string) error { return checkUnchanged(dir, "remove") }

// Remove removes the units and the links to them.
func Remove(dir string, force bool) (*Report, error) {
	if !force {
		if err := checkUnchanged(dir, "remove"); err != nil {
			return nil, err
		}
	}
	report := &Report{}
	for _, path := range Links(dir) {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			continue // not enabled, or somebody else's file
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("disabling a socket: %w", err)
		}
		report.Files = append(report.Files, files.Change{Path: path, Action: "removed"})
	}
	removed := false
	for _, name := range UnitNames {
		f := files.Change{Path: filepath.Join(dir, name), Action: "removed"}
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
		// Stop first: systemd removes the sockets' files only while it knows the units.
		report.Next = []string{
			"systemctl --user stop " + strings.Join(UnitNames, " "),
			"systemctl --user daemon-reload",
		}
	}
	return report, nil
}
