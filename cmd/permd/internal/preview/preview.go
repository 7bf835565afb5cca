// Package preview counts what choices would have matched among the latest requests of the log,
// whose calls are decided again from the arguments that are kept. It stores nothing, and rules
// have no part in it: which effects a call has does not depend on them.
package preview

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/remember"
)

// Bounds of a count.
const (
	// maxRequests is how many requests of a scope are looked at, the newest ones, and maxRead
	// how many of the log are read to find them.
	maxRequests = 1000
	maxRead     = 10_000
	// onePage is how many of them are read at once.
	onePage = 250
	// within is how long a count takes. What is not looked at by then is not counted, except for
	// the newest leastRequests, unless these take longer than longest.
	within        = 250 * time.Millisecond
	leastRequests = 100
	longest       = time.Second
	// flushWithin is how long a count waits for arguments to be written before it goes on with
	// those that are.
	flushWithin = time.Second
	// maxTrees bounds the worktrees of a project.
	maxTrees = 64
)

// Counts is what a choice would have matched.
type Counts struct {
	Requests int // that were looked at: the newest of the choice's scope
	Matched  int // of them: one of their effects, also where a rule decides
	Denied   int // of Matched: a rule, a choice or the person's answer denied them
	Unknown  int // of Requests: they cannot be decided again and may have been matched
}

// Counter counts, one request at a time.
type Counter struct {
	// Flush, if not nil, waits until the arguments of earlier decisions are in the folder, or
	// the context has ended.
	Flush func(context.Context)

	log       *journal.Reader
	engine    *engine.Engine
	arguments string // the folder

	counting chan struct{} // has an element during a count
	end      time.Time     // of the count
}

// New returns a Counter of the requests in a log, whose arguments are kept in a folder.
func New(log *journal.Reader, e *engine.Engine, folder string) *Counter {
	return &Counter{log: log, engine: e, arguments: folder, counting: make(chan struct{}, 1)}
}

