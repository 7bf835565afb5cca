package service

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
)

// Manager is a service manager that listens on the daemon's sockets and starts it for one
// user. Its files are called units, also where it has another word for them.
type Manager struct {
	// Name is systemd or launchd.
	Name string
	// Names are the names of the units that are installed.
	Names []string
	// Reload and Enable are the commands that make it take units, Start and Restart those that
	// start the daemon.
	Reload, Enable, Start, Restart string

	dir     func(xdg.Dirs) string
	links   func(dir string) []string
	units   func(program string, dirs xdg.Dirs) ([]packaging.Unit, error)
	program func(unit string) (program string, plain bool)
	folders func(xdg.Dirs) []string // in which it makes the sockets, and which it does not make
	// The commands that the user has to run: after units were installed, for a daemon that is
	// not enabled yet or that was enabled by Enabled, and after they were removed.
	installed, enabled, removed []string
	// replaced comes before them if units that were there have changed.
	replaced []string
}

// systemd runs the daemon on Linux.
var systemd = &Manager{
	Name:    "systemd",
	Names:   []string{packaging.DecisionSocket, packaging.AdminSocket, packaging.Service},
	Reload:  "systemctl --user daemon-reload",
	Enable:  "systemctl --user enable --now " + sockets,
	Start:   "systemctl --user start " + sockets,
	Restart: "systemctl --user restart " + packaging.Service,
	dir:     func(dirs xdg.Dirs) string { return filepath.Join(filepath.Dir(dirs.Config), "systemd", "user") },
	// The links that systemctl enable creates for the sockets.
	links: func(dir string) []string {
		wants := filepath.Join(dir, "sockets.target.wants")
		return []string{filepath.Join(wants, packaging.DecisionSocket), filepath.Join(wants, packaging.AdminSocket)}
	},
	units:     func(program string, _ xdg.Dirs) ([]packaging.Unit, error) { return packaging.UserUnits(program) },
	program:   packaging.Program,
	folders:   func(xdg.Dirs) []string { return nil },
	installed: []string{"systemctl --user daemon-reload", "systemctl --user enable --now " + sockets, "permd doctor"},
	enabled:   []string{"systemctl --user daemon-reload", "systemctl --user start " + sockets, "permd doctor"},
	// Stop first: systemd removes the sockets' files only while it knows the units.
	removed: []string{"systemctl --user stop " + sockets + " " + packaging.Service, "systemctl --user daemon-reload"},
}

const sockets = packaging.DecisionSocket + " " + packaging.AdminSocket

// launchd runs the daemon on macOS. It loads every agent of a user's folder when they log in.
var launchd = &Manager{
	Name:    "launchd",
	Names:   []string{packaging.AgentFile},
	Reload:  bootout + " ; " + bootstrap,
	Enable:  bootstrap,
	Start:   bootstrap,
	Restart: "launchctl kickstart -k " + agentTarget,
	dir:     func(dirs xdg.Dirs) string { return dirs.Agents },
	links:   func(string) []string { return nil },
	units: func(program string, dirs xdg.Dirs) ([]packaging.Unit, error) {
		unit, err := packaging.UserAgent(&packaging.Agent{
			Program: program, DecisionSocket: dirs.Socket(), AdminSocket: dirs.AdminSocket(), Log: filepath.Join(dirs.State, "permd.log"),
		})
		return []packaging.Unit{unit}, err
	},
	program:   packaging.AgentProgram,
	folders:   func(dirs xdg.Dirs) []string { return []string{dirs.State, dirs.Run, dirs.Admin} },
	installed: []string{bootstrap, "permd doctor"},
	enabled:   []string{bootstrap, "permd doctor"},
	replaced:  []string{bootout},
	removed:   []string{bootout},
}

const (
	agentTarget = "gui/$(id -u)/" + packaging.AgentLabel
	bootstrap   = "launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/" + packaging.AgentFile
	bootout     = "launchctl bootout " + agentTarget
)

// Here is the service manager of this system, nil if permd knows none.
func Here() *Manager { return of(runtime.GOOS) }

func of(system string) *Manager {
	switch system {
	case "linux":
		return systemd
	case "darwin":
		return launchd
	}
	return nil
}

// Dir returns the folder of the user's units. The rules that protect permd's own files
// contain the same path.
func (m *Manager) Dir(dirs xdg.Dirs) string { return m.dir(dirs) }

// Links returns the links that enable the units.
func (m *Manager) Links(dirs xdg.Dirs) []string { return m.links(m.dir(dirs)) }

// Units returns the units that start the program at a path. It fails for one that they
// cannot name.
func (m *Manager) Units(program string, dirs xdg.Dirs) ([]packaging.Unit, error) {
	return m.units(program, dirs)
}

// Program returns the program that units start, given the text of the last of Names, and
// whether it is named there as Units writes it.
func (m *Manager) Program(unit string) (string, bool) { return m.program(unit) }

// next returns the commands that the user has to run.
func (m *Manager) next(commands []string, replaced bool) []string {
	if replaced {
		return append(slices.Clone(m.replaced), commands...)
	}
	return slices.Clone(commands)
}

// Again returns the command that writes the units for a program anew, and has them taken.
func (m *Manager) Again(exec string) string {
	return strings.TrimSpace("permd service install "+exec) + " && " + m.Reload
}
