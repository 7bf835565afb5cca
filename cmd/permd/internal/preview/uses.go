package preview

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
)

// Bounds of what is looked at to find what allows were used for.
const (
	// LeastUses is how many uses say something: one or two are what it was made for.
	LeastUses = 3
	// mostUses is how many uses of an allow are looked at, the newest ones.
	mostUses = 20
	// maxIndexed is in how many of the newest decisions of the log they are found.
	maxIndexed = 10_000
	// maxLines bounds the lines that are tried for one allow.
	maxLines = 16
	// maxKnown bounds the allows of which it is kept what was found.
	maxKnown = 10_000
	// logged is how long after a use the log has it.
	logged = 2 * time.Second
	// rested is after how much work requests get the processor for as long.
	rested = 20 * time.Millisecond
)

// Narrower is a line that would have matched all that an allow was used for.
type Narrower struct {
	Line string
	Uses int // that were looked at: the newest that the log has, at least LeastUses
}

// Uses finds out, in the background and when it is asked, what allows were used for.
type Uses struct {
	c      *Counter
	memory *remember.Store
	log    *slog.Logger
	ctx    context.Context
	end    context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	known   map[string]known // by the ids of allows
	wanted  map[string]Asked // the allows that are to be looked at, by their ids
	working chan struct{}    // closed when none is left, nil if nothing is under way
	over    bool             // no more work begins

	// Of the goroutine that works alone.
	by    map[string][]use // by the ids of allows, the oldest first
	seen  int64            // the number of the newest decision that by has
	spent time.Duration
}

// Asked is how often an allow has matched, and when last.
type Asked struct {
	Matches int64
	Last    time.Time
}

// known is what was found of an allow when it had matched so often.
type known struct {
	matches int64
	is      Narrower  // without a line if there is none
	at      time.Time // when the log was read for it
}

// current reports whether that is still so: the log may not have had the last use yet.
func (k *known) current(a Asked) bool {
	return k.matches == a.Matches && (k.at.Sub(a.Last) > logged || time.Since(k.at) < logged)
}

// use is a decision in which an allow decided about an effect.
type use struct {
	seq int64
	id  string
}

// NewUses returns Uses of the allows of a memory. Nothing is read before they are asked for.
func NewUses(c *Counter, memory *remember.Store, log *slog.Logger) *Uses {
	u := &Uses{c: c, memory: memory, log: log, known: map[string]known{}, wanted: map[string]Asked{}, by: map[string][]use{}}
	u.ctx, u.end = context.WithCancel(context.Background())
	return u
}

// Close ends the work, and waits for that.
func (u *Uses) Close() {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	u.end()
	u.done.Wait()
}

// Narrower returns for the allows of some ids which narrower line would have matched all of their
// newest uses. Of those that were used since that was found out nothing is said before it is found
// out again: Narrower waits for that, but not longer than a time or the context.
func (u *Uses) Narrower(ctx context.Context, asked map[string]Asked, wait time.Duration) map[string]Narrower {
	working := u.want(asked)
	if working != nil && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-working:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	found := map[string]Narrower{}
	for id, a := range asked {
		if k, ok := u.known[id]; ok && k.matches == a.Matches && k.is.Line != "" {
			found[id] = k.is
		}
	}
	return found
}

// want has the allows looked at of which it is not known what they were used for. It returns what
// is closed when that is done, nil if all is known.
func (u *Uses) want(asked map[string]Asked) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	missing := false
	for id, a := range asked {
		if k, ok := u.known[id]; a.Matches >= LeastUses && (!ok || !k.current(a)) && len(u.wanted) < maxKnown && !u.over {
			u.wanted[id], missing = a, true
		}
	}
	if missing && u.working == nil {
		u.working = make(chan struct{})
		u.done.Go(u.work)
	}
	if !missing {
		return nil
	}
	return u.working
}

// work looks at what is wanted until nothing is left.
func (u *Uses) work() {
	u.mu.Lock()
	defer u.mu.Unlock()
	var err error
	for err == nil && len(u.wanted) > 0 && u.ctx.Err() == nil {
		wanted := u.wanted
		u.wanted = map[string]Asked{}
		u.mu.Unlock()
		err = u.findAll(wanted)
		u.mu.Lock()
	}
	if err != nil && u.ctx.Err() == nil {
		u.log.Warn("what remembered allows were used for is not known", "error", err)
	}
	clear(u.wanted)
	close(u.working)
	u.working = nil
}

// findAll finds the narrower lines of some allows.
func (u *Uses) findAll(wanted map[string]Asked) error {
	at := time.Now()
	if err := u.index(); err != nil {
		return err
	}
	for id, a := range wanted {
		began := time.Now()
		is, err := u.find(id)
		if err != nil {
			return err
		}
		u.rest(time.Since(began))
		u.mu.Lock()
		if len(u.known) >= maxKnown {
			clear(u.known)
		}
		u.known[id] = known{a.Matches, is, at}
		u.mu.Unlock()
	}
	return nil
}

