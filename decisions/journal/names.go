package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/journal/windows"
	"github.com/permd/permd/decisions/tally"
)

// nameIndex makes the rows of names, each when all decisions of its span are stored. To add to
// an index with each decision would touch as many pages as a decision has names; so it is made of
// what was stored, while nothing is to be moved, and readers read the records of the spans
// that it lacks. Only the mover's goroutine uses it.
type nameIndex struct {
	writer *writer
	log    *slog.Logger

	next    int64   // the first span that was not complete
	missing []int64 // complete spans without a row, ascending
	telling bool    // that it is done must be logged
	failing bool    // the log says that it cannot be kept
	// failed are missing ones that could not be made since failedAt. They are left for a while,
	// so that others are made.
	failed   map[int64]bool
	failedAt time.Time
	off      bool         // it could not be read or changed: until the next start it stays as it is
	waiting  atomic.Int64 // the number of missing rows, for others
}

// tellMissing is how many spans must be missing for the log to say so.
const tellMissing = 64

// maxFailed is after how many spans that could not be made no others are tried for a while.
const maxFailed = 16

const (
	// The complete spans that have no row.
	selectUnnamed = `SELECT span FROM spans WHERE span < ? AND NOT EXISTS (SELECT 1 FROM names n WHERE n.span = spans.span) ORDER BY span`
	insertNames   = `INSERT OR REPLACE INTO names (span, decided, counts, projects, programs, hosts, paths) VALUES (?, ?, ?, ?, ?, ?, ?)`
	selectLost    = `SELECT span FROM spans WHERE span BETWEEN ? AND ? ORDER BY span`
	// removeNames removes the names of decisions from one span to another.
	removeNames  = `DELETE FROM names WHERE span BETWEEN ? AND ?`
	countedNames = `SELECT agent, tool, decided_by, verdict, count(*) FROM decisions WHERE seq BETWEEN ? AND ? GROUP BY 1, 2, 3, 4`
)

// start loads the index. Decisions must be stored without it too.
func (x *nameIndex) start(ctx context.Context) {
	if err := x.load(ctx); err != nil {
		x.turnOff(err)
	}
}

// turnOff leaves the index as it is. Readers notice rows that have names of removed decisions.
func (x *nameIndex) turnOff(err error) {
	x.off, x.missing = true, nil
	if x.log != nil {
		x.log.Warn("the journal's index of names is not used further until the next start, so lists by path, host and project take longer", "error", err)
	}
}

// load finds out which rows are missing.
func (x *nameIndex) load(ctx context.Context) (err error) {
	x.next = (x.writer.last + 1) >> body.SpanBits
	if _, err := x.writer.conn.ExecContext(ctx, removeNames, x.next, math.MaxInt64); err != nil { // no permd has made these
		return fmt.Errorf("removing names: %w", err)
	}
	if x.missing, err = windows.Numbers(ctx, x.writer.conn, selectUnnamed, x.next); err != nil {
		return fmt.Errorf("looking for missing names: %w", err)
	}
	x.waiting.Store(int64(len(x.missing)))
	if n := len(x.missing); n > tellMissing && x.log != nil {
		x.telling = true
		x.log.Info("the journal's index of names is being made; until then, lists by path, host and project take longer", "decisions", n*names.Size)
	}
	return nil
}

// removed notes that rows were removed with decisions of these spans.
func (x *nameIndex) removed(ctx context.Context, from, to int64) {
	if x.off {
		return
	}
	spans, err := windows.Numbers(ctx, x.writer.conn, selectLost, from, min(to, x.next-1))
	if err != nil {
		x.turnOff(err)
		return
	}
	x.missing = append(x.missing, spans...)
	slices.Sort(x.missing)
	x.missing = slices.Compact(x.missing)
}

