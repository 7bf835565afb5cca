package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/socket/admin"
)

// Bounds of a trial.
const (
	trialDecisions = 2000
	trialPage      = 250
	trialTime      = 10 * time.Second
	// After so much work it rests for as long, since requests must not miss the processor.
	trialWork = 5 * time.Millisecond
	// flushTime is how long it waits until the latest arguments are on the disk.
	flushTime = time.Second
)

// Trials decide the latest decisions of a log again, by rules in use and by others that may come
// into use: what the daemon does for reload = "replay-safe".
type Trials struct {
	Page   func(context.Context, decisions.RecordFilter) (admin.Records, error)
	Folder string // of the arguments
	Flush  func(context.Context)
	Engine *engine.Engine
	Off    func() bool // no arguments are kept
}

// Run returns how many of the latest decisions are only allowed by the rules after, for at most
// ten seconds.
func (t *Trials) Run(ctx context.Context, before, after decisions.Policy) (found policy.Trial) {
	defer func() {
		if p := recover(); p != nil {
			found.Why = fmt.Sprintf("the replay panicked: %v", p)
		}
		found.At = time.Now()
	}()
	limited, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	if err := t.run(limited, before, after, &found); err != nil {
		if found.Why = "the replay failed: " + err.Error(); errors.Is(limited.Err(), context.DeadlineExceeded) {
			found.Why = fmt.Sprintf("the replay did not end within %v: %s were decided again", trialTime, cli.Plural(found.Decided, "decision"))
		}
	}
	return found
}

func (t *Trials) run(ctx context.Context, before, after decisions.Policy, found *policy.Trial) error {
	flushing, cancel := context.WithTimeout(ctx, flushTime)
	t.Flush(flushing)
	cancel()
	list, err := t.latest(ctx)
	if err != nil {
		return err
	}
	ids := make(map[string]bool, len(list))
	for _, rec := range list {
		ids[rec.Decision.ID] = true
	}
	calls, err := arguments.ReadCalls(t.Folder, ids)
	if err != nil {
		return err
	}
	var by [2]*pastDecider
	for i, rules := range []decisions.Policy{before, after} {
		if by[i], err = newPastDecider(t.Engine, rules); err != nil {
			return err
		}
	}
	off, spent := t.Off(), time.Duration(0)
	for _, rec := range list {
		begun := time.Now()
		call := calls[rec.Decision.ID]
		why := Undecidable(rec, call, off)
		if why == "" {
			was, now := by[0].decide(ctx, rec, call), by[1].decide(ctx, rec, call)
			if err := ctx.Err(); err != nil {
				return err
			}
			switch {
			case was.By == decisions.ByFailure, now.By == decisions.ByFailure:
				found.Undecided++
			case now.Verdict == decisions.Allow && was.Verdict != decisions.Allow:
				if found.Loosened++; found.Example == "" {
					found.Example = rec.Decision.ID
				}
				fallthrough
			default:
				found.Decided++
			}
		} else {
			found.Undecided++
		}
		if spent += time.Since(begun); spent > trialWork {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(spent):
			}
			spent = 0
		}
	}
	if found.Decided == 0 && found.Undecided > 0 {
		found.Why = "none of the latest decisions could be decided again"
	}
	return nil
}

// latest returns the latest decisions about calls, the newest first.
func (t *Trials) latest(ctx context.Context) (list []*decisions.Record, err error) {
	f := decisions.RecordFilter{Limit: trialPage}
	for {
		page, err := t.Page(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		for _, rec := range slices.Backward(page.Records) {
			if rec.IsCall() && len(list) < trialDecisions {
				list = append(list, rec)
			}
		}
		if page.Next == 0 || len(list) >= trialDecisions {
			return list, nil
		}
		f.Before = page.Next
	}
}

// pastDecider decides past calls by rules, with the choices that answered then.
type pastDecider struct {
	engine *decisions.Engine
	users  *engine.Engine
	memory recorded
	now    time.Time
}

func newPastDecider(e *engine.Engine, by decisions.Policy) (*pastDecider, error) {
	d := &pastDecider{users: e}
	var err error
	d.engine, err = e.Decisions.With(func(c *decisions.Config) {
		c.Detach()
		c.Policy, c.Memory, c.Proposer, c.Pause = by, &d.memory, nil, nil
		c.Digest = nil // no content is read for an answer that nobody gives
		c.Now = func() time.Time { return d.now }
		c.NewID = func() string { return uuid.Nil.String() }
	})
	if err != nil {
		return nil, fmt.Errorf("making an engine: %w", err)
	}
	return d, nil
}

func (d *pastDecider) decide(ctx context.Context, rec *decisions.Record, c *arguments.Call) *decisions.Decision {
	d.memory.of(rec)
	d.now = rec.Time
	req := &decisions.Request{
		Call: c.Call, Peer: decisions.Peer{UID: rec.Peer.UID, GID: rec.Peer.GID}, Session: rec.Session, Recent: 1, Unrecorded: true,
	}
	req.Call.User = d.users.Users.Lookup(rec.Peer.UID)
	return d.engine.Decide(ctx, req)[0]
}
