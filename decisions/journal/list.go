package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
)

// A list is found in two steps, neither of which reads records that it does not
// return: the filter selects kinds, and the numbers of each kind are in order. As
// kinds are visited from the one with the newest decision on, a list of the n
// newest records visits n kinds at most.

// kindsPage is the number of kinds that are read at once.
const kindsPage = 256

// query is SQL with its arguments.
type query struct {
	text string
	args []any
}

func (q *query) add(text string, args ...any) {
	q.text += text
	q.args = append(q.args, args...)
}

// ofKind reports whether the filter selects by what kinds are made of.
func (f *filter) ofKind() bool {
	return f.Verdict != "" || f.By != "" || f.Session != "" || f.Agent != "" || f.Tool != "" || f.UID != nil || f.Unapproved
}

// withoutVerdict returns the filter without its verdict.
func (f *filter) withoutVerdict() *filter {
	other := *f
	other.Verdict = ""
	return &other
}

// kinds selects a page of kinds that may have decisions within the bounds, those
// with the newest decisions first. Below continues after a page; no two kinds have
// the same newest decision.
func (f *filter) kinds(b bounds, below int64) query {
	// Without statistics SQLite takes all equalities for equally rare.
	index := ""
	switch {
	case f.Session != "":
		index = " INDEXED BY kinds_values"
	case f.Unapproved:
		index = " INDEXED BY kinds_outcome"
	}
	var q query
	q.add("SELECT kind, newest FROM kinds"+index+" WHERE newest >= ? AND newest < ? AND oldest <= ?", b.low, below, b.high)
	f.ofKinds(&q, "")
	q.add(" ORDER BY newest DESC LIMIT ?", kindsPage)
	return q
}

// ofKinds restricts a query of kinds, whose columns have a prefix, to those that the filter
// selects.
func (f *filter) ofKinds(q *query, prefix string) {
	add := func(name, value string) {
		if value != "" {
			q.add(" AND "+prefix+name+" = ?", column(value))
		}
	}
	add("session", f.Session)
	add("tool", f.Tool)
	add("agent", f.Agent)
	add("verdict", string(f.Verdict))
	add("decided_by", string(f.By))
	if f.UID != nil {
		q.add(" AND "+prefix+"uid = ?", int64(*f.UID))
	}
	if f.Unapproved {
		q.add(" AND "+prefix+"outcome <> '' AND "+prefix+"outcome IN (?, ?)", string(decisions.RanUnprompted), string(decisions.RanDespiteDeny))
	}
}

// bounds are the sequence numbers that a filter can select, both included.
type bounds struct{ low, high int64 }

