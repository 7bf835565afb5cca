package journal

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/contents"
	"github.com/permd/permd/decisions/journal/names"
)

// Which decisions have a name is known of spans that are complete (names.go). Of others the
// records are read, for as long as a person does not notice, and a list says where it goes on.

const (
	// scanFor is how long records are read for one page.
	scanFor = 50 * time.Millisecond
	// scanRows is how many numbers are looked at by one query.
	scanRows = 4096
)

// scanning bounds how much is read for one page.
type scanning struct {
	rows   int64
	within time.Duration
}

// ofContent reports whether the filter selects by what is inside of records.
func (f *filter) ofContent() bool { return contents.Wanted(&f.RecordFilter) }

// columns restricts a query of decisions, d, to what the filter selects by their columns.
func (f *filter) columns(q *query, b bounds) {
	f.within(q, b, "d.seq", "d.")
	for _, c := range []struct{ name, value string }{
		{"session", f.Session}, {"agent", f.Agent}, {"tool", f.Tool}, {"verdict", string(f.Verdict)}, {"decided_by", string(f.By)},
	} {
		if c.value != "" {
			q.add(" AND d."+c.name+" = ?", column(c.value))
		}
	}
	if f.UID != nil {
		q.add(" AND d.uid = ?", int64(*f.UID))
	}
}

// where is columns as a condition of its own.
func (f *filter) where(low, high int64) (text string, args []any) {
	q := query{text: " WHERE true"}
	f.columns(&q, bounds{low, high})
	return q.text, q.args
}

// scanned selects the records with numbers within the bounds that may have what the filter
// selects: a record that shares no body is whole.
func (f *filter) scanned(b bounds, needles [][]byte) (q query) {
	q.add(" WHERE true")
	f.columns(&q, b)
	// One whose body is missing cannot be read, which must be seen.
	const has = "(instr(coalesce(b.text, d.record), ?) > 0 OR b.text IS NULL AND d.shared IS NOT NULL)"
	if f.Unapproved {
		q.add(" AND ("+has+" OR "+has+")", outcomeMember(decisions.RanUnprompted), outcomeMember(decisions.RanDespiteDeny))
	}
	for _, n := range needles {
		q.add(" AND "+has, n)
	}
	return q
}

// mayHave reports whether a record with that text may have what the filter selects.
func (f *filter) mayHave(text []byte, needles [][]byte) bool {
	for _, n := range needles {
		if !bytes.Contains(text, n) {
			return false
		}
	}
	return !f.Unapproved || bytes.Contains(text, outcomeMember(decisions.RanUnprompted)) || bytes.Contains(text, outcomeMember(decisions.RanDespiteDeny))
}

// scan adds records that the filter selects by their content to a page, and says where it
// has ended if that was before the end of the bounds.
func (v *view) scan(ctx context.Context, p *page, f *filter, b bounds, newest bool) error {
	needles, err := contents.Needles(&f.RecordFilter)
	if err != nil {
		return err
	}
	for spans := int64(spansAtOnce); b.low <= b.high; spans = min(2*spans, maxSpans) {
		list, err := v.sections(ctx, f, b, newest, spans, p.scan.rows, [names.Kinds]bool{})
		if err != nil {
			return err
		}
		for i := range list {
			s := &list[i]
			ended, err := v.scanSection(ctx, p, f, s.queries(f, needles, newest))
			if err != nil {
				return err
			}
			if newest {
				b.high = s.low - 1
			} else {
				b.low = s.high + 1
			}
			switch {
			case ended > 0:
			case b.low <= b.high && p.late():
				ended = s.high
				if newest {
					ended = s.low
				}
			default:
				continue
			}
			if p.next = ended; !newest {
				p.goOn(v.end())
			}
			return nil
		}
	}
	return nil
}

// scanSection adds the records of several queries, as scanSome does.
func (v *view) scanSection(ctx context.Context, p *page, f *filter, list []query) (ended int64, err error) {
	for _, q := range list {
		if ended, err = v.scanSome(ctx, p, f, q); ended > 0 || err != nil {
			return ended, err
		}
	}
	return 0, nil
}

// late reports whether the time for a page is over.
func (p *page) late() bool { return p.full() || time.Since(p.began) > p.scan.within }

// scanSome adds the records of a query that the filter selects. It returns the number of
// the last one that it looked at, 0 if it looked at all of them.
func (v *view) scanSome(ctx context.Context, p *page, f *filter, q query) (ended int64, err error) {
	rows, err := v.tx.QueryContext(ctx, "SELECT "+rowColumns+rowTables+q.text, q.args...) //nolint:gosec // all are constants of this package
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		rec, size, err := v.next(rows)
		if err != nil {
			return 0, err
		}
		if contents.Match(&f.RecordFilter, rec) {
			p.add(rec, size)
		}
		if p.late() {
			return rec.Seq, nil
		}
	}
	return 0, rows.Err()
}
