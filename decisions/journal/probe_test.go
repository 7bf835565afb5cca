//go:build cgo

package journal

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/sqlitedb"
)

// TestProbe: a probe stores nothing and takes no number.
func TestProbe(t *testing.T) {
	j := openInside(t)
	for n := range 4 {
		for _, write := range []bool{false, true} {
			if err := j.Probe(t.Context(), write); err != nil {
				t.Fatal(err)
			}
		}
		rec := numberedRecord(n)
		if err := j.Append(t.Context(), rec); err != nil || rec.Seq != int64(n+1) {
			t.Fatalf("appending number %d: number %d, %v", n+1, rec.Seq, err)
		}
	}
	if s := j.Status(); s.Last != 4 || s.Records != 4 || s.Commits != 4 || s.Failed != 0 || s.Failing != "" {
		t.Errorf("status: %+v", s)
	}
	recs, err := j.List(t.Context(), decisions.RecordFilter{Limit: 10})
	if err != nil || len(recs) != 4 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	// What it writes is what was there.
	data, err := os.ReadFile(j.path + spoolSuffix + "0")
	if err != nil || !isHead(data[:headSize]) {
		t.Errorf("the spool's head: %v", err)
	}
}

// TestProbeWaits: a probe waits as an append does, and its context ends that.
func TestProbeWaits(t *testing.T) {
	j := openInside(t)
	entered, release := make(chan struct{}), make(chan struct{})
	j.atNextWrite(func() {
		close(entered)
		<-release
	})
	stored := make(chan error, 1)
	go func() { stored <- j.Append(context.Background(), numberedRecord(1)) }()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	probed := make(chan error, 2)
	go func() { probed <- j.Probe(ctx, true) }()
	eventually.Holds(t, "the probe waits", func() bool { return j.Status().Queued == 2 })
	cancel()
	if err := <-probed; !errors.Is(err, context.Canceled) {
		t.Errorf("the probe that waited: %v", err)
	}
	go func() { probed <- j.Probe(t.Context(), true) }()
	eventually.Holds(t, "another waits", func() bool { return j.Status().Waiting == 1 })
	close(release)
	if err := errors.Join(<-stored, <-probed); err != nil {
		t.Error(err)
	}
}

// TestProbeFails: a probe fails as an append would, and the status says so.
func TestProbeFails(t *testing.T) {
	j := openInside(t)
	j.spool.seg[j.spool.active].ino++ // somebody has replaced the file
	j.spool.dirState.valid = false
	if err := j.Probe(t.Context(), false); !errors.Is(err, sqlitedb.ErrGone) || j.Status().Failing == "" {
		t.Errorf("another file: %v, status %q", err, j.Status().Failing)
	}
	j.spool.mu.Lock()
	j.spool.seg[j.spool.active].ino--
	j.spool.mu.Unlock()
	eventually.Holds(t, "the probe passes again", func() bool { return j.Probe(t.Context(), false) == nil })
	if s := j.Status(); s.Failing != "" {
		t.Errorf("status: %q", s.Failing)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Probe(t.Context(), false); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
