// Package service writes, enables and removes the systemd units that run the
// daemon for one person. It runs nothing: what systemctl has to do, it says.
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

// Report is what the two commands did. Its JSON form is kept.
type Report struct {
	Files []files.Change `json:"files"`
	// Next are the commands that make it count, which permd does not run.
	Next []string `json:"next"`
}

// Dir is where a person's units are; the fence around permd's own files
// names them there.
func Dir(dirs xdg.Dirs) string {
	return filepath.Join(filepath.Dir(dirs.Config), "systemd", "user")
}

// UnitNames are the files that are installed.
var UnitNames = []string{packaging.DecisionSocket, packaging.AdminSocket, packaging.Service}

// Links are the links that systemctl enable makes for the sockets.
func Links(dir string) []string {
	wants := filepath.Join(dir, "sockets.target.wants")
	return []string{filepath.Join(wants, packaging.DecisionSocket), filepath.Join(wants, packaging.AdminSocket)}
}

// statusLimit is how long the daemon may take to say which process it is.
const statusLimit = 10 * time.Second

// StartedByHand is the process of a daemon that holds the sockets by itself, 0
// if there is none. systemd would take their paths from under it.
func StartedByHand(ctx context.Context, dirs xdg.Dirs) int {
	for _, link := range Links(Dir(dirs)) {
		if _, err := os.Lstat(link); err == nil {
			return 0
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
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

// Program is the absolute path of the program that the service starts.
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
	// go run builds into a folder that goes away when permd ends.
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

// Install writes the units into dir: all of them or, if one must be left
// alone, none.
func Install(dir string, units []packaging.Unit, force bool) (*Report, error) {
	if !force {
		if err := refuseChanged(dir, "overwrite"); err != nil {
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

// Enable makes the links that systemctl enable makes, so that from the
// next login on the daemon starts when somebody asks it.
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

// Remove removes the units and the links to them.
func Remove(dir string, force bool) (*Report, error) {
	if !force {
		if err := refuseChanged(dir, "remove"); err != nil {
			return nil, err
		}
	}
	report := &Report{}
	for _, path := range Links(dir) {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			continue // not enabled, or a file that a person has put there
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
		// Stopping comes first: systemd removes the sockets' files as long as it
		// knows the units.
		report.Next = []string{
			"systemctl --user stop " + strings.Join(UnitNames, " "),
			"systemctl --user daemon-reload",
		}
	}
	return report, nil
}
