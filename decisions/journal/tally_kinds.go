package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/tally"
)

// stretch is a range of numbers. In one that is not full some decisions are of other times
// than those that are counted.
type stretch struct {
	bounds
	full bool
}

// chunkBits is how many decisions are counted by one query: 65536.
const chunkBits = 16

// maxStretches bounds the stretches of a query.
const maxStretches = 8

// stretches splits the bounds into them.
func (v *view) stretches(ctx context.Context, f *filter, b bounds) ([]stretch, error) {
	if f.Since.IsZero() && f.Until.IsZero() {
		return []stretch{{b, true}}, nil
	}
	since, until := int64(-1<<63), int64(1<<63-1)
	if !f.Since.IsZero() {
		since = f.Since.UnixNano()
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixNano()
	}
	rows, err := v.tx.QueryContext(ctx, "SELECT span, oldest >= ? AND newest < ? FROM spans WHERE span BETWEEN ? AND ?", since, until, b.low>>body.SpanBits, b.high>>body.SpanBits)
	list, err := pairs(rows, err)
	if err != nil {
		return nil, err
	}
	var all []stretch
	for _, s := range list {
		full := s[1] != 0
		if n := len(all); n > 0 && all[n-1].full == full {
			all[n-1].high = (s[0]+1)<<body.SpanBits - 1
			continue
		}
		all = append(all, stretch{bounds{s[0] << body.SpanBits, (s[0]+1)<<body.SpanBits - 1}, full})
	}
	if len(all) > maxStretches { // a clock that jumped again and again
		return []stretch{{b, false}}, nil
	}
	for i := range all {
		all[i].low, all[i].high = max(all[i].low, b.low), min(all[i].high, b.high)
	}
	return all, nil
}

// addKind counts n decisions of a kind that are of a day, "" for none.
func (t *tallies) addKind(k *tally.Values, day string, n int64) {
	for _, by := range t.by {
		if name, ok := k.Name(by, day); ok {
			t.add(by, name, decisions.Verdict(k.Verdict), n)
		}
	}
}

// counted counts the decisions of the kinds that the filter selects.
func (f *filter) counted(b bounds, list []stretch) (q query) {
	q.add("SELECT agent, tool, decided_by, verdict, sum(")
	for i, p := range list {
		if i > 0 {
			q.add(" + ")
		}
		// Most kinds are of a time that is not in every stretch.
		q.add("CASE WHEN newest < ? OR oldest > ? THEN 0 ELSE (SELECT count(*) FROM listed l WHERE l.kind = k.kind", p.low, p.high)
		if p.low > 1 || p.high < b.high {
			q.add(" AND l.seq BETWEEN ? AND ?", p.low, p.high)
		} else {
			q.add(" AND l.seq <= ?", p.high)
		}
		if !p.full {
			if !f.Since.IsZero() {
				q.add(" AND l.time >= ?", f.Since.UnixNano())
			}
			if !f.Until.IsZero() {
				q.add(" AND l.time < ?", f.Until.UnixNano())
			}
		}
		q.add(") END")
	}
	q.add(") FROM kinds k WHERE newest >= ? AND oldest <= ?", b.low, b.high)
	f.ofKinds(&q, "")
	q.add(" GROUP BY 1, 2, 3, 4")
	return q
}

// tallyKinds counts by what kinds are made of the decisions that f selects, which are of a
// day.
func (v *view) tallyKinds(ctx context.Context, t *tallies, f *filter, day string) error {
	b, err := v.bounds(ctx, f)
	if err != nil {
		return err
	}
	all, err := v.stretches(ctx, f, b)
	if err != nil {
		return err
	}
	all, err = v.tallyCounted(ctx, t, f, all, day)
	if err != nil {
		return err
	}
	// What is stored and not removed does not change, so some is known from before.
	for low := b.low; low <= b.high; {
		some := bounds{low, min(b.high, low|(1<<chunkBits-1))}
		low = some.high + 1
		var list []stretch
		for _, s := range all {
			if s.bounds = (bounds{max(s.low, some.low), min(s.high, some.high)}); s.low <= s.high {
				list = append(list, s)
			}
		}
		if len(list) == 0 {
			continue
		}
		counts, err := v.countKinds(ctx, t.memo, f.counted(some, list), some)
		if err != nil {
			return err
		}
		for k, n := range counts {
			t.addKind(&k, day, n)
		}
	}
	for i := range v.records {
		if r := &v.records[i]; f.passes(r) {
			t.addKind(&tally.Values{
				Agent: string(r.texts[textAgent]), Tool: string(r.texts[textTool]), DecidedBy: string(r.texts[textBy]), Verdict: string(r.texts[textVerdict]),
			}, day, 1)
		}
	}
	return nil
}

