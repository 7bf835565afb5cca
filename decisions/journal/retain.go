package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/strictjson"

	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/upkeep"
)

// Bounds of retention.
const (
	// stepRows is how many decisions one transaction removes, so that it takes
	// some milliseconds.
	stepRows = 256
	// keptNewest are never removed, whatever the limits say.
	keptNewest = 128
	// questionAge is for how long a question without an answer is kept beyond the
	// limits, and answeredAge for how long after its answer; maxQuestions bounds their number, maxUserQuestions those of one user,
	// and maxSessionQuestions those of one session of a user, so that an agent in a
	// loop does not push out the questions of others. Those of one user may have a
	// quarter of the limit of size, and all of them three eighths.
	questionAge         = 24 * time.Hour
	answeredAge         = time.Hour
	maxQuestions        = 8192
	maxUserQuestions    = 4096
	maxSessionQuestions = 64
	// sweepEvery is how often what was kept beyond the limits is looked at again.
	sweepEvery = time.Hour
	// freePages are left in the file to be used again; shrinkPages are returned to
	// the file system at once.
	freePages   = 1024
	shrinkPages = 256
	// compactEvery is how often a database that cannot shrink in steps, since an
	// earlier version made it, is tried to be made one that can.
	compactEvery = 24 * time.Hour
)

// retention removes old decisions from the database. Only the mover's goroutine
// uses it; decisions wait neither for it nor for a lock of it, since they are
// appended to the spool.
type retention struct {
	writer     *writer
	db         *sqlitedb.DB
	maxBytes   int64         // 0 for no limit
	maxAge     time.Duration // 0 for no limit
	referenced func(choice string) bool
	now        func() time.Time
	log        *slog.Logger
	names      *nameIndex
	clock      upkeep.Clock
	space      upkeep.Space

	loaded    bool
	cut       int64 // decisions up to this one are gone, but for those that are needed
	cutAt     int64 // the time of that one
	removed   int64
	questions map[asker]int // that were kept beyond the limits
	kept      int           // the same, in all
	keptBytes int64         // of their records
	keptOf    map[uint32]keptQuestions
	sweep     int64     // up to where this sweep has looked
	sweepAt   time.Time // of the next
	compactAt time.Time // of the next attempt
	usage     sqlitedb.Usage
	logged    time.Time // when removals were logged last
	unlogged  int64     // removals since

	status atomic.Pointer[Retention]
}

// keptQuestions are those of one user.
type keptQuestions struct {
	n     int
	bytes int64 // of their records
}

// asker is whose question it is.
type asker struct {
	uid     uint32
	session string
}

// configure sets the limits.
func (r *retention) configure(o *Options, w *writer, db *sqlitedb.DB, s *spool) {
	r.writer, r.db, r.maxBytes, r.maxAge = w, db, o.MaxBytes, o.MaxAge
	r.referenced, r.log, r.now = o.Referenced, o.Log, time.Now
	if o.Now != nil {
		r.now = o.Now
	}
	r.clock.After = cmp.Or(o.steadyFor, upkeep.SteadyFor)
	r.space.Measure = func() (free, total int64, ok bool) { return upkeep.Free(int(s.dir.Fd())) }
	if o.freeSpace != nil {
		r.space.Measure = o.freeSpace
	}
}

// step removes some decisions, or returns some free space. More is true if there
// is more to do. With urgent only the limit of size is looked at.
func (r *retention) step(ctx context.Context, urgent bool) (more bool, err error) {
	c := r.writer.conn
	if !r.loaded {
		if err := r.load(ctx, c); err != nil {
			return false, err
		}
	}
	if r.usage, err = sqlitedb.ReadUsage(ctx, c); err != nil {
		return false, err
	}
	if r.maxBytes > 0 && r.usage.Bytes() > r.maxBytes {
		if more, err := r.remove(ctx, c, r.cut, r.writer.last-keptNewest, time.Time{}); more || err != nil {
			return more, err
		}
	}
	if urgent {
		return false, nil
	}
	now := r.now()
	if r.maxAge > 0 && r.clock.Steady(now) {
		if more, err := r.remove(ctx, c, r.cut, r.writer.last-keptNewest, now.Add(-r.maxAge)); more || err != nil {
			return more, err
		}
	}
	if !now.Before(r.sweepAt) || r.sweepAt.Sub(now) > sweepEvery {
		if r.sweep == 0 {
			r.questions, r.keptOf, r.kept, r.keptBytes = map[asker]int{}, map[uint32]keptQuestions{}, 0, 0
		}
		if more, err := r.remove(ctx, c, r.sweep, r.cut, time.Time{}); more || err != nil {
			return more, err
		}
		r.sweep, r.sweepAt = 0, now.Add(sweepEvery)
	}
	return r.shrink(ctx, c, now)
}

// load reads what was removed until now.
func (r *retention) load(ctx context.Context, c *sql.Conn) error {
	err := c.QueryRowContext(ctx, "SELECT cut, cut_at, removed FROM retained").Scan(&r.cut, &r.cutAt, &r.removed)
	if err != nil {
		return fmt.Errorf("reading what was removed: %w", err)
	}
	r.questions, r.keptOf, r.kept, r.keptBytes, r.loaded = map[asker]int{}, map[uint32]keptQuestions{}, 0, 0, true
	r.sweep, r.sweepAt = 0, time.Time{} // who looks at everything counts the questions
	return nil
}

// candidate is a decision that may be removed.
type candidate struct {
	seq, time int64
	asker
	verdict string
	answer  answerColumns
	shared  sql.NullInt64
	size    int64 // of the whole record, about
}

