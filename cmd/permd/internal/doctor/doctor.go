// Package doctor checks everything that permd needs to work: folders, settings,
// rules, databases, units, the daemon and its clients. It changes nothing. Hooks and
// ACP clients are looked at by package setup, which installs them.
package doctor

import (
	"context"
	"os"
	"time"

	"github.com/permd/permd/cmd/permd/internal/findings"
	"github.com/permd/permd/cmd/permd/internal/setup"
	"github.com/permd/permd/internal/xdg"
)

// examination collects findings.
type examination struct {
	findings.List
	root string // prefix of /etc and /var, from --root
	dirs xdg.Dirs
	uid  uint32
}

// checkTimeout bounds the wait for the daemon's answer, and the check of one
// database.
const checkTimeout = 10 * time.Second

// examine runs all checks, each after those that it depends on.
func (x *examination) examine(ctx context.Context) {
	x.environment()
	x.folders()
	if x.settings() {
		x.rules(ctx)
	}
	x.units()
	x.daemon(ctx) // before the databases, which the daemon creates when it starts
	x.databases(ctx)
	setup.InspectHooks(x.root, &x.List)
	setup.InspectACP(&x.List)
	x.harnessRules(ctx)
	x.harnessApprovals()
	x.agentPrograms()
}

// Examine runs all checks for the current user.
func Examine(ctx context.Context, dirs xdg.Dirs, root string) *findings.List {
	x := &examination{root: root, dirs: dirs, uid: uint32(os.Geteuid())}
	x.examine(ctx)
	return &x.List
}
