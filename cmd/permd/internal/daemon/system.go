package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/systemwide"
	"github.com/permd/permd/cmd/permd/internal/userrules"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// ServeSystem runs a daemon that serves several people until ctx ends, as Serve does for one.
func ServeSystem(ctx context.Context, streams cli.Streams) error {
	return serveUntilEnd(ctx, streams, func(log *slog.Logger) error {
		dirs, err := systemwide.Find(xdg.FromOS())
		if err != nil {
			return err
		}
		return serve(ctx, streams, dirs, false, log)
	})
}

// admitMembers prepares a server for several people: who may use its sockets, by the
// organisation's settings, and that nobody else reads its databases.
func (s *server) admitMembers(dirs xdg.Dirs) error {
	if !dirs.System {
		return nil
	}
	if err := os.MkdirAll(dirs.Data, 0o700); err != nil { // packages make it
		return cli.Failf(cli.ExitError, "systemd-tmpfiles --create permd.conf makes it", "making the folder of the databases: %v", err)
	}
	if err := systemwide.CheckData(dirs.Data); err != nil {
		return err
	}
	members, err := systemwide.ReadMembers(dirs)
	// Not every message is about a session, whose declaration loads rules.
	members.Arrived = func(ctx context.Context, uid uint32) { s.loadRules(ctx, uid) }
	s.members = &members
	return err
}

// socketOptions are the permissions of the sockets that the daemon makes itself.
func (s *server) socketOptions() socket.ListenOptions {
	if s.members == nil {
		return socket.ListenOptions{}
	}
	return socket.ForGroup(s.members.Group)
}

// loadRules loads the rules of a user, as the first session of that user would. Where they
// cannot be loaded, what needs them says so.
func (d *daemon) loadRules(ctx context.Context, uid uint32) {
	if err := d.rules.Prepare(ctx, uid, ""); err != nil {
		d.log.Warn("the rules of a user could not all be read", "uid", uid, "error", err)
	}
}

// userRules are the rules that people give to the daemon.
func (d *daemon) userRules() *userrules.Store {
	return &userrules.Store{
		Dir:  func(uid uint32) string { return account.UserRules(d.dirs, uid) },
		Org:  filepath.Join(d.dirs.Org, account.PolicyDir),
		Load: func(ctx context.Context, uid uint32) error { return d.rules.Prepare(ctx, uid, "") },
		Record: func(ctx context.Context, peer decisions.Peer, text string) error {
			return d.recordAct(ctx, peer, "permd policy push", text)
		},
	}
}

// statusFor returns the status as a user may see it; nil is for who may see everything. What
// is not named here is about other people, too.
func (d *daemon) statusFor(uid *uint32) any {
	all := d.wholeStatus()
	if uid == nil {
		return all
	}
	s := Status{
		LogShare: d.shares.statusOf(*uid),
		PID:      all.PID, Version: all.Version, Started: all.Started, Degraded: all.Degraded,
		Socket: all.Socket, Admin: all.Admin, HTTP: all.HTTP, Locked: all.Locked,
		Policy:  policy.Status{Settings: all.Policy.Settings, SettingsSince: all.Policy.SettingsSince, Watching: all.Policy.Watching},
		Journal: journal.Status{Failing: all.Journal.Failing, Stalled: all.Journal.Stalled},
		Memory:  remember.Status{Degraded: all.Memory.Degraded, AllowsOff: all.Memory.AllowsOff},
	}
	if snap, err := d.rules.Snapshot(*uid, ""); err == nil {
		s.Digest = snap.Digest()
	}
	for _, l := range all.Policy.Layers {
		if l.UID == nil || *l.UID == *uid {
			s.Policy.Layers = append(s.Policy.Layers, l)
		}
	}
	if w := all.Policy.Waiting; w != nil {
		s.Policy.Waiting = &policy.Waiting{Mode: w.Mode, Parts: w.Parts, Since: w.Since} // a trial names calls
	}
	for c := range d.memory.All(uid, false) {
		if c.Verdict == decisions.Allow {
			s.Memory.Allows++
		} else {
			s.Memory.Rejects++
		}
	}
	s.Pauses = slices.DeleteFunc(all.Pauses, func(p admin.Pause) bool { return p.UID != *uid })
	return s
}
