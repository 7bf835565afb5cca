package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// daemon calls the daemon on both sockets, as clients do.
func (x *examination) daemon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if !x.callSocket(ctx, "socket", false, native.MethodClose, map[string]string{"sessionId": "permd-doctor"}, nil) {
		return
	}
	var s daemon.Status
	if x.callSocket(ctx, "admin", true, admin.MethodStatus, struct{}{}, &s) {
		x.daemonState(&s)
		x.deliveries(&s)
		x.http(ctx, s.HTTP)
	}
}

// daemonState checks what the daemon reports about itself.
func (x *examination) daemonState(s *daemon.Status) {
	if v := buildinfo.Version(); s.Version != v {
		x.Warn("daemon", x.restart(), "it is version %s, pid %d, and this is %s", s.Version, s.PID, v)
	} else {
		x.OK("daemon", "version %s, pid %d, %s", s.Version, s.PID, cli.Plural(s.Sessions, "session"))
	}
	for i := range s.Unasked {
		if u := &s.Unasked[i]; u.Deny > 0 || u.Despite > 0 {
			x.Warn("agents", "permd log list --unasked --verdict deny", "%s", u.String())
		}
	}
	if s.Policy.Settings != "" {
		x.Error("daemon", "permd reload", "the settings could not be read, the former ones are in use: %s", s.Policy.Settings)
	}
	if lines := daemon.WaitingLines(s.Policy.Waiting); lines != nil {
		x.Warn("policy", "permd policy replay", "%s", lines[0])
	}
	for i := range s.Policy.Layers {
		if l := &s.Policy.Layers[i]; l.Error != "" {
			x.Error("daemon", "permd reload", "the %s rules are not what their files say: %s", l.Layer, l.Error)
		}
	}
	if s.Journal.Failing != "" {
		x.Error("daemon", "df "+cli.Quote(x.dirs.Data), "decisions cannot be logged, so nothing is allowed: %s", s.Journal.Failing)
	}
	for i := range s.Lost {
		x.Error("journal", "permd log verify", "%s", daemon.LostLine(&s.Lost[i]))
	}
	if r := &s.Journal.Retention; r.LowSpace {
		x.Warn("daemon", "df "+cli.Quote(x.dirs.Data), "%s", daemon.LowSpace(r))
	}
	if why := s.Journal.Retention.Failing; why != "" {
		x.Warn("daemon", "permd status", "old decisions cannot be removed from the journal: %s", why)
	}
	switch n := s.Notify; {
	case n == nil:
	case n.Why != "" && !n.NoBus:
		x.Warn("notify", "permd status", "%s", n.Line())
	default:
		x.OK("notify", "%s", n.Line())
	}
	for _, m := range s.Unanswered {
		x.Warn("daemon", "permd status", "%s", daemon.UnansweredLine(m, time.Now()))
	}
	for _, d := range s.Stuck {
		x.Warn("daemon", "permd status", "%s", daemon.StuckLine(d, time.Now()))
	}
	for _, p := range s.Sockets {
		x.Error("daemon", cmp.Or(p.Hint, "ls -l "+cli.Quote(p.Path)), "clients do not find it: %s", p.Problem)
	}
	if s.SelfCheck != "" {
		x.Error("daemon", x.restart(), "its own check failed: %s", s.SelfCheck)
	}
	for _, why := range s.Memory.Degraded {
		x.Warn("daemon", "permd status", "the memory is degraded: %s", why)
	}
}

// callSocket calls a method on one of the sockets and adds a finding about it.
func (x *examination) callSocket(ctx context.Context, check string, management bool, method string, params, result any) bool {
	c, err := client.Connect(ctx, client.Options{Admin: management})
	if err != nil {
		fix := cli.HintOf(err, x.start())
		if fix == "start it with: permd serve" {
			fix = x.start()
		}
		x.Error(check, fix, "%v", err)
		return false
	}
	defer c.Close()
	if err := c.Call(ctx, method, params, result); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not answer within %s", checkTimeout)
		}
		x.Error(check, x.restart(), "%s: %v", c.Path(), err)
		return false
	}
	info, err := os.Lstat(c.Path())
	if err == nil && info.Mode().Perm()&0o002 != 0 && !isMachineSocket(c.Path(), management) {
		x.Warn(check, "chmod go-rwx "+cli.Quote(c.Path()), "%s has mode %#o: only its folder keeps others out", c.Path(), info.Mode().Perm())
		return true
	}
	x.OK(check, "%s", c.Path())
	return true
}

// isMachineSocket reports whether a socket belongs to the machine's own daemon, which
// serves other users too.
func isMachineSocket(path string, management bool) bool {
	places, err := xdg.Sockets(xdg.FromOS(), management)
	if err != nil {
		return false
	}
	for _, p := range places {
		if p.Path == path && p.Machine {
			return true
		}
	}
	return false
}

func (x *examination) start() string {
	if x.unitsInstalled() {
		return service.Here().Start
	}
	return "permd serve"
}

func (x *examination) restart() string {
	if x.unitsInstalled() {
		return service.Here().Restart
	}
	return "end it (kill -TERM PID) and start it again: permd serve"
}
