// Package daemon is permd as a server: an engine with its databases, the decision
// and the management socket, HTTP with its metrics, and how it is for the service
// manager, from the first file to the last answer.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/decisionlog"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/heads"
	"github.com/permd/permd/cmd/permd/internal/notify"
	"github.com/permd/permd/cmd/permd/internal/preview"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/cmd/permd/internal/systemwide"
	"github.com/permd/permd/cmd/permd/internal/trusttrial"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/recent"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/remember/pause"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// journalName is the name of the journal's database in the data folder.
const journalName = "decisions.db"

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
	heads   *heads.Sender
	sender  *decisionlogs.Uploader // of the journal, to the organisation's service
	lost    []chain.Head           // which the journal had before the start, and does not have
	shares  *logShares
	pauses  *pause.Store
	recent  explain.Recent    // for permd explain
	kept    *arguments.Keeper // for permd explain after a restart, and for replays; nil in tests
	shadow  *shadow.Comparer
	revised chan struct{} // the rules have changed; for keepRevisions
	held    chan struct{} // they may wait for a replay; for tryHeld
	since   atomic.Int64  // when they did, or the start, in nanoseconds since 1970
	runs    runCounter    // for permd status
	metrics *metrics      // nil when HTTP is off
	log     *slog.Logger
	now     func() time.Time
	started time.Time

	underway underway.Requests // the requests on their way to a decision
	watchdog canary            // for the service manager
	files    socketFiles       // of the sockets
	changes  native.Changes
	again    native.Reconsideration
	expiries expiries
	preview  *preview.Counter
	uses     *preview.Uses
	trial    *trusttrial.Trial
	costs    *rulecost.Background
	notifier *notify.Notifier
	health   canary // for HTTP, whose requests have slots of their own
}

// openDaemon opens the rules and the databases; now is the clock of all that depends on the
// time of day.
func openDaemon(ctx context.Context, dirs xdg.Dirs, relocated bool, log *slog.Logger, changed func(policy.Status), now func() time.Time) (d *daemon, err error) {
	d = &daemon{dirs: dirs, log: log, now: now, started: now(), revised: make(chan struct{}, 1), held: make(chan struct{}, 1)}
	d.since.Store(d.started.UnixNano())
	d.notifier = notify.New(notify.Options{Questions: d.waiting, Form: d.notifies, Log: log})
	if d.rules, err = engine.OpenRules(ctx, dirs, relocated, func(st policy.Status) {
		d.tell(nil, native.ChangedRules)
		d.since.Store(now().UnixNano())
		d.endOnceIfLocked()
		d.notifier.Changed()
		for _, c := range []chan struct{}{d.revised, d.held} {
			select {
			case c <- struct{}{}:
			default:
			}
		}
		if changed != nil {
			changed(st)
		}
	}); err != nil {
		return nil, err
	}
	// The journal is opened first, and asks the memory once that is open, too.
	var memory references
	limits := d.rules.Settings.Journal
	d.heads = heads.NewSender(filepath.Join(dirs.Data, journalName), heads.File(dirs), log)
	wrote := d.shareLog(log)
	d.journal, err = whenFree(ctx, log, func() (*journal.Journal, error) {
		return journal.Open(journal.Options{
			Path: filepath.Join(dirs.Data, journalName), Durability: journal.Durability(d.rules.Settings.Durability),
			MaxBytes: int64(limits.MaxBytes), MaxAge: limits.Age(), Log: log, Now: now,
			Referenced: memory.has, Head: d.heads.Send, Wrote: wrote,
		})
	})
	if err != nil {
		d.heads.Close()
		return nil, records.DatabaseFailure(err)
	}
	d.lost, err = d.heads.Compare(func(h *chain.Head) (bool, error) { return d.journal.Continues(ctx, h) })
	if err != nil {
		log.Warn("it is not known whether the journal has its earlier head", "error", err)
	}
	for i := range d.lost {
		log.Error("the journal is not the one that it was", "why", LostLine(&d.lost[i]))
	}
	d.watchdog = canary{daemon: d, probe: d.journal.Probe}
	d.health = canary{daemon: d, probe: d.journal.Probe}
	d.witness = newWitness(dirs, d.journal)
	known, err := d.witness.known()
	if err != nil {
		log.Warn("it is not known outside of the data folder which rejects there were", "error", err)
	}
	d.memory, err = whenFree(ctx, log, func() (*remember.Store, error) {
		return remember.Open(remember.Options{
			Path: filepath.Join(dirs.Data, "remember.db"), Allowable: d.rules.Allowable, Refuse: d.rules.Refuses,
			ConfirmAll: d.rules.Settings.Confirm == settings.ConfirmAlways, Understand: d.rules.Understand,
			Known: known, Changed: d.witness.note, Touched: d.touched, Now: now, KeepNoText: dirs.System,
		})
	})
	if err != nil {
		err = errors.Join(records.DatabaseFailure(err), d.journal.Close())
		d.heads.Close()
		return nil, err
	}
	memory.store.Store(d.memory)
	d.witness.memory = d.memory
	if aside := d.journal.Status().Damaged; aside != "" {
		log.Warn("the journal was damaged and has been set aside", "path", aside)
	}
	for _, why := range d.memory.Status().Degraded {
		log.Warn("the memory is degraded", "why", why)
	}
	d.sender = decisionlog.New(dirs, d.rules.Bundle.Manager, d.journal.Reader, log, now)
	j := d.shares.bound(d.journal)
	if d.rules.Settings.HTTP.Listen != settings.ListenOff {
		d.metrics = newMetrics(d)
		j = d.metrics.count(j, d.rules.Settings.OnLogFailure)
	}
	d.pauses = pause.Open(pause.Options{Path: filepath.Join(dirs.Data, "pause"), Forbidden: d.rules.Forbidden, Now: now})
	if _, damage := d.pauses.Status(); damage != "" {
		log.Error("everything asks until permd unlock", "why", damage)
	}
	for _, why := range d.rules.Trusted.Damage() {
		log.Warn("a project is not trusted any more", "why", why)
	}
	d.shadow = shadow.New(shadow.Options{
		File: filepath.Join(dirs.Data, "shadow.json"), MaxAge: limits.Age(), Rules: d.rules, Log: log, Now: now,
	})
	d.engine, err = engine.New(engine.Config{
		Dirs: dirs, Rules: d.rules, Log: log, Memory: engine.Remembered{Store: d.memory, Rules: d.rules}, Journal: j, PID: os.Getpid(), Persistent: true, Now: now,
		Underway: &d.underway, Observe: d.observe, Ran: d.runs.note, Answered: d.recordAnswer, HasRun: d.recordRun, HasEnded: d.recordEnd, Pause: d.pauses.Of, Changes: &d.changes,
		Recent: recent.New(d.started, d.decidedLately(ctx)), Shadow: d.shadow,
	})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.engine.Waiting.OnChange = d.notifier.Changed
	d.again.Reconsiderer, d.again.Waiting, d.again.Persistent, d.again.Next = d.engine.Decisions, d.engine.Waiting, d.engine.Persistent, d.nextEnd
	d.preview = preview.New(d.journal.Reader, d.engine, arguments.Dir(dirs.Data))
	d.uses = preview.NewUses(d.preview, d.memory, log)
	d.trial = trusttrial.New(d.engine, d.rules.Store)
	d.costs = rulecost.NewBackground(d.journal.Reader, d.engine, d.rules, arguments.Dir(dirs.Data), log)
	return d, nil
}

