package account

import (
	"os"
	"os/user"
	"strconv"
	"sync"

	"github.com/permd/permd/decisions/effects"
)

// userVariables are the variables that a path may contain. For this process's own user
// they are read from the environment. For others the standard defaults apply, because
// the environment says nothing about them.
var userVariables = []string{
	"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
	"XDG_RUNTIME_DIR", "USER", "LOGNAME", "TMPDIR",
}

// Users caches users by uid: asking the system takes longer than deciding.
type Users struct {
	mu    sync.Mutex
	known map[uint32]effects.User
}

// Lookup returns the user with that uid. An unknown user has no home, so that paths in
// it are unknown.
func (u *Users) Lookup(uid uint32) effects.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.known[uid]; ok {
		return known
	}
	p := effects.User{UID: uid, Env: map[string]string{}}
	if sys, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil {
		p.Name, p.Home = sys.Username, sys.HomeDir
		if ids, err := sys.GroupIds(); err == nil {
			for _, id := range ids {
				if g, err := user.LookupGroupId(id); err == nil {
					p.Groups = append(p.Groups, g.Name)
				}
			}
		}
	}
	if int(uid) == os.Geteuid() {
		for _, name := range userVariables {
			if v := os.Getenv(name); v != "" {
				p.Env[name] = v
			}
		}
		if home := p.Env["HOME"]; home != "" {
			p.Home = home
		}
	}
	if p.Home != "" {
		p.Env["HOME"] = p.Home
	}
	if u.known == nil {
		u.known = map[uint32]effects.User{}
	}
	u.known[uid] = p
	return p
}
