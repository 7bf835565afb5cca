package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/processname"
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
	if err := d.recordAnswer(t.Context(), "a", decisions.Allow, author.Identity{Via: author.Client, UID: 5, PID: int32(os.Getpid())}, nil); err != nil {
		t.Fatal(err)
	}
	by := author.Identity{Via: author.Client, UID: 5, PID: int32(os.Getpid()), Process: processname.Of(int32(os.Getpid()))}
	var missed atomic.Bool
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), notLoggedKey{}, &missed))
	cancel()
	d.recordTakenBack(ctx, author.Identity{Via: author.Lock, UID: 6}, []string{"a"})
	got, err := j.Get(t.Context(), "a")
	if err != nil || got.Answer == nil || got.Answer.Verdict != decisions.Deny || got.Answer.Allowed == nil || missed.Load() ||
		*got.Answer.Author != (author.Identity{Via: author.Lock, UID: 6}) || *got.Answer.AllowedBy != by {
		t.Errorf("%+v, %v; missed: %v", got, err, missed.Load())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if d.recordTakenBack(ctx, author.Identity{Via: author.Lock, UID: 6}, []string{"a"}); !missed.Load() {
		t.Error("what is not logged is not reported")
	}
}