// countKinds returns what a query of counted finds within the bounds.
func (v *view) countKinds(ctx context.Context, memo *tally.Memo, q query, b bounds) (counts map[tally.Values]int64, err error) {
	key := ""
	if b.high <= v.last && b.low > v.cut {
		key = fmt.Sprint(q.text, q.args)
		if counts = memo.Get(key); counts != nil {
			return counts, nil
		}
	}
	rows, err := v.tx.QueryContext(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = map[tally.Values]int64{}
	for rows.Next() {
		var k tally.Values
		var n int64
		if err := rows.Scan(&k.Agent, &k.Tool, &k.DecidedBy, &k.Verdict, &n); err != nil {
			return nil, err
		}
		if n > 0 {
			counts[k] = n
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if key != "" {
		memo.Put(key, counts)
	}
	return counts, nil
}

// tallyDays counts the decisions between neighbours of starts, and in other ways the others,
// too.
func (v *view) tallyDays(ctx context.Context, t *tallies) error {
	if len(t.by) > 1 {
		if err := v.tallyOtherDays(ctx, t); err != nil {
			return err
		}
	}
	for i := range max(0, len(t.starts)-1) {
		of := *t.filter
		if of.Since.Before(t.starts[i]) {
			of.Since = t.starts[i]
		}
		if of.Until.IsZero() || of.Until.After(t.starts[i+1]) {
			of.Until = t.starts[i+1]
		}
		if err := v.tallyKinds(ctx, t, &of, t.starts[i].Format(time.RFC3339)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// tallyOtherDays counts the decisions before and after starts, which are of no day.
func (v *view) tallyOtherDays(ctx context.Context, t *tallies) error {
	before, after := *t.filter, *t.filter
	if n := len(t.starts); n > 1 {
		if before.Until.IsZero() || before.Until.After(t.starts[0]) {
			before.Until = t.starts[0]
		}
		if after.Since.Before(t.starts[n-1]) {
			after.Since = t.starts[n-1]
		}
		if err := v.tallyKinds(ctx, t, &after, ""); err != nil {
			return err
		}
	}
	return v.tallyKinds(ctx, t, &before, "")
}

// maxLate bounds the decisions with answers in the spool that a query leaves out.
const maxLate = 1000

// tallyAnswers counts the questions that f selects by what the person said, the newest
// first.
func (v *view) tallyAnswers(ctx context.Context, t *tallies, f *filter, b bounds) error {
	for b.low <= b.high {
		some := bounds{max(b.low, b.high&^(1<<chunkBits-1)), b.high}
		if err := v.answersWithin(ctx, t, f, some); err != nil {
			return err
		}
		if b.high = some.low - 1; b.low <= b.high && t.page.late() {
			t.page.next, t.page.left = some.low, some.low-b.low
			return nil
		}
	}
	return nil
}

func (v *view) answersWithin(ctx context.Context, t *tallies, f *filter, b bounds) error {
	// What is in the spool about a decision of the database counts for it.
	var late []int64
	for _, list := range [][]frame{v.answers, v.runs, v.endings} {
		for i := range list {
			if list[i].kind == chain.Ended && !isTakenBack(string(list[i].json)) {
				continue
			}
			if seq := list[i].seq; seq >= b.low && seq <= b.high && !slices.Contains(late, seq) && len(late) < maxLate {
				late = append(late, seq)
			}
		}
	}
	among := "(?" + strings.Repeat(", ?", max(0, len(late)-1)) + ")"
	but := func(q *query, column string) {
		if len(late) > 0 {
			q.add(" AND " + column + " NOT IN " + among)
		}
		for _, seq := range late {
			q.args = append(q.args, seq)
		}
	}
	if err := v.countAnswers(ctx, t, f, b, but); err != nil || len(late) == 0 {
		return err
	}
	q := f.scanned(b, nil)
	q.add(" AND d.seq IN " + among)
	for _, seq := range late {
		q.args = append(q.args, seq)
	}
	within := t.page.scan.within
	t.page.scan.within = time.Hour // these few are counted now or never
	_, err := v.tallySome(ctx, t, f, q, map[int64][]groupKey{})
	t.page.scan.within = within
	return err
}

// answerOf is the answer to a question that has one, as takenBack makes it. Only for a yes is a
// column read that is not in the index decisions_answered.
const answerOf = "CASE WHEN answer = 'allow' AND ended_as LIKE '" + decisions.EndedTakenBack + "%' THEN 'deny' ELSE coalesce(answer, '') END"

// answeredOnes counts the answered questions within the bounds.
func (f *filter) answeredOnes(b bounds) (q query) {
	q.add("SELECT CASE WHEN answered_at IS NULL THEN 'ran' ELSE " + answerOf + ` END, count(*) FROM decisions INDEXED BY decisions_answered
		WHERE verdict = 'ask' AND (answered_at IS NOT NULL OR ran_at IS NOT NULL)`)
	f.within(&q, b, "seq", "")
	return q
}

// countAnswers counts the questions within the bounds but for some. Where nothing else selects
// them than that they are questions, those without an answer are the others of all.
func (v *view) countAnswers(ctx context.Context, t *tallies, f *filter, b bounds, but func(q *query, column string)) error {
	indexed := !f.withoutVerdict().ofKind()
	var q query
	q.add("SELECT ")
	join := ""
	if indexed {
		q.add("''")
	} else {
		q.add("CASE WHEN d.answered_at IS NOT NULL THEN " + answerOf + " WHEN d.ran_at IS NOT NULL THEN 'ran' ELSE '' END")
		join = " CROSS JOIN decisions d ON d.seq = l.seq"
	}
	q.add(", count(*) FROM kinds k CROSS JOIN listed l ON l.kind = k.kind"+join+" WHERE k.newest >= ? AND k.oldest <= ?", b.low, b.high)
	f.ofKinds(&q, "k.")
	f.within(&q, b, "l.seq", "l.")
	but(&q, "l.seq")
	q.add(" GROUP BY 1")
	counts, err := v.byName(ctx, q)
	if err != nil {
		return err
	}
	if indexed {
		q = f.answeredOnes(b)
		but(&q, "seq")
		q.add(" GROUP BY 1")
		answered, err := v.byName(ctx, q)
		if err != nil {
			return err
		}
		for name, n := range answered {
			counts[name] += n
			counts[""] = max(0, counts[""]-n)
		}
	}
	for name, n := range counts {
		t.add(tally.Answer, name, decisions.Ask, n)
	}
	return nil
}

// byName returns the rows of a query, names with counts.
func (v *view) byName(ctx context.Context, q query) (counts map[string]int64, err error) {
	rows, err := v.tx.QueryContext(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, rows.Err()
}
