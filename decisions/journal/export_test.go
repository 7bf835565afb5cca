//go:build cgo

package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// Consistent is consistent.
var Consistent = consistent

// Drained is drained.
var Drained = drained

// Encode returns a record in the form that Decode reads.
func Encode(rec *decisions.Record) ([]byte, error) {
	data, err := rec.AppendJSON(nil)
	if err != nil && !errors.Is(err, decisions.ErrNotUTF8) {
		return nil, fmt.Errorf("encoding record: %w", err)
	}
	return data, nil
}

// Last returns the newest sequence number, 0 when the journal is empty.
func (r *Reader) Last(ctx context.Context) (int64, error) {
	var last int64
	err := r.withView(ctx, func(v *view) error {
		last = v.last
		if n := len(v.records); n > 0 {
			last = v.records[n-1].seq
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading the newest sequence number: %w", err)
	}
	return last, nil
}

// Count returns the number of records that pass the filter, ignoring its Limit.
func (r *Reader) Count(ctx context.Context, f decisions.RecordFilter) (int64, error) {
	selected := filter{f}
	var n int64
	err := r.withView(ctx, func(v *view) (err error) {
		if n, err = v.count(ctx, &selected); err != nil {
			return err
		}
		for i := range v.records {
			if selected.passes(&v.records[i]) {
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("counting decisions: %w", err)
	}
	return n, nil
}

// count counts the records of the database that the filter selects.
func (v *view) count(ctx context.Context, f *filter) (n int64, err error) {
	b, err := v.bounds(ctx, f)
	if err != nil || b.low > b.high {
		return 0, err
	}
	err = v.eachKind(ctx, f, b, func(kind, _ int64) (bool, error) {
		q := f.listed("count(*)", kind, b)
		var of int64
		err := v.tx.QueryRowContext(ctx, q.text, q.args...).Scan(&of)
		n += of
		return ctx.Err() == nil, errors.Join(err, ctx.Err())
	})
	return n, err
}

// SetScan bounds how much is read for a page.
func (r *Reader) SetScan(rows int64, within time.Duration) { r.scan = scanning{rows, within} }

// Named returns the number of spans that the index of names has.
func (r *Reader) Named(t testing.TB) (n int) {
	t.Helper()
	if err := r.db.Read.QueryRow("SELECT count(*) FROM names WHERE decided IS NOT NULL").Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}
