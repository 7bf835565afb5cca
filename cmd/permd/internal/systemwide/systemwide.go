// Package systemwide is what is different about a daemon that serves several people
// (permd serve --system): where its files are, what it refuses to start with, who may use
// its sockets, and what of each management method they get.
package systemwide

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/socket"
)

// userName is the name of the user that the packages make for the daemon.
const userName = "permd"

// Find returns the folders of a system-wide daemon in that environment. It fails where such
// a daemon must not run: on a system whose kernel does not tell the groups of a peer, as
// root, and with folders that others than root can change.
func Find(e xdg.Env) (xdg.Dirs, error) {
	switch {
	case runtime.GOOS != "linux":
		return xdg.Dirs{}, cli.Failf(cli.ExitUsage, "start permd serve as each user",
			"permd serves several people on Linux alone: this system does not tell the groups of who connects")
	case e.UID == 0:
		return xdg.Dirs{}, cli.Failf(cli.ExitUsage, "start it as the user "+userName+": systemctl start permd.socket permd-admin.socket",
			"permd does not serve several people as root: what it reads of them must not be able to change the machine")
	}
	dirs, err := xdg.Find(e, xdg.Options{System: true})
	if err != nil {
		return dirs, fmt.Errorf("finding permd's folders: %w", err)
	}
	return dirs, checkOrg(dirs.Org)
}

// checkOrg returns an error for the organisation's folder and what permd reads in it, unless
// only root can change them. What does not exist is root's to make.
func checkOrg(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, account.PolicyDir)} {
		err := xdg.CheckOwn(path, 0, 0o022)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if untrusted, ok := errors.AsType[*xdg.UntrustedError](err); ok {
			at := cli.Quote(untrusted.Path)
			return cli.Failf(cli.ExitError, "as root: chown root:root "+at+" && chmod go-w "+at,
				"the organisation's rules are not root's alone: %v", untrusted)
		}
		if err != nil {
			return fmt.Errorf("looking at the organisation's folder: %w", err)
		}
	}
	return nil
}

// overflowID is what the kernel reports in place of the ids that a user namespace does not
// have. It is nobody's id.
const overflowID = 65534

// ReadMembers returns who may use the sockets of the daemon, by the organisation's settings.
// It fails for settings with which such a daemon must not run.
func ReadMembers(dirs xdg.Dirs) (socket.Members, error) {
	var m socket.Members
	read, err := account.ReadSettings(dirs, mounts.New())
	if err != nil {
		return m, err
	}
	if err := checkHTTP(read.HTTP.Listen); err != nil {
		return m, err
	}
	s := read.System
	if m.Group, err = groupID("group", s.Group); err != nil {
		return m, err
	}
	m.Subordinate = (&subordinates{path: "/etc/subuid"}).has
	if s.Admins != "" {
		m.Admins, err = groupID("admins", s.Admins)
	}
	return m, err
}

func groupID(key, name string) (uint32, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, cli.Failf(cli.ExitError, "as root: groupadd --system "+cli.Quote(name)+", or name another one in system."+key+" of /etc/permd/permd.toml",
			"the group %q of system.%s is not known: %v", name, key, err)
	}
	gid, err := strconv.ParseUint(g.Gid, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("finding the group %q: its id %q is no number", name, g.Gid)
	case gid == 0 || gid == overflowID:
		return 0, cli.Failf(cli.ExitError, "make a group for those who may use permd",
			"the group %q of system.%s has the id %d, which processes have that are in no group of people", name, key, gid)
	}
	return uint32(gid), nil
}

// checkHTTP returns an error for an address at which a system-wide daemon must not serve
// HTTP. The kernel does not tell who connects to a loopback address, so that users could not be
// told apart there.
func checkHTTP(listen string) error {
	if listen == settings.ListenOff || listen == settings.ListenUnix {
		return nil
	}
	return cli.Failf(cli.ExitUsage, `set http.listen = "unix" in /etc/permd/permd.toml`,
		"permd that serves several people does not serve HTTP at %s: the kernel does not tell there who connects", listen)
}

// CheckData returns an error unless the folder of the databases is the daemon's alone.
func CheckData(dir string) error {
	err := xdg.CheckOwn(dir, uint32(os.Geteuid()), 0o077)
	if err == nil {
		return nil
	}
	at := cli.Quote(dir)
	return cli.Failf(cli.ExitError, "as root: install -d -m 0700 -o "+userName+" -g "+userName+" "+at,
		"the folder of the databases is not permd's alone: %v", err)
}
