package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestTakenBackLogged: that a yes was taken back is logged also for a client that is gone, and one
// that cannot be logged is reported.
func TestTakenBackLogged(t *testing.T) {
	t.Parallel()
	j, err := journal.Open(journal.Options{Path: filepath.Join(t.TempDir(), "data", "decisions.db"), Durability: journal.Process})
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{journal: j, now: time.Now, log: slog.New(slog.DiscardHandler)}
	rec := &decisions.Record{Time: time.Now(), Decision: decisions.Decision{ID: "a", Verdict: decisions.Ask}}
	if err := j.Append(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := d.recordAnswer(t.Context(), "a", decisions.Allow, nil); err != nil {
		t.Fatal(err)
	}
	var missed atomic.Bool
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), notLoggedKey{}, &missed))
	cancel()
	d.recordTakenBack(ctx, []string{"a"})
	got, err := j.Get(t.Context(), "a")
	if err != nil || got.Answer == nil || got.Answer.Verdict != decisions.Deny || got.Answer.Allowed == nil || missed.Load() {
		t.Errorf("%+v, %v; missed: %v", got, err, missed.Load())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if d.recordTakenBack(ctx, []string{"a"}); !missed.Load() {
		t.Error("what is not logged is not reported")
	}
}
