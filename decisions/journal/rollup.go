package journal

import (
	"context"
	"database/sql"
	"errors"

	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/tally"
)

const selectCounts = `SELECT span, decided, counts, ` + leftOfSpan + ` FROM names n WHERE span BETWEEN ? AND ? AND decided IS NOT NULL ORDER BY span`

// counts reports whether decisions with these values are selected.
func (f *filter) counts(v *tally.Values) bool {
	is := func(want, have string) bool { return want == "" || column(want) == have }
	return is(f.Agent, v.Agent) && is(f.Tool, v.Tool) && is(string(f.By), v.DecidedBy) && is(string(f.Verdict), v.Verdict)
}

// tallyCounted counts the decisions of spans that were counted when they were complete. It returns
// what is left of the stretches.
func (v *view) tallyCounted(ctx context.Context, t *tallies, f *filter, all []stretch, day string) (left []stretch, _ error) {
	if f.Session != "" || f.UID != nil || f.Unapproved {
		return all, nil
	}
	sum := map[tally.Values]int64{}
	for _, s := range all {
		if !s.full {
			if s.high-s.low >= 2*names.Size {
				left = append(left, s)
				continue
			}
			var q query
			q.add("SELECT agent, tool, decided_by, verdict, count(*) FROM decisions d WHERE true")
			f.columns(&q, s.bounds)
			q.add(" GROUP BY 1, 2, 3, 4")
			counts, err := v.countKinds(ctx, t.memo, q, s.bounds)
			if err != nil {
				return nil, err
			}
			for of, n := range counts {
				sum[of] += n
			}
			continue
		}
		// Spans that are whole within the stretch.
		low, high := (s.low+names.Size-1)>>body.SpanBits, (s.high+1)>>body.SpanBits-1
		spans, err := v.rolledUp(ctx, low, high, func(of *tally.Values, n int64) {
			if f.counts(of) {
				sum[*of] += n
			}
		})
		if err != nil {
			return nil, err
		}
		for _, span := range spans {
			if whole := spanBounds(span); whole.low > s.low {
				left = append(left, stretch{bounds{s.low, whole.low - 1}, true})
			}
			s.low = (span + 1) << body.SpanBits
		}
		if s.low <= s.high {
			left = append(left, s)
		}
	}
	for of, n := range sum {
		t.addKind(&of, day, n)
	}
	return left, nil
}

// rolledUp calls use for the counts of the spans from low to high, and returns those that have
// some. Where they cannot be read, there are none.
func (v *view) rolledUp(ctx context.Context, low, high int64, use func(*tally.Values, int64)) ([]int64, error) {
	if low > high {
		return nil, nil
	}
	spans, err := v.readCounts(ctx, low, high, use)
	if err != nil && ctx.Err() == nil {
		return spans, nil
	}
	return spans, err
}

// readCounts reads them, and returns the spans before an error.
func (v *view) readCounts(ctx context.Context, low, high int64, use func(*tally.Values, int64)) (spans []int64, err error) {
	rows, err := v.tx.QueryContext(ctx, selectCounts, low, high)
	if err != nil {
		return spans, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	type count struct {
		of tally.Values
		n  int64
	}
	var list []count
	for rows.Next() {
		var span int64
		var row names.Row
		var left sql.NullInt64
		if err := rows.Scan(&span, &row.Decided, &row.Counts, &left); err != nil {
			return spans, err
		}
		list = list[:0]
		if !row.EachCount(func(of tally.Values, n int64) { list = append(list, count{of, n}) }) || left.Valid && left.Int64 != int64(row.Len()) {
			continue // it is not as it was written
		}
		for i := range list {
			use(&list[i].of, list[i].n)
		}
		spans = append(spans, span)
	}
	return spans, rows.Err()
}