// within restricts a query to the bounds and to the times of the filter. The
// column is the sequence number's, the prefix that of time.
func (f *filter) within(q *query, b bounds, column, prefix string) {
	q.add(" AND "+column+" BETWEEN ? AND ?", b.low, b.high)
	if !f.Since.IsZero() {
		q.add(" AND "+prefix+"time >= ?", f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		q.add(" AND "+prefix+"time < ?", f.Until.UnixNano())
	}
}

// listed selects the numbers of a kind within the bounds.
func (f *filter) listed(what string, kind int64, b bounds) query {
	var q query
	q.add("SELECT "+what+" FROM listed WHERE kind = ?", kind)
	f.within(&q, b, "seq", "")
	return q
}

// The spans at the ends of a range of times.
const (
	firstSpan = "SELECT span FROM spans WHERE newest >= ? ORDER BY span LIMIT 1"
	lastSpan  = "SELECT span FROM spans WHERE oldest < ? ORDER BY span DESC LIMIT 1"
)

// bounds finds the numbers that the filter can select.
func (v *view) bounds(ctx context.Context, f *filter) (b bounds, err error) {
	b = bounds{f.After + 1, v.last}
	if f.Before > 0 {
		b.high = min(b.high, f.Before-1)
	}
	span := func(q string, at int64) (int64, bool) {
		var n int64
		if err == nil {
			err = v.tx.QueryRowContext(ctx, q, at).Scan(&n)
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
			return 0, false
		}
		return n, err == nil
	}
	if !f.Since.IsZero() {
		first, ok := span(firstSpan, f.Since.UnixNano())
		if !ok {
			return bounds{1, 0}, err
		}
		b.low = max(b.low, first<<body.SpanBits)
	}
	if !f.Until.IsZero() {
		last, ok := span(lastSpan, f.Until.UnixNano())
		if !ok {
			return bounds{1, 0}, err
		}
		b.high = min(b.high, (last+1)<<body.SpanBits-1)
	}
	return b, err
}

// eachKind calls visit for each page of the kinds that the filter selects, until it
// returns false.
func (v *view) eachKind(ctx context.Context, f *filter, b bounds, visit func(kind, newest int64) (bool, error)) error {
	for below := int64(math.MaxInt64); ; {
		q := f.kinds(b, below)
		page, err := pairs(v.tx.QueryContext(ctx, q.text, q.args...))
		if err != nil {
			return fmt.Errorf("selecting kinds: %w", err)
		}
		for _, k := range page {
			if more, err := visit(k[0], k[1]); err != nil || !more {
				return err
			}
			below = k[1]
		}
		if len(page) < kindsPage {
			return nil
		}
	}
}

// pairs reads rows of two numbers.
func pairs(rows *sql.Rows, err error) (list [][2]int64, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p [2]int64
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// numbers returns the sequence numbers of the records that the filter selects,
// limit at most: the newest ones, descending, or else the oldest ones, ascending.
func (v *view) numbers(ctx context.Context, f *filter, b bounds, limit int, newest bool) (found []int64, err error) {
	order, compare := " ORDER BY seq LIMIT ?", cmp.Compare[int64]
	if newest {
		order, compare = " ORDER BY seq DESC LIMIT ?", func(a, b int64) int { return cmp.Compare(b, a) }
	}
	err = v.eachKind(ctx, f, b, func(kind, last int64) (bool, error) {
		if newest && len(found) == limit && last < found[limit-1] {
			return false, nil // neither this kind nor the following ones have newer decisions
		}
		q := f.listed("seq, time", kind, b)
		q.add(order, limit)
		more, err := pairs(v.tx.QueryContext(ctx, q.text, q.args...))
		for _, m := range more {
			found = append(found, m[0])
		}
		slices.SortFunc(found, compare)
		found = found[:min(len(found), limit)]
		return ctx.Err() == nil, errors.Join(err, ctx.Err())
	})
	return found, err
}

// The selections of records by their numbers.
const (
	bySeq    = " WHERE d.seq = ?"
	inBounds = " WHERE true"
)

// stored adds records of the database to a page: the newest ones, descending, or
// the oldest ones, ascending.
func (v *view) stored(ctx context.Context, p *page, f *filter, newest bool) error {
	if p.full() {
		return nil
	}
	b, err := v.bounds(ctx, f)
	if err != nil || b.low > b.high {
		return err
	}
	if f.ofContent() {
		return v.scan(ctx, p, f, b, newest)
	}
	limit := p.limit - len(p.recs)
	if !f.ofKind() {
		q := query{text: inBounds}
		f.within(&q, b, "d.seq", "d.")
		q.add(order(newest), limit)
		return v.query(ctx, p, q.text, q.args...)
	}
	found, err := v.numbers(ctx, f, b, limit, newest)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found, seqsAtOnce) {
		q := bySeqs(some, newest)
		if err := v.query(ctx, p, q.text, q.args...); err != nil {
			return err
		}
	}
	return nil
}

// seqsAtOnce is the number of records that are read by their numbers at once.
const seqsAtOnce = 128

// bySeqs selects records by their numbers.
func bySeqs(seqs []int64, newest bool) (q query) {
	q.add(" WHERE d.seq IN (?" + strings.Repeat(", ?", len(seqs)-1) + ")")
	for _, seq := range seqs {
		q.args = append(q.args, seq)
	}
	q.add(order(newest), len(seqs))
	return q
}

func order(newest bool) string {
	if newest {
		return " ORDER BY d.seq DESC LIMIT ?"
	}
	return " ORDER BY d.seq LIMIT ?"
}

// listAfter lists the records after a sequence number, oldest first.
func (v *view) listAfter(ctx context.Context, p *page, f *filter) error {
	if err := v.stored(ctx, p, f, false); err != nil || p.next > 0 {
		return err
	}
	for i := range v.records {
		if p.full() {
			break
		}
		if err := v.take(p, f, &v.records[i]); err != nil {
			return err
		}
	}
	if p.full() {
		p.next = p.recs[len(p.recs)-1].Seq
		p.goOn(v.end())
	}
	return nil
}

// goOn sets how many decisions are left after next.
func (p *page) goOn(end int64) {
	if p.left = end - p.next; p.left <= 0 {
		p.next, p.left = 0, 0
	}
}

// newest lists the newest records, oldest first.
func (v *view) newest(ctx context.Context, p *page, f *filter) error {
	for i := len(v.records) - 1; i >= 0 && !p.full(); i-- {
		if err := v.take(p, f, &v.records[i]); err != nil {
			return err
		}
	}
	if err := v.stored(ctx, p, f, true); err != nil {
		return err
	}
	if p.full() && p.next == 0 {
		p.next = p.recs[len(p.recs)-1].Seq
	}
	slices.Reverse(p.recs)
	if p.next == 0 {
		return nil
	}
	b, err := v.bounds(ctx, f)
	if p.left = p.next - b.low; p.left <= 0 {
		p.next, p.left = 0, 0
	}
	return err
}

// end is the newest sequence number.
func (v *view) end() int64 {
	if n := len(v.records); n > 0 {
		return v.records[n-1].seq
	}
	return v.last
}