// Count counts for each of the trials. It counts one at a time, and an error is that of the
// context if that ends before its turn.
func (c *Counter) Count(ctx context.Context, trials ...*remember.Trial) ([]Counts, error) {
	select {
	case c.counting <- struct{}{}:
		defer func() { <-c.counting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.Flush != nil {
		limited, cancel := context.WithTimeout(ctx, flushWithin)
		c.Flush(limited)
		cancel()
	}
	c.end = time.Now().Add(within)
	counts := make([]Counts, len(trials))
	var todo []*request
	at := map[int64]*request{}
	lists := map[key][]*decisions.Record{}
	for i, t := range trials {
		of := keyOf(t)
		list, known := lists[of]
		if !known {
			var err error
			if list, err = c.latest(ctx, of); err != nil {
				return nil, err
			}
			lists[of] = list
		}
		for _, rec := range list {
			l := at[rec.Seq]
			if l == nil {
				l = &request{rec: rec}
				at[rec.Seq], todo = l, append(todo, l)
			}
			l.of = append(l.of, i)
		}
	}
	slices.SortFunc(todo, func(a, b *request) int { return cmp.Compare(b.rec.Seq, a.rec.Seq) })
	wanted := map[string]bool{}
	for _, l := range todo {
		for _, i := range l.of {
			if mayMatch(trials[i], l.rec) {
				l.by = append(l.by, i)
			}
		}
		if len(l.by) > 0 {
			wanted[l.rec.Decision.ID] = true
		}
	}
	calls, err := arguments.ReadCalls(c.arguments, wanted)
	if err != nil {
		return nil, err
	}
	d, err := c.decider()
	if err != nil {
		return nil, err
	}
	for n, l := range todo {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		late := time.Since(c.end)
		if len(l.by) > 0 && (late > 0 && n >= leastRequests || late > longest-within && n > 0) {
			break
		}
		for _, i := range l.of {
			counts[i].Requests++
		}
		if len(l.by) == 0 {
			continue
		}
		matched, known := d.matched(ctx, l.rec, calls[l.rec.Decision.ID], trials, l.by)
		for _, i := range l.by {
			switch {
			case matched[i]:
				counts[i].Matched++
				if denied(l.rec) {
					counts[i].Denied++
				}
			case !known:
				counts[i].Unknown++
			}
		}
	}
	return counts, nil
}

// request is a request that is looked at.
type request struct {
	rec *decisions.Record
	of  []int // the indexes of the trials in whose scope it is
	by  []int // of these, the trials that may match it
}

// denied reports whether the call of a record was denied.
func denied(rec *decisions.Record) bool {
	return rec.Decision.Verdict == decisions.Deny || rec.Answer != nil && rec.Answer.Verdict == decisions.Deny
}

// mayMatch reports whether a trial may match some of a record. Its effects say what cannot be.
func mayMatch(t *remember.Trial, rec *decisions.Record) bool {
	kinds := t.Kinds()
	if kinds == nil || rec.Unreadable != "" || rec.LeftOut > 0 || len(rec.Decision.Effects) == 0 {
		return true
	}
	return slices.ContainsFunc(rec.Decision.Effects, func(e decisions.EffectDecision) bool { return slices.Contains(kinds, e.Kind) })
}

// key is a person with a scope.
type key struct {
	uid    uint32
	scope  remember.Scope
	reject bool
}

func keyOf(t *remember.Trial) key {
	c := &t.Choices[0] // those that are stored together have a scope in common
	return key{c.UID, remember.Scope{Kind: c.Scope.Kind, Key: c.Scope.Key}, c.Verdict == decisions.Deny}
}

// latest returns the newest requests in a scope, the newest first.
func (c *Counter) latest(ctx context.Context, k key) ([]*decisions.Record, error) {
	in := func(*decisions.Record) bool { return true }
	filters := []decisions.RecordFilter{{UID: &k.uid}}
	switch k.scope.Kind {
	case remember.ForUser:
	case remember.ForProject:
		filters = nil
		for _, root := range c.trees(k.scope.Key) {
			filters = append(filters, decisions.RecordFilter{UID: &k.uid, Project: root})
		}
		keys := map[string]string{}
		in = func(rec *decisions.Record) bool {
			at, known := keys[rec.Project]
			if !known {
				at = paths.ProjectKey(c.engine.FS, rec.Project)
				keys[rec.Project] = at
			}
			return at == k.scope.Key
		}
	case remember.ForSession, remember.ForChildren:
		in = func(rec *decisions.Record) bool {
			return rec.Session.ID == k.scope.Key ||
				(k.reject || k.scope.Kind == remember.ForChildren) && slices.Contains(rec.Session.Ancestors, k.scope.Key)
		}
	}
	var all []*decisions.Record
	from := int64(0)
	for _, f := range filters {
		list, complete, err := c.newest(ctx, f, in)
		if err != nil {
			return nil, err
		}
		all, from = append(all, list...), max(from, complete)
	}
	all = slices.DeleteFunc(all, func(rec *decisions.Record) bool { return rec.Seq < from })
	slices.SortFunc(all, func(a, b *decisions.Record) int { return cmp.Compare(b.Seq, a.Seq) })
	all = slices.CompactFunc(all, func(a, b *decisions.Record) bool { return a.Seq == b.Seq })
	return all[:min(len(all), maxRequests)], nil
}

// newest returns the newest requests of a filter that are in a scope, the newest first, and the
// number from which on these are all. However late it is, one page is read.
func (c *Counter) newest(ctx context.Context, f decisions.RecordFilter, in func(*decisions.Record) bool) (list []*decisions.Record, from int64, err error) {
	f.Limit = onePage
	for read := 0; read == 0 || read < maxRead && len(list) < maxRequests && time.Now().Before(c.end); {
		page, err := c.log.Page(ctx, f)
		if err != nil {
			return nil, 0, err
		}
		for _, rec := range slices.Backward(page.Records) {
			if rec.IsCall() && in(rec) {
				list = append(list, rec)
			}
		}
		if page.Next == 0 {
			return list, 0, nil
		}
		f.Before, read = page.Next, read+max(len(page.Records), 1)
	}
	return list, f.Before, nil
}

// trees returns the roots of a project: its own folder and its worktrees.
func (c *Counter) trees(root string) []string {
	roots := []string{root}
	admin := path.Join(root, ".git", "worktrees")
	names, err := c.engine.FS.Names(admin, maxTrees)
	if err != nil {
		return roots // it has none
	}
	for _, name := range names {
		if back, ok := paths.GitLine(c.engine.FS, path.Join(admin, name.Name(), "gitdir"), ""); ok {
			roots = append(roots, path.Dir(lexpath.Abs(path.Join(admin, name.Name()), back)))
		}
	}
	return roots
}

// decider finds the effects of past calls.
type decider struct {
	past   past
	trials []*remember.Trial
	by     []int // the trials that are asked
	hit    []bool
}

func (c *Counter) decider() (*decider, error) {
	d := &decider{}
	var err error
	d.past, err = c.pastFor(d)
	return d, err
}

// past decides past calls again, without rules.
type past struct {
	users  *engine.Engine
	engine *decisions.Engine
}

// pastFor returns one that asks a memory of each effect.
func (c *Counter) pastFor(m decisions.Memory) (past, error) {
	now := time.Now()
	e, err := c.engine.Decisions.With(func(o *decisions.Config) {
		o.Detach()
		o.Policy, o.Memory, o.Proposer, o.Pause = noRules{o.Policy}, m, nil, nil
		o.Cache = new(decisions.Cache) // agents make the same calls again
		o.Digest = nil                 // no content is read for an answer that nobody gives
		o.Now = func() time.Time { return now }
		o.NewID = func() string { return uuid.Nil.String() }
	})
	return past{c.engine, e}, err
}

// again reports whether the call of a record can be decided again, and has the same effects.
func (p past) again(ctx context.Context, rec *decisions.Record, call *arguments.Call) bool {
	if rec.Unreadable != "" || rec.LeftOut > 0 || call == nil || call.Why != "" {
		return false
	}
	req := &decisions.Request{
		Call: call.Call, Peer: decisions.Peer{UID: rec.Peer.UID, GID: rec.Peer.GID}, Session: rec.Session, Recent: 1, Unrecorded: true,
	}
	req.Call.User = p.users.Users.Lookup(rec.Peer.UID)
	now := p.engine.Decide(ctx, req)[0]
	return now.By != decisions.ByFailure && replay.SameEffects(rec.Decision.Effects, now.Effects)
}

// matched returns which trials match the call of a record, by their indexes; known is false if
// the call cannot be decided again.
func (d *decider) matched(ctx context.Context, rec *decisions.Record, call *arguments.Call, trials []*remember.Trial, by []int) (hit []bool, known bool) {
	d.trials, d.by, d.hit = trials, by, make([]bool, len(trials))
	if !d.past.again(ctx, rec, call) {
		return make([]bool, len(trials)), false
	}
	return d.hit, true
}

// Match implements [decisions.Memory]: it notes which trials match, and answers nothing.
func (d *decider) Match(q *decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	own := false
	for i := range q.All {
		own = own || &q.All[i] == q.Effect
	}
	for _, i := range d.by {
		// Effects that are only possible can be denied, but no allow matches them.
		if own || d.trials[i].Kinds() == nil {
			d.hit[i] = d.hit[i] || d.trials[i].Matches(q)
		}
	}
	return nil, nil, nil
}

// noRules is a policy none of whose rules fire: what a call is read by is that of the person.
type noRules struct{ of decisions.Policy }

// Snapshot implements [decisions.Policy]. No project's rules are loaded for it.
func (p noRules) Snapshot(uid uint32, _ string) (decisions.Snapshot, error) {
	s, err := p.of.Snapshot(uid, "")
	return silent{s}, err
}

type silent struct{ decisions.Snapshot }

// Evaluate implements [decisions.Snapshot].
func (silent) Evaluate(context.Context, *decisions.Input) (decisions.Findings, error) {
	return decisions.Findings{}, nil
}
