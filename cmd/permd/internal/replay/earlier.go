package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/internal/xdg"
)

// earlier is rules that were in force from a time until another, as a decider by them.
type earlier struct {
	by           *decider
	dir          string   // a copy of their files
	dirs         xdg.Dirs // with the copy
	since, until time.Time
	why          string // they cannot be used, then by is nil
}

// earlierAt returns the rules that were in force at a time, which must be closed.
func (j *replayed) earlierAt(ctx context.Context, at time.Time) (*earlier, error) {
	rules, since, until, err := arguments.RevisionAt(arguments.Dir(j.dirs.Data), at)
	e := &earlier{dirs: j.dirs, since: since, until: until}
	switch {
	case err != nil:
		e.since, e.why = at, err.Error()
		return e, nil
	case rules == nil:
		e.why = "the rules of then are not kept"
		return e, nil
	}
	if e.dir, err = os.MkdirTemp("", "permd-replay-"); err != nil {
		return nil, fmt.Errorf("making a folder for the rules of then: %w", err)
	}
	e.dirs.Org, e.dirs.Config = filepath.Join(e.dir, "org"), filepath.Join(e.dir, "config")
	err = errors.Join(os.MkdirAll(e.dirs.Org, 0o700), os.MkdirAll(filepath.Join(e.dirs.Config, account.PolicyDir), 0o700), rules.Restore(e.dir))
	if err != nil {
		e.close()
		return nil, err
	}
	if e.by, err = newDeciderOf(ctx, j.dirs, e.dirs, "", true); err != nil {
		e.why = "the rules of then cannot be used now: " + err.Error()
	}
	return e, nil
}

func (e *earlier) close() {
	if e.dir != "" {
		removeCopy(e.dir)
	}
}

// words says when the rules were in force.
func (e *earlier) words() string {
	if e.until.IsZero() {
		return "in force since " + e.since.Local().Format(time.DateTime)
	}
	return "in force from " + e.since.Local().Format(time.DateTime) + " to " + e.until.Local().Format(time.DateTime)
}

// comparison tells what other rules change from what else has changed since calls were decided:
// files, and the rules of projects. It must be closed.
type comparison struct {
	j    *replayed
	list []*earlier
}

func (c *comparison) close() {
	for _, e := range c.list {
		e.close()
	}
}

// before sets what the rules of then would decide today of a call that is now decided otherwise
// than it was. If all rules were those of the call, and decide today as the new ones do, these are
// not the cause, and the call counts as one that cannot be decided again.
func (c *comparison) before(ctx context.Context, p *past) error {
	p.then = &p.rec.Decision
	if p.now == nil || p.now.Verdict == p.then.Verdict {
		return nil
	}
	p.unsure = true
	e, err := c.of(ctx, p.rec.Time)
	if err != nil || e.by == nil {
		return err
	}
	call, recent := c.j.kept.Of(p.rec.Decision.ID)
	then, _, why := e.by.again(ctx, p.rec, call, recent)
	switch {
	case why != "":
	case then.Verdict == p.then.Verdict:
		p.unsure = false
	case then.Policy.Digest != p.then.Policy.Digest:
		// Rules of its project, or permd's own, are others.
	case then.Verdict == p.now.Verdict:
		p.now, p.made, p.why, p.unsure = nil, nil, unrepeatable, false
	default:
		p.then, p.unsure = then, false
	}
	return nil
}

// of returns the rules that were in force at a time.
func (c *comparison) of(ctx context.Context, at time.Time) (*earlier, error) {
	i := slices.IndexFunc(c.list, func(e *earlier) bool {
		return !at.Before(e.since) && (e.until.IsZero() || at.Before(e.until))
	})
	if i >= 0 {
		return c.list[i], nil
	}
	e, err := c.j.earlierAt(ctx, at)
	if err == nil {
		c.list = append(c.list, e)
	}
	return e, err
}
