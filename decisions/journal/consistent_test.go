//go:build cgo

package journal

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/eventually"
)

// different is a record that shares nothing with others.
func different(n int) *decisions.Record {
	rec := numberedRecord(n)
	rec.Session.ID, rec.Tool = fmt.Sprint("s", n%10), "Bash"
	rec.Decision.Verdict, rec.Decision.By = decisions.Allow, decisions.ByPolicy
	rec.Decision.Reason = fmt.Sprintf("reason %d %s", n, strings.Repeat("x", 1000))
	return rec
}

func fill(t *testing.T, j *Journal, from, to int, make func(int) *decisions.Record) {
	t.Helper()
	for n := from; n < to; n += 64 {
		var recs []*decisions.Record
		for i := n; i < min(n+64, to); i++ {
			recs = append(recs, make(i))
		}
		if err := j.Append(t.Context(), recs...); err != nil {
			t.Fatal(err)
		}
	}
}

// drained waits until the spool is empty and nothing is left to be removed.
func drained(t *testing.T, j *Journal) Retention {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("status %+v", j.Status())
		}
	}()
	eventually.Holds(t, "retention is done", func() bool { return j.Status().Spooled == 0 })
	for range 2 { // the first may have begun before
		before := j.mover.retention.status.Load()
		eventually.Holds(t, "retention is done", func() bool { j.mover.moveNow(); return j.mover.retention.status.Load() != before })
	}
	return j.Status().Retention
}

// consistent checks that lists, counts and single records agree, that each record can
// be read, and that the chain has no fault and nothing of removed records.
func consistent(t *testing.T, j *Reader) (seqs []int64) {
	t.Helper()
	ctx := context.Background()
	if v, err := j.Verify(ctx, verify.Options{}); err != nil || len(v.Faults) > 0 {
		t.Errorf("the chain: %+v, %v", v, err)
	}
	var stale int
	err := j.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM notes, retained WHERE after <= cut AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.seq = notes.seq)").Scan(&stale)
	if err != nil || stale > 0 {
		t.Errorf("%d entries are left of what was removed, %v", stale, err)
	}
	bySession := map[string]int64{}
	for after := int64(0); ; {
		recs, err := j.nextRecords(ctx, after)
		if err != nil {
			t.Fatal(err)
		}
		if len(recs) == 0 {
			break
		}
		for _, rec := range recs {
			after, seqs = rec.Seq, append(seqs, rec.Seq)
			bySession[rec.Session.ID]++
		}
	}
	if n, err := j.Count(ctx, decisions.RecordFilter{}); err != nil || int(n) != len(seqs) {
		t.Errorf("counted %d of %d records, %v", n, len(seqs), err)
	}
	for session, want := range bySession {
		if session == "" {
			continue
		}
		if n, err := j.Count(ctx, decisions.RecordFilter{Session: session}); err != nil || n != want {
			t.Errorf("counted %d of %d records of session %s, %v", n, want, session, err)
		}
	}
	for _, query := range []string{
		"SELECT count(*) FROM listed WHERE kind NOT IN (SELECT kind FROM kinds)",
		"SELECT count(*) FROM kinds WHERE kind NOT IN (SELECT kind FROM listed)",
		"SELECT count(*) FROM listed WHERE seq NOT IN (SELECT seq FROM decisions)",
		"SELECT count(*) FROM decisions WHERE seq NOT IN (SELECT seq FROM listed)",
		"SELECT count(*) FROM decisions WHERE shared IS NOT NULL AND shared NOT IN (SELECT first FROM bodies)",
		"SELECT count(*) FROM bodies WHERE first NOT IN (SELECT shared FROM decisions WHERE shared IS NOT NULL)",
		"SELECT count(*) FROM decisions WHERE seq / 1024 NOT IN (SELECT span FROM spans)",
		"SELECT count(*) FROM names WHERE span NOT IN (SELECT seq / 1024 FROM decisions)",
	} {
		var n int
		if err := j.db.Read.QueryRow(query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", query, n, err)
		}
	}
	return seqs
}

// testClock is a clock that a test sets.
type testClock struct{ at atomic.Int64 }

func (c *testClock) now() time.Time { return time.Unix(c.at.Load(), 0) }
