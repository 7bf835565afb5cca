// Package xdg determines permd's folders: where configuration, data, state and sockets
// are for a user and for the machine, and whether a folder can be trusted to hold them.
// It follows the XDG Base Directory Specification 0.8.
//
// It creates nothing and reads no configuration.
package xdg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
)

// The names of the sockets and their folders. Each socket has a folder of its own, so
// that a sandbox can be given access to one of them alone: a client that asks for
// decisions does not need to answer questions.
const (
	socketName      = "permd.sock"
	adminSocketName = "admin.sock"
	httpSocketName  = "http.sock"
	runName         = "permd"
	adminName       = "permd-admin"
	httpName        = "permd-http"
)

// Env is the environment that the folders depend on.
type Env struct {
	// Getenv reads an environment variable; "" if it is not set.
	Getenv func(string) string
	// UID is the effective user id.
	UID int
	// Home is the home folder if $HOME is not set.
	Home string
	// Hostname separates the sockets of machines that share a home folder.
	Hostname string
	// OS is the system, a value of runtime.GOOS. Only "darwin" makes a difference.
	OS string
	// System is the root of the machine's folders, "" for /. It is for tests; users set
	// Options.Root.
	System string
}

// FromOS returns the environment of this process.
func FromOS() Env {
	e := Env{Getenv: os.Getenv, UID: os.Geteuid(), OS: runtime.GOOS}
	// Without a host name or a passwd entry, most folders are still known. Find reports
	// what is missing if it is needed.
	e.Hostname, _ = os.Hostname()
	if os.Getenv("HOME") == "" {
		if u, err := user.LookupId(strconv.Itoa(e.UID)); err == nil {
			e.Home = u.HomeDir
		}
	}
	return e
}

// Options select whose folders to find.
type Options struct {
	// System selects the folders of a daemon for the whole machine.
	System bool
	// Root is prepended to /etc and /var, for tests and trials. It must be absolute. In
	// system mode it is an error: the user who starts the daemon could otherwise bypass
	// the organisation's rules.
	Root string
}

// Dirs are permd's folders. All paths are absolute. The folders need not exist.
type Dirs struct {
	// System is set for the folders of a daemon that serves several people
	// (Options.System). Other settings for such a daemon are derived from it.
	System bool
	// Org contains the organisation's rules and settings, in both modes.
	Org string
	// Config contains the user's rules and settings. In system mode it is Org.
	Config string
	// Data contains the databases, which must not be lost.
	Data string
	// State contains what may be lost: the ids of rejects, and the sockets where there is no
	// runtime folder.
	State string
	// Run contains the decision socket, Admin the management socket, HTTP the socket for
	// HTTP.
	Run   string
	Admin string
	HTTP  string
	// Agents is the folder of the user's launchd agents on macOS, "" on other systems and in
	// system mode.
	Agents string
	// Ignored names the environment variables that are set but not used, because their
	// value is not an absolute path or, for XDG_RUNTIME_DIR, not a private folder of this
	// user.
	Ignored []string
}

// Socket returns the path of the decision socket.
func (d Dirs) Socket() string { return filepath.Join(d.Run, socketName) }

// AdminSocket returns the path of the management socket.
func (d Dirs) AdminSocket() string { return filepath.Join(d.Admin, adminSocketName) }

// HTTPSocket returns the path of the socket for HTTP.
func (d Dirs) HTTPSocket() string { return filepath.Join(d.HTTP, httpSocketName) }

// HTTPToken returns the path of the file with the token for HTTP on a loopback address.
func (d Dirs) HTTPToken() string { return filepath.Join(d.Data, "http.token") }

// adminSocketFor returns the management socket that belongs to a decision socket at a
// path chosen by the user: in a separate folder next to that of the decision socket.
func adminSocketFor(socket string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(socket)), adminName, adminSocketName)
}

// Find returns the folders. Relative values of XDG variables are ignored, as the
// specification requires. It fails without an absolute home folder (except in system
// mode) and for an invalid Root.
func Find(e Env, o Options) (Dirs, error) {
	if o.System {
		if o.Root != "" {
			return Dirs{}, errors.New("a root cannot be chosen in system mode")
		}
		return e.system(), nil
	}
	if o.Root != "" && !filepath.IsAbs(o.Root) {
		return Dirs{}, errors.New("the root must be an absolute path")
	}
	home, err := e.home()
	if err != nil {
		return Dirs{}, err
	}
	var d Dirs
	base := func(name string, def ...string) string {
		v := e.Getenv(name)
		if filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
		if v != "" {
			d.Ignored = append(d.Ignored, name)
		}
		return filepath.Join(append([]string{home}, def...)...)
	}
	d.Org = filepath.Join("/", e.System, o.Root, "etc", "permd")
	d.Config = filepath.Join(base("XDG_CONFIG_HOME", ".config"), "permd")
	d.Data = filepath.Join(base("XDG_DATA_HOME", ".local", "share"), "permd")
	d.State = filepath.Join(base("XDG_STATE_HOME", ".local", "state"), "permd")
	if e.OS == "darwin" {
		d.Agents = filepath.Join(home, "Library", "LaunchAgents")
	}
	run := e.runtimeDirs()
	if v := e.Getenv("XDG_RUNTIME_DIR"); v != "" && (len(run) == 0 || run[0] != filepath.Clean(v)) {
		d.Ignored = append(d.Ignored, "XDG_RUNTIME_DIR")
	}
	d.Run, d.Admin, d.HTTP = e.fallbackDirs(d.State)
	if len(run) > 0 {
		d.Run, d.Admin, d.HTTP = filepath.Join(run[0], runName), filepath.Join(run[0], adminName), filepath.Join(run[0], httpName)
	}
	return d, nil
}

