//go:build cgo

package journal

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/decisions/journal/upkeep"
	"github.com/permd/permd/internal/eventually"
)

// TestLowSpace: the status and the log warn before the file system is full.
func TestLowSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(10 << 30)
	var out syncBuffer
	j := openWith(t, Options{
		MaxBytes: 256 << 20, Log: slog.New(slog.NewTextHandler(&out, nil)),
		freeSpace: func() (int64, int64, bool) { return free.Load(), 100 << 30, true },
	})
	eventually.Holds(t, "retention is done", func() bool { return j.Status().Retention.Free == 10<<30 })
	if j.Status().Retention.LowSpace {
		t.Error("10 GiB are called low")
	}
	for _, tc := range []struct {
		free int64
		low  bool
	}{{upkeep.LowSpace + 257<<20, false}, {upkeep.LowSpace + 255<<20, true}, {0, true}} {
		free.Store(tc.free)
		j.mover.moveNow()
		eventually.Holds(t, "retention is done", func() bool { return j.Status().Retention.Free == tc.free })
		if j.Status().Retention.LowSpace != tc.low {
			t.Errorf("%d bytes: low is not %v", tc.free, tc.low)
		}
	}
	if n := strings.Count(out.String(), "almost full"); n != 1 {
		t.Errorf("the log warned %d times: %s", n, out.String())
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
