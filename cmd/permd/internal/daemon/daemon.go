// Package daemon is permd as a server: an engine with its databases, the decision
// and the management socket, HTTP with its metrics, and how it is for the service
// manager, from the first file to the last answer.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// daemon is permd without its sockets: everything that a decision needs, wired
// together.
type daemon struct {
	dirs    xdg.Dirs
	sockets engine.Sockets
	rules   *engine.Rules
	engine  *engine.Engine
	journal *journal.Journal
	memory  *remember.Store
	witness *witness
	recent  explain.Recent // for permd explain
	runs    runCounter     // for permd status
	metrics *metrics       // nil when HTTP is off
	log     *slog.Logger
	started time.Time
}

// openDaemon opens the rules and the databases.
func openDaemon(ctx context.Context, dirs xdg.Dirs, relocated bool, log *slog.Logger, changed func(policy.Status)) (d *daemon, err error) {
	d = &daemon{dirs: dirs, log: log, started: time.Now()}
	if d.rules, err = engine.OpenRules(ctx, dirs, relocated, changed); err != nil {
		return nil, err
	}
	// The journal is opened first, and asks the memory once that is open, too.
	var memory references
	limits := d.rules.Settings.Journal
	d.journal, err = whenFree(ctx, log, func() (*journal.Journal, error) {
		return journal.Open(journal.Options{
			Path: filepath.Join(dirs.Data, "decisions.db"), Durability: journal.Durability(d.rules.Settings.Durability),
			MaxBytes: int64(limits.MaxBytes), MaxAge: limits.Age(), Log: log,
			Referenced: memory.has,
		})
	})
	if err != nil {
		return nil, cli.DatabaseFailure(err)
	}
	d.witness = newWitness(dirs, d.journal)
	known, err := d.witness.known()
	if err != nil {
		log.Warn("it is not known outside of the data folder which rejects there were", "error", err)
	}
	d.memory, err = whenFree(ctx, log, func() (*remember.Store, error) {
		return remember.Open(remember.Options{
			Path: filepath.Join(dirs.Data, "remember.db"), Allowable: d.rules.Allowable,
			ConfirmAll: d.rules.Settings.Confirm == settings.ConfirmAlways, Understand: d.rules.Understand,
			Known: known, Changed: d.witness.note,
		})
	})
	if err != nil {
		return nil, errors.Join(cli.DatabaseFailure(err), d.journal.Close())
	}
	memory.store.Store(d.memory)
	d.witness.memory = d.memory
	d.witness.note()
	if aside := d.journal.Status().Damaged; aside != "" {
		log.Warn("the journal was damaged and has been set aside", "path", aside)
	}
	for _, why := range d.memory.Status().Degraded {
		log.Warn("the memory is degraded", "why", why)
	}
	var j decisions.Journal = d.journal
	if d.rules.Settings.HTTP.Listen != settings.ListenOff {
		d.metrics = newMetrics(d)
		j = d.metrics.count(j, d.rules.Settings.OnLogFailure)
	}
	d.engine, err = engine.New(engine.Config{
		Dirs: dirs, Rules: d.rules, Log: log, Memory: d.memory, Journal: j, PID: os.Getpid(), Persistent: true,
		Observe: d.recent.Note, Ran: d.runs.note, Answered: d.recordAnswer,
	})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// listensAt returns where the daemon will listen.
func (d *daemon) listensAt(at engine.Sockets) {
	d.sockets = at
	d.engine.ProtectSockets(at)
}

// adminMethods are the methods of the management socket.
func (d *daemon) adminMethods(ending <-chan struct{}, reload func(context.Context) (admin.Reloaded, error)) socket.Methods {
	m := socket.Methods{}
	admin.Register(m, admin.Deps{
		Log:    records.Journal{Reader: d.journal.Reader, Ending: ending},
		Status: func() any { return d.status() },
		Reload: reload,
		Memory: choices{d},
		Asked:  questions{d},
	})
	d.registerExplain(m)
	return m
}

// canary decides a call that everyone knows the answer to, without a trace in
// the journal: a daemon that cannot even do that is started again.
func (d *daemon) canary(ctx context.Context) error {
	probe, err := d.engine.Decisions.With(func(c *decisions.Config) { c.Journal = engine.NoJournal{} })
	if err != nil {
		return err
	}
	req := &decisions.Request{Call: effects.Call{
		ID: "canary", Protocol: native.Protocol, Tool: effects.Tool{Name: "permd-canary"},
		Input: []byte(`{}`), Cwd: "/", User: effects.User{Home: "/nonexistent"},
	}, Peer: decisions.Peer{UID: uint32(os.Geteuid())}}
	got := probe.Decide(ctx, req)
	if len(got) != 1 || got[0].Verdict == decisions.Allow || got[0].By == decisions.ByFailure {
		return errors.New("the canary decision failed")
	}
	if s := d.journal.Status(); s.Queued == s.Capacity {
		return errors.New("the journal's queue is full")
	}
	return nil
}

// close ends the databases, what is queued first. Both at the same time: another process
// may hold the lock of one of them.
func (d *daemon) close() error {
	witness := d.witness.write()
	var both sync.WaitGroup
	var journal, memory error
	both.Go(func() { journal = d.journal.Close() })
	both.Go(func() { memory = d.memory.Close() })
	both.Wait()
	return errors.Join(witness, journal, memory)
}