func (e Env) system() Dirs {
	at := func(p ...string) string { return filepath.Join(append([]string{"/", e.System}, p...)...) }
	return Dirs{
		System: true,
		Org:    at("etc", "permd"),
		Config: at("etc", "permd"),
		Data:   at("var", "lib", "permd"),
		State:  at("var", "lib", "permd"),
		Run:    at("run", runName),
		Admin:  at("run", adminName),
		HTTP:   at("run", httpName),
	}
}

func (e Env) home() (string, error) {
	home := e.Getenv("HOME")
	if home == "" {
		home = e.Home
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("finding the home folder: $HOME is not an absolute path")
	}
	return filepath.Clean(home), nil
}

// runtimeDirs returns the usable runtime folders in order of preference. A folder of
// another user is not usable: su and sudo often keep the XDG_RUNTIME_DIR of the original
// user. macOS has no such folders, and launchd does not have the variables of a shell, so
// that XDG_RUNTIME_DIR would lead clients and daemon to different places there.
func (e Env) runtimeDirs() []string {
	if e.OS == "darwin" {
		return nil
	}
	var found []string
	own := filepath.Join("/", e.System, "run", "user", strconv.Itoa(e.UID))
	for _, dir := range []string{e.Getenv("XDG_RUNTIME_DIR"), own} {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		if len(found) > 0 && found[0] == dir {
			continue
		}
		if owner, err := ownerOf(dir); err == nil && owner == uint32(e.UID) && checkDir(dir, owner, 0o077) == nil {
			found = append(found, dir)
		}
	}
	return found
}

// fallbackDirs returns the folders of the sockets if there is no runtime folder. They
// are in the state folder, one set for each machine because a home folder may be shared,
// and never in /tmp, where other users could create them first. On macOS, the host name
// changes with the network, and launchd's agent names the sockets: there is one set.
func (e Env) fallbackDirs(state string) (run, admin, http string) {
	sum := sha256.Sum256([]byte(e.Hostname))
	host := "run-" + hex.EncodeToString(sum[:4])
	if e.OS == "darwin" {
		host = "run"
	}
	parent := filepath.Dir(state)
	return filepath.Join(state, host), filepath.Join(parent, adminName, host), filepath.Join(parent, httpName, host)
}

// Place is a path at which a daemon may listen.
type Place struct {
	Path string
	// Machine is set for the machine's own daemon, whose folder only root can have
	// created.
	Machine bool
}

// Sockets returns the places where clients look for the decision socket, or for the
// management socket if admin is set, in this order: $PERMD_SOCKET (or
// $PERMD_ADMIN_SOCKET) alone if it is set; the runtime folder; /run/user/UID; the state
// folder; the machine's daemon. If only PERMD_SOCKET is set, the management socket is
// the one that belongs to it.
func Sockets(e Env, admin bool) ([]Place, error) {
	pick := Dirs.Socket
	if admin {
		pick = Dirs.AdminSocket
	}
	if chosen, err := e.chosen(admin); chosen != "" || err != nil {
		if err != nil {
			return nil, err
		}
		machine := chosen == MachineSocket(e, admin).Path
		return []Place{{Path: chosen, Machine: machine}}, nil
	}
	var places []Place
	for _, run := range e.runtimeDirs() {
		places = append(places, Place{Path: pick(Dirs{Run: filepath.Join(run, runName), Admin: filepath.Join(run, adminName)})})
	}
	// Without a home folder, the state folder is unknown. The other places are still
	// tried.
	if d, err := Find(e, Options{}); err == nil {
		d.Run, d.Admin, d.HTTP = e.fallbackDirs(d.State)
		places = append(places, Place{Path: pick(d)})
	}
	return append(places, MachineSocket(e, admin)), nil
}

// MachineSocket returns the place of the machine's daemon: that of its decision socket, or of
// its management socket if admin is set. No variable of the environment changes it.
func MachineSocket(e Env, admin bool) Place {
	pick := Dirs.Socket
	if admin {
		pick = Dirs.AdminSocket
	}
	return Place{Path: pick(e.system()), Machine: true}
}

func (e Env) chosen(admin bool) (string, error) {
	absolute := func(name string) (string, error) {
		v := e.Getenv(name)
		if v != "" && !filepath.IsAbs(v) {
			return "", fmt.Errorf("%s is not an absolute path", name)
		}
		if v == "" {
			return "", nil
		}
		return filepath.Clean(v), nil
	}
	if !admin {
		return absolute("PERMD_SOCKET")
	}
	if v, err := absolute("PERMD_ADMIN_SOCKET"); v != "" || err != nil {
		return v, err
	}
	v, err := absolute("PERMD_SOCKET")
	if v == "" || err != nil {
		return "", err
	}
	return adminSocketFor(v), nil
}