// rest gives requests the processor after some work.
func (u *Uses) rest(took time.Duration) {
	if u.spent += took; u.spent < rested {
		return
	}
	select {
	case <-u.ctx.Done():
	case <-time.After(u.spent):
	}
	u.spent = 0
}

// index notes the uses in the newest decisions that it has not seen.
func (u *Uses) index() error {
	if u.c.Flush != nil {
		limited, cancel := context.WithTimeout(u.ctx, flushWithin)
		u.c.Flush(limited)
		cancel()
	}
	newest := u.seen
	var parts [][]*decisions.Record // the newest first
	f := decisions.RecordFilter{Limit: onePage}
	for read := 0; read < maxIndexed; {
		began := time.Now()
		page, err := u.c.log.Page(u.ctx, f)
		if err != nil {
			return err
		}
		parts = append(parts, lean(page.Records, u.seen))
		if n := len(page.Records); n > 0 {
			newest = max(newest, page.Records[n-1].Seq)
		}
		if page.Next == 0 || page.Next <= u.seen+1 {
			break
		}
		f.Before, read = page.Next, read+max(len(page.Records), 1)
		u.rest(time.Since(began))
	}
	for _, part := range slices.Backward(parts) {
		for _, rec := range part {
			for id := range allowedBy(rec) {
				list := append(u.by[id], use{rec.Seq, rec.Decision.ID})
				u.by[id] = list[max(0, len(list)-mostUses):]
			}
		}
	}
	u.seen = newest
	for id, list := range u.by {
		if list[len(list)-1].seq <= newest-maxIndexed {
			delete(u.by, id)
		}
	}
	return nil
}

// lean returns what is needed of the records that choices decided in, after a number.
func lean(records []*decisions.Record, after int64) (list []*decisions.Record) {
	for _, rec := range records {
		if rec.Seq > after && rec.IsCall() && len(allowedBy(rec)) > 0 {
			list = append(list, &decisions.Record{Seq: rec.Seq, Decision: decisions.Decision{ID: rec.Decision.ID, Effects: rec.Decision.Effects}})
		}
	}
	return list
}

// allowedBy returns the ids of the choices that allowed effects of a record.
func allowedBy(rec *decisions.Record) map[string]bool {
	var ids map[string]bool
	for i := range rec.Decision.Effects {
		if e := &rec.Decision.Effects[i]; e.ChoiceID != "" && e.Verdict == decisions.Allow {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[e.ChoiceID] = true
		}
	}
	return ids
}

// find returns the narrower line of an allow.
func (u *Uses) find(id string) (none Narrower, err error) {
	uses := u.by[id]
	choice, err := u.memory.Get(id)
	if err != nil || len(uses) < LeastUses || choice.Verdict != decisions.Allow || !choice.ByLine || choice.Changed != "" {
		return none, nil // it may have ended meanwhile
	}
	wide, err := u.memory.TryChange(id, remember.Change{})
	if err != nil {
		return none, nil
	}
	line, err := pattern.Parse(choice.Kind, choice.Label)
	if err != nil {
		return none, nil
	}
	wanted := map[string]bool{}
	for _, one := range uses {
		wanted[one.id] = true
	}
	calls, err := arguments.ReadCalls(u.c.arguments, wanted)
	if err != nil {
		return none, err
	}
	l := &looker{id: id, wide: wide, line: line, everywhere: choice.Scope.Kind == remember.ForUser}
	if l.past, err = u.c.pastFor(l); err != nil {
		return none, err
	}
	// A use of which it is not known what it was ends the list: what was before is no part of
	// the newest ones.
	var recs []*decisions.Record
	for _, one := range slices.Backward(uses) {
		rec, err := u.c.log.Get(u.ctx, one.id)
		if err != nil || rec == nil || !l.look(u.ctx, rec, calls[one.id]) {
			break
		}
		recs = append(recs, rec)
	}
	if len(recs) < LeastUses || u.ctx.Err() != nil {
		return none, u.ctx.Err()
	}
	l.lines = slices.DeleteFunc(l.lines, func(c *candidate) bool {
		c.trial, err = u.memory.TryChange(id, remember.Change{Line: c.line.String()})
		return err != nil // it could not get that line
	})
	for _, rec := range recs {
		l.lines = slices.DeleteFunc(l.lines, func(c *candidate) bool { return c.failed })
		if len(l.lines) == 0 {
			return none, nil
		}
		if !l.try(u.ctx, rec, calls[rec.Decision.ID]) {
			return none, u.ctx.Err()
		}
	}
	if is := l.narrowest(); is != "" {
		return Narrower{is, len(recs)}, nil
	}
	return none, nil
}
