package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/socket/native"
)

// canary decides a call that everyone knows the answer to: an agent that removes the
// journal, which no rule and nobody's choice allows. It goes the way of every request, to
// a slot, the file system, the rules and the journal, of which it only takes the last step
// apart: nothing is stored, so that nobody finds it among their decisions.
//
// One that does not come through is not started twice: who asks meanwhile learns where it
// is stuck.
type canary struct {
	daemon *daemon
	// slot waits for a slot as a request does. It returns the context of the request that
	// has it, and what gives it back. It is nil for a check that needs no slot.
	slot  func(context.Context) (ctx context.Context, release func(), err error)
	probe func(ctx context.Context, write bool) error // of the journal
	place underway.Requests

	mu      sync.Mutex
	running *canaryRun
	stored  uint64 // decisions in the journal when it was last written to
	written bool   // it has been
	failed  string // see failure
}

// canaryRun is one decision of a canary.
type canaryRun struct {
	began time.Time
	done  chan struct{} // closed at the end
	err   error         // then
}

// errNotDeciding means that the way is open, and the decision failed.
var errNotDeciding = errors.New("the canary decision failed")

// check returns nil when a canary came through. Its errors are errNotDeciding, or say
// where the canary is stuck.
func (c *canary) check(ctx context.Context) error {
	c.mu.Lock()
	run := c.running
	if run == nil {
		run = &canaryRun{began: time.Now(), done: make(chan struct{})}
		c.running = run
		go func() {
			run.err = errors.New("the canary panicked")
			defer func() {
				c.mu.Lock()
				c.running = nil
				c.mu.Unlock()
				close(run.done)
			}()
			run.err = c.decide(context.WithoutCancel(ctx))
		}()
	}
	c.mu.Unlock()
	select {
	case <-run.done:
		return run.err
	case <-ctx.Done():
		return fmt.Errorf("a decision is stuck for %s %s: %w", time.Since(run.began).Round(time.Second), c.stuckAt(), context.Cause(ctx))
	}
}

// stuckAt says where the canary is.
func (c *canary) stuckAt() string {
	for _, s := range stuckAt(c.place.Late(time.Now().Add(time.Hour)), mounts.Point) {
		return s.place()
	}
	return "at its beginning"
}

// selfCheck is the check that the service manager's watchdog waits for. That rules cannot
// be read makes it fail no more than any other state that starting again would not mend.
func (d *daemon) selfCheck(ctx context.Context) error {
	err := d.watchdog.check(ctx)
	if errors.Is(err, errNotDeciding) && d.rules.Status().Degraded() {
		err = nil
	}
	d.watchdog.note(err)
	return err
}

// note keeps how a check has ended.
func (c *canary) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed = ""; err != nil {
		c.failed = err.Error()
	}
}

// failure returns how the last check failed, "" if it passed.
func (c *canary) failure() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// canaryDeadline is longer than that of other decisions: being slow is not being stuck.
const canaryDeadline = 10 * time.Second

// takeSlot waits for a slot of the scheduler, as one more connection of the daemon's own
// user: it waits for one more request of each of the others, at most.
func takeSlot(share *fairshare.Scheduler) func(context.Context) (context.Context, func(), error) {
	return func(ctx context.Context) (context.Context, func(), error) {
		member, turn := share.Join(uint32(os.Geteuid())), new(fairshare.Turn)
		if err := turn.Begin(ctx, member, nil); err != nil {
			member.Leave()
			return nil, nil, err
		}
		return &fairshare.Context{Context: ctx, Turn: turn}, func() { turn.End(); member.Leave() }, nil
	}
}

// decide sends one canary.
func (c *canary) decide(ctx context.Context) error {
	if c.slot != nil {
		waiting := c.place.Begin(underway.AtSlot, time.Now())
		with, release, err := c.slot(ctx)
		waiting.End()
		if err != nil {
			return err
		}
		defer release()
		ctx = with
	}
	d := c.daemon
	probe, err := d.engine.Decisions.With(func(e *decisions.Config) {
		e.Detach()
		e.Journal, e.Underway, e.Deadline = canaryJournal{c}, &c.place, canaryDeadline
	})
	if err != nil {
		return err
	}
	uid := uint32(os.Geteuid())
	user := d.engine.Users.Lookup(uid)
	input, err := json.Marshal(map[string]string{"file_path": filepath.Join(d.dirs.Data, journalName), "content": ""})
	if err != nil {
		return err
	}
	got := probe.Decide(ctx, &decisions.Request{Call: effects.Call{
		ID: "canary", Protocol: native.Protocol, Agent: effects.Party{Name: "claude-code"}, Tool: effects.Tool{Name: "Write"},
		Input: input, Cwd: user.Home, User: effects.User{Home: user.Home},
	}, Peer: decisions.Peer{UID: uid}})
	if len(got) != 1 || got[0].Verdict == decisions.Allow || got[0].By == decisions.ByFailure {
		return errNotDeciding
	}
	return nil
}

// canaryJournal is the journal without its last step.
type canaryJournal struct{ of *canary }

// Append does what the journal does with a record, and stores none. An error is not
// one of the canary: the status says that the journal fails, and starting again would not
// mend a full disk.
func (j canaryJournal) Append(ctx context.Context, _ ...*decisions.Record) error {
	c := j.of
	// A daemon that nobody asks anything does not keep the disk awake.
	st := c.daemon.journal.Status()
	c.mu.Lock()
	write := !c.written || c.stored != st.Records || st.Queued > 0
	c.stored, c.written = st.Records, true
	c.mu.Unlock()
	_ = c.probe(ctx, write)
	return nil
}