// decidedLately returns how many decisions were made in the minute before the start. Where
// that is not known, or there were more than a few, it is more than any rule allows.
func (d *daemon) decidedLately(ctx context.Context) int {
	const few = 256
	list, err := d.journal.List(ctx, decisions.RecordFilter{Since: d.started.Add(-time.Minute), Limit: few})
	switch {
	case err != nil:
		d.log.Warn("it is not known how much was asked in the last minute, so it counts as very much", "error", err)
		return math.MaxInt32
	case len(list) == few:
		return math.MaxInt32
	}
	return len(list)
}

// keepArguments keeps the calls of decisions on the disk from now on. It is called before
// the first is decided.
func (d *daemon) keepArguments() {
	d.kept = arguments.Keep(arguments.Options{
		Dir: arguments.Dir(d.dirs.Data), MaxAge: d.rules.Settings.Journal.Age(), Log: d.log, Now: d.now,
		Off: func() bool { return !d.rules.KeepsArguments() },
	})
	d.preview.Flush, d.costs.Flush = d.kept.Flush, d.kept.Flush
}

// tryRules has the rules to try decide what is decided from now on.
func (d *daemon) tryRules() {
	d.rules.OnShadow(d.shadow.Changed)
	d.shadow.Start(d.engine.Decisions)
}

// observe is called with each decision before it is logged.
func (d *daemon) observe(made *decisions.Deliberation) {
	if d.kept != nil {
		d.kept.Note(made)
	}
	d.recent.Note(made) // drops what the other needs
}

// listensAt returns where the daemon will listen.
func (d *daemon) listensAt(at engine.Sockets) {
	d.sockets = at
	d.engine.ProtectSockets(at)
}

// adminMethods are the methods of the management socket.
func (d *daemon) adminMethods(ending <-chan struct{}, reload func(ctx context.Context, digest string) (admin.Reloaded, error)) socket.Methods {
	m := socket.Methods{}
	deps := admin.Deps{
		Log:    records.Journal{Reader: d.journal.Reader, Ending: ending},
		System: d.dirs.System,
		Status: d.statusFor,
		Reload: reload,
		Memory: choices{d},
		Asked:  questions{d},
		Pauses: pauses{d},
		Trusts: trusts{d},
	}
	admin.Register(m, deps)
	d.registerExplain(m, &deps)
	d.registerShadow(m)
	d.registerCosts(m)
	if d.dirs.System {
		d.userRules().Register(m)
		systemwide.Restrict(m)
	}
	return m
}

// close ends the databases, what is queued first. Both at the same time: another process
// may hold the lock of one of them.
func (d *daemon) close() error {
	if d.costs != nil { // the start did not fail before
		d.costs.Close()
		d.uses.Close()
	}
	witness := d.witness.write()
	if d.kept != nil {
		d.kept.Close()
	}
	d.shadow.Close()
	var both sync.WaitGroup
	var journal, memory error
	both.Go(func() { journal = d.journal.Close() })
	both.Go(func() { memory = d.memory.Close() })
	both.Wait()
	d.heads.Close()
	return errors.Join(witness, journal, memory)
}
