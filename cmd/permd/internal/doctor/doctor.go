// Package doctor looks at everything that permd needs to work: folders, settings,
// rules, databases, units, the daemon and those who ask it. It changes nothing.
package doctor

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/permd/permd/cmd/permd/internal/findings"
	"github.com/permd/permd/cmd/permd/internal/setup"
	"github.com/permd/permd/internal/xdg"
)

// examination collects findings.
type examination struct {
	findings.List
	root string // relocates /etc and /var
	dirs xdg.Dirs
	uid  uint32
}

// checkTimeout is how long the daemon may take to answer, and how long one
// database is checked.
const checkTimeout = 10 * time.Second

// examine looks at everything, in the order in which one thing needs another.
func (x *examination) examine(ctx context.Context) {
	x.environment()
	x.folders()
	if x.settings() {
		x.rules(ctx)
	}
	if runtime.GOOS == "linux" {
		x.units()
	}
	x.daemon(ctx) // before the databases, which it makes when it starts
	x.databases(ctx)
	setup.InspectHooks(x.root, &x.List)
	setup.InspectACP(&x.List)
	x.clients()
}

// Examine looks at everything of this person.
func Examine(ctx context.Context, dirs xdg.Dirs, root string) *findings.List {
	x := &examination{root: root, dirs: dirs, uid: uint32(os.Geteuid())}
	x.examine(ctx)
	return &x.List
}
