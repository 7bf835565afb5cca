// Package xdg knows permd's folders: where configuration, data, state and
// sockets lie for a person and for the machine, and whether a folder may be
// trusted to hold them. It follows the XDG Base Directory Specification 0.8.
//
// It creates nothing and reads no file's content.
package xdg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// The names of the sockets and of the folders that hold them. The folders
// differ so that a sandbox can be given the one without the other: what may
// ask need not be able to answer.
const (
	socketName      = "permd.sock"
	adminSocketName = "admin.sock"
	httpSocketName  = "http.sock"
	runName         = "permd"
	adminName       = "permd-admin"
	httpName        = "permd-http"
)

// Env is what the folders depend on.
type Env struct {
	// Getenv reads an environment variable; "" if it is not set.
	Getenv func(string) string
	// UID is the effective user id.
	UID int
	// Home is used when $HOME is not set.
	Home string
	// Hostname keeps machines apart that share one home folder.
	Hostname string
	// System is the root of the machine's own folders, "" for /. It is for
	// tests only: Options.Root is what people use.
	System string
}

// FromOS returns the environment of this process.
func FromOS() Env {
	e := Env{Getenv: os.Getenv, UID: os.Geteuid()}
	// Without a host name or a passwd entry the folders still have a place:
	// what is missing is reported by Find if it is needed.
	e.Hostname, _ = os.Hostname()
	if os.Getenv("HOME") == "" {
		if u, err := user.LookupId(strconv.Itoa(e.UID)); err == nil {
			e.Home = u.HomeDir
		}
	}
	return e
}

// Options choose whose folders are wanted.
type Options struct {
	// System is the mode of a daemon for the whole machine.
	System bool
	// Root relocates /etc and /var, for tests and trials. It must be absolute,
	// and is refused in system mode: the user who starts the daemon could
	// otherwise remove the organisation's rules.
	Root string
}

// Dirs are permd's own folders. All are absolute; none need exist.
type Dirs struct {
	// System is set for the folders of a daemon that serves several people
	// (Options.System). Other settings for such a daemon are derived from it.
	System bool
	// Org holds the organisation's rules and settings, in both modes.
	Org string
	// Config holds the person's rules and settings. In system mode it is Org.
	Config string
	// Data holds the databases: what must not be lost.
	Data string
	// State holds what may be lost: locks, pinned copies.
	State string
	// Cache holds what can be made again.
	Cache string
	// Run holds the decision socket, Admin the management socket, HTTP the one
	// for HTTP.
	Run   string
	Admin string
	HTTP  string
	// Ignored names the environment variables that were set but not used,
	// because their value is not absolute or, for XDG_RUNTIME_DIR, not a
	// private folder of this user.
	Ignored []string
}

// Socket is the path of the decision socket.
func (d Dirs) Socket() string { return filepath.Join(d.Run, socketName) }

// AdminSocket is the path of the management socket.
func (d Dirs) AdminSocket() string { return filepath.Join(d.Admin, adminSocketName) }

// HTTPSocket is the path of the socket for HTTP.
func (d Dirs) HTTPSocket() string { return filepath.Join(d.HTTP, httpSocketName) }

// HTTPToken is the file with the token for HTTP at an address.
func (d Dirs) HTTPToken() string { return filepath.Join(d.Data, "http.token") }

// adminBeside is the management socket that belongs to a decision socket at a
// path of the person's choice: in a folder of its own next to that socket's.
func adminBeside(socket string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(socket)), adminName, adminSocketName)
}

// Find returns the folders. A relative value of an XDG variable is ignored, as
// the specification asks. It fails only without an absolute home folder (in
// the mode of a person) or for a Root that cannot be used.
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
	d.Cache = filepath.Join(base("XDG_CACHE_HOME", ".cache"), "permd")
	run := e.runtime()
	if v := e.Getenv("XDG_RUNTIME_DIR"); v != "" && (len(run) == 0 || run[0] != filepath.Clean(v)) {
		d.Ignored = append(d.Ignored, "XDG_RUNTIME_DIR")
	}
	d.Run, d.Admin, d.HTTP = e.fallback(d.State)
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
		Cache:  at("var", "cache", "permd"),
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

// runtime returns the usable runtime folders, the best first. One that belongs
// to another user is not used: su and sudo often leave XDG_RUNTIME_DIR of the
// user they came from.
func (e Env) runtime() []string {
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

// fallback is where the sockets are without a runtime folder: in the state
// folder, apart for each machine, because a home folder may be shared. Never in
// /tmp, where others could be first.
func (e Env) fallback(state string) (run, admin, http string) {
	sum := sha256.Sum256([]byte(e.Hostname))
	host := "run-" + hex.EncodeToString(sum[:4])
	parent := filepath.Dir(state)
	return filepath.Join(state, host), filepath.Join(parent, adminName, host), filepath.Join(parent, httpName, host)
}

// Place is one path at which a daemon may listen.
type Place struct {
	Path string
	// Chosen is set for the path that an environment variable names: then
	// there is no other.
	Chosen bool
	// Machine is set for the machine's own daemon, whose folder only root can
	// have made.
	Machine bool
}

// Sockets returns where clients look for the decision socket, or for the
// management socket if admin is set, in this order: $PERMD_SOCKET (or
// $PERMD_ADMIN_SOCKET) alone if it is set; the runtime folder; /run/user/UID;
// the state folder; the machine's daemon. If only PERMD_SOCKET is set, the
// management socket is the one that belongs to it.
func Sockets(e Env, admin bool) ([]Place, error) {
	pick := Dirs.Socket
	if admin {
		pick = Dirs.AdminSocket
	}
	if chosen, err := e.chosen(admin); chosen != "" || err != nil {
		if err != nil {
			return nil, err
		}
		machine := chosen == pick(e.system())
		return []Place{{Path: chosen, Chosen: true, Machine: machine}}, nil
	}
	var places []Place
	for _, run := range e.runtime() {
		places = append(places, Place{Path: pick(Dirs{Run: filepath.Join(run, runName), Admin: filepath.Join(run, adminName)})})
	}
	// Without a home folder there is no daemon of the person's in the state
	// folder; the others are still worth a try.
	if d, err := Find(e, Options{}); err == nil {
		d.Run, d.Admin, d.HTTP = e.fallback(d.State)
		places = append(places, Place{Path: pick(d)})
	}
	return append(places, Place{Path: pick(e.system()), Machine: true}), nil
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
	return adminBeside(v), nil
}