// step makes the row of one span, the newest that is missing. More is true if others are. The
// span that is being removed has none: it would be gone with the next decision.
func (x *nameIndex) step(ctx context.Context, cut int64) (more bool, err error) {
	if x.off {
		return false, nil
	}
	for complete := (x.writer.last + 1) >> body.SpanBits; x.next < complete; x.next++ {
		x.missing = append(x.missing, x.next)
	}
	if len(x.failed) > 0 && time.Since(x.failedAt) > retryAfter {
		clear(x.failed)
	}
	defer func() { x.waiting.Store(int64(len(x.missing))) }()
	at := len(x.missing) - 1
	for ; at >= 0; at-- {
		removing := cut > 0 && (cut+1)%names.Size != 0 && x.missing[at] == cut>>body.SpanBits
		if !removing && !x.failed[x.missing[at]] {
			break
		}
	}
	if at < 0 || len(x.failed) >= maxFailed {
		x.done()
		return false, nil
	}
	if err := x.make(ctx, x.missing[at]); err != nil {
		if len(x.failed) == 0 {
			x.failed, x.failedAt = map[int64]bool{}, time.Now()
		}
		x.failed[x.missing[at]] = true
		return true, fmt.Errorf("making an index of names: %w", err)
	}
	x.missing = slices.Delete(x.missing, at, at+1)
	return true, nil
}

// done tells that all are made that can be, if the log has told otherwise.
func (x *nameIndex) done() {
	if len(x.failed) > 0 {
		return
	}
	if x.telling {
		x.telling = false
		x.log.Info("the journal's index of names is complete")
	}
	if x.failing {
		x.failing = false
		if x.log != nil {
			x.log.Info("the journal's index of names is kept again")
		}
	}
}

// fail tells that one could not be made.
func (x *nameIndex) fail(err error) {
	if !x.failing && x.log != nil {
		x.log.Warn("the journal's index of names cannot be kept, so lists by path, host and project take longer", "error", err)
	}
	x.failing = true
}

// make stores the row of a span.
func (x *nameIndex) make(ctx context.Context, span int64) error {
	if err := x.writer.inPlace(); err != nil {
		return err
	}
	row, n, err := namesOf(ctx, x.writer.conn, span)
	if err != nil || n == 0 {
		return err
	}
	_, err = x.writer.conn.ExecContext(ctx, insertNames, span, row.Decided, row.Counts,
		row.Names[names.Projects], row.Names[names.Programs], row.Names[names.Hosts], row.Names[names.Paths])
	return err
}

// spanBounds are the numbers of the decisions of a span.
func spanBounds(span int64) bounds { return bounds{span << body.SpanBits, (span+1)<<body.SpanBits - 1} }

// namesOf makes the row of a span from its decisions, and returns how many these are.
func namesOf(ctx context.Context, q windows.Queryer, span int64) (row names.Row, n int, _ error) {
	var b names.Builder
	whole := spanBounds(span)
	var rec decisions.Record
	w, err := windows.New(ctx, q, new(filter).where, func(text []byte) []names.Name {
		if contents.Brief(&rec, text) != nil {
			return nil
		}
		return names.Of(&rec)
	})
	if err != nil {
		return row, 0, err
	}
	defer w.Close()
	for low := whole.low; low <= whole.high; low += windows.Rows {
		list, err := w.At(ctx, low, low+windows.Rows-1)
		if err != nil {
			return row, 0, err
		}
		n += len(list)
		for _, i := range list {
			list, _ := w.Known(i.Text)
			b.Add(int(i.Seq-whole.low), i.Verdict, list)
		}
	}
	if err := countsOf(ctx, q, &b, whole); err != nil {
		return row, 0, err
	}
	return b.Row(), n, nil
}

// countsOf adds how many decisions there are of what.
func countsOf(ctx context.Context, q windows.Queryer, b *names.Builder, of bounds) (err error) {
	rows, err := q.QueryContext(ctx, countedNames, of.low, of.high)
	if err != nil {
		return err
	}
	return eachCount(rows, b.Count)
}

// eachCount calls use for each row of agent, tool, decider, verdict and a number.
func eachCount(rows *sql.Rows, use func(tally.Values, int64)) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v tally.Values
		var n int64
		if err := rows.Scan(&v.Agent, &v.Tool, &v.DecidedBy, &v.Verdict, &n); err != nil {
			return err
		}
		if n > 0 {
			use(v, n)
		}
	}
	return rows.Err()
}
