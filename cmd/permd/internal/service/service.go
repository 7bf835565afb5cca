// Package service writes, enables and removes the units of systemd, and on macOS the agent of
// launchd, that run the daemon for one user. It runs neither systemctl nor launchctl, but
// returns the commands for the user to run.
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

// statusTimeout bounds the wait for the daemon's status.
const statusTimeout = 10 * time.Second

// StartedByHand returns the id of a daemon that the service manager did not start, 0 if
// there is none. The service manager would replace its sockets.
func (m *Manager) StartedByHand(ctx context.Context, dirs xdg.Dirs) int {
	enabled := m.Links(dirs)
	if len(enabled) == 0 {
		enabled = []string{filepath.Join(m.dir(dirs), m.Names[0])}
	}
	for _, path := range enabled {
		if _, err := os.Lstat(path); err == nil {
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

// Installed reports whether there are units for this user, changed ones too.
func (m *Manager) Installed(dirs xdg.Dirs) bool {
	_, err := os.Lstat(filepath.Join(m.dir(dirs), m.Names[0]))
	return err == nil
}

// Install writes the units. If one of them must not be overwritten, it writes none.
func (m *Manager) Install(dirs xdg.Dirs, units []packaging.Unit, force bool) (*Report, error) {
	dir := m.dir(dirs)
	if !force {
		if err := m.checkUnchanged(dirs, "overwrite"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of units: %w", err)
	}
	for _, folder := range m.folders(dirs) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of a socket: %w", err)
		}
		if err := xdg.CheckOwn(folder, uint32(os.Geteuid()), 0o077); err != nil {
			return nil, cli.Failf(cli.ExitError, "make it a folder of yours with mode 0700", "the folder of a socket: %v", err)
		}
	}
	report := &Report{}
	replaced := false
	for _, u := range units {
		path := filepath.Join(dir, u.Name)
		have, there, _, err := ReadUnit(path)
		if err != nil {
			return nil, err
		}
		f := files.Change{Path: path, Action: "unchanged"}
		if want := Marked(u.Text); !bytes.Equal(have, want) {
			f.Action = "wrote"
			replaced = replaced || there
			if err := files.ReplaceUnsynced(path, want); err != nil {
				return nil, fmt.Errorf("writing a unit: %w", err)
			}
		}
		report.Files = append(report.Files, f)
	}
	report.Next = m.next(m.installed, replaced)
	return report, nil
}

// SetEnabled creates the links that systemctl enable creates: from the next login on, the
// service manager starts the daemon at the first connection. launchd needs none.
func (m *Manager) SetEnabled(dirs xdg.Dirs, report *Report) error {
	dir := m.dir(dirs)
	for _, link := range m.links(dir) {
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
	report.Next = m.next(m.enabled, false)
	return nil
}

// Removable returns an error if Remove would refuse to remove the units.
func (m *Manager) Removable(dirs xdg.Dirs) error { return m.checkUnchanged(dirs, "remove") }

// Remove removes the units and the links to them.
func (m *Manager) Remove(dirs xdg.Dirs, force bool) (*Report, error) {
	dir := m.dir(dirs)
	if !force {
		if err := m.checkUnchanged(dirs, "remove"); err != nil {
			return nil, err
		}
	}
	report := &Report{}
	for _, path := range m.links(dir) {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			continue // not enabled, or somebody else's file
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("disabling a socket: %w", err)
		}
		report.Files = append(report.Files, files.Change{Path: path, Action: "removed"})
	}
	removed := false
	for _, name := range m.Names {
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
		report.Next = m.next(m.removed, false)
	}
	return report, nil
}