const selectCandidates = `SELECT seq, time, uid, session, verdict, answered_at, answer_info, shared,
	length(record) + coalesce((SELECT length(text) FROM bodies WHERE first = shared), 0) FROM decisions WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// candidates reads the next decisions after a number that are older than a time,
// if that is set.
func candidates(ctx context.Context, c *sql.Conn, from, to int64, before time.Time) (list []candidate, err error) {
	rows, err := c.QueryContext(ctx, selectCandidates, from, to, stepRows)
	if err != nil {
		return nil, fmt.Errorf("reading old decisions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o candidate
		if err := rows.Scan(&o.seq, &o.time, &o.uid, &o.session, &o.verdict, &o.answer.at, &o.answer.info, &o.shared, &o.size); err != nil {
			return nil, fmt.Errorf("reading old decisions: %w", err)
		}
		if !before.IsZero() && o.time >= before.UnixNano() {
			break
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

// chosen reports whether a choice that came with the answer still exists.
func (r *retention) chosen(o *candidate) bool {
	var info answerInfo
	return len(o.answer.info) > 0 && strictjson.Unmarshal(o.answer.info, &info) == nil &&
		slices.ContainsFunc(info.Choices, func(id string) bool { return r.referenced == nil || r.referenced(id) })
}

// needed reports whether a decision is needed elsewhere: a choice names it that
// still exists, or a person may still answer it, or has just done so.
func (r *retention) needed(o *candidate, now time.Time) bool {
	asked, most := o.time, questionAge
	if o.answer.at.Valid {
		if r.chosen(o) {
			return true
		}
		asked, most = o.answer.at.Int64, answeredAge
	}
	if o.verdict != string(decisions.Ask) || now.Sub(time.Unix(0, asked)) >= most || r.kept >= maxQuestions || r.questions[o.asker] >= maxSessionQuestions {
		return false
	}
	own := r.keptOf[o.uid]
	if own.n >= maxUserQuestions || r.maxBytes > 0 && (own.bytes+o.size > r.maxBytes/4 || r.keptBytes+o.size > r.maxBytes*3/8) {
		return false
	}
	r.keptOf[o.uid] = keptQuestions{own.n + 1, own.bytes + o.size}
	r.questions[o.asker]++
	r.kept++
	r.keptBytes += o.size
	return true
}

// remove removes the next decisions after number from, up to number to, but for
// those that are needed, in one transaction. It is false if there are none.
func (r *retention) remove(ctx context.Context, c *sql.Conn, from, to int64, before time.Time) (bool, error) {
	if from >= to {
		return false, nil
	}
	old, err := candidates(ctx, c, from, to, before)
	if err != nil || len(old) == 0 {
		return false, err
	}
	if err := r.writer.inPlace(); err != nil {
		return false, fmt.Errorf("removing old decisions: %w", err)
	}
	t := &removal{ctx: ctx, c: c, from: from, to: old[len(old)-1].seq, cut: r.cut, cutAt: r.cutAt, names: !r.names.off}
	t.kindsAfter, t.kindsTo = from, t.to
	cut := r.cut
	if t.to > r.cut {
		t.cut, t.cutAt = t.to, old[len(old)-1].time
	} else {
		t.kindsAfter, t.kindsTo = 0, r.cut // whose newest decision was removed before
	}
	now, start := r.now(), from+1
	needed := make([]bool, len(old))
	for i := range old {
		if s := old[i].shared; s.Valid && !slices.Contains(t.bodies, any(s.Int64)) {
			t.bodies = append(t.bodies, s.Int64)
		}
		if needed[i] = r.needed(&old[i], now); !needed[i] {
			t.removed++
		}
	}
	if t.removed == 0 && t.to <= r.cut {
		r.sweep = t.to
		return true, nil
	}
	t.exec("BEGIN IMMEDIATE")
	t.beginChain(cut)
	for i := range old {
		o := &old[i]
		if !needed[i] {
			continue
		}
		t.removeRows(start, o.seq-1)
		start = o.seq + 1
		if o.shared.Valid {
			t.makeWhole(o.seq)
		}
	}
	t.removeRows(start, t.to)
	t.removeRest()
	t.finishChain(cut)
	t.exec("UPDATE retained SET cut = ?, cut_at = ?, removed = removed + ?", t.cut, t.cutAt, t.removed)
	t.exec("COMMIT")
	if t.err != nil {
		_, _ = c.ExecContext(ctx, "ROLLBACK") // it fails if SQLite has rolled back
		r.loaded = false
		if t.namesErr != nil && ctx.Err() == nil && !sqlitedb.IsFull(t.namesErr) {
			r.names.turnOff(t.namesErr)
			return true, nil // the next attempt leaves them
		}
		return false, fmt.Errorf("removing old decisions: %w", t.err)
	}
	if t.to > r.cut {
		r.cut, r.cutAt = t.cut, t.cutAt
	} else {
		r.sweep = t.to
	}
	r.writer.rows.removed(r.cut, t.kinds > 0)
	r.names.removed(ctx, (from+1)>>body.SpanBits, t.to>>body.SpanBits)
	r.removed += t.removed
	r.note(t.removed)
	return true, nil
}

// shrink returns free pages to the file system.
func (r *retention) shrink(ctx context.Context, c *sql.Conn, now time.Time) (more bool, err error) {
	if r.usage.Free <= freePages {
		return false, nil
	}
	can, err := sqlitedb.CanShrink(ctx, c)
	switch {
	case err != nil:
		return false, err
	case can:
		return true, r.db.Shrink(ctx, c, min(shrinkPages, r.usage.Free-freePages))
	case now.Before(r.compactAt) && r.compactAt.Sub(now) <= compactEvery:
		return false, nil
	}
	r.compactAt = now.Add(compactEvery)
	return true, r.db.Compact(ctx, c)
}
