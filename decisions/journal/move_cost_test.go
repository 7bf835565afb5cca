//go:build cgo

package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
)

// TestMoveAllocates tests how much garbage the move of a repeated decision's record to the
// database makes: it comes to that of the request itself.
func TestMoveAllocates(t *testing.T) {
	if testload.Race || testing.CoverMode() != "" {
		t.Skip("the race detector and counters of covered lines allocate")
	}
	const records, most, mostBytes = 1000, 11, 200
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Path: filepath.Join(dir, "decisions.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.mover.stop(); err != nil { // the test moves what it makes
		t.Fatal(err)
	}
	defer func() {
		j.mover.start()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	var frames []byte
	for n := range 2 * records {
		r := request{}
		rec := &decisions.Record{
			Time: time.Unix(1_700_000_000, int64(n)), Peer: decisions.Peer{UID: 1000, PID: 77}, Session: decisions.SessionRef{ID: "s1"}, Protocol: "acp", Tool: "Bash",
			LatencyNS: int64(50_000 + n),
			Decision: decisions.Decision{
				ID: fmt.Sprintf("0190-%08d", n), CallID: fmt.Sprintf("toolu_%d", n), Verdict: decisions.Allow, By: decisions.ByPolicy, Reason: "it only looks",
				Effects: []decisions.EffectDecision{{Kind: "run", Text: "git log", Verdict: decisions.Allow}},
			},
		}
		if err := r.fill([]*decisions.Record{rec}); err != nil {
			t.Fatal(err)
		}
		stamp(r.frames, int64(1+n))
		frames = append(frames, r.frames...)
	}
	half := 0
	for range records {
		half += sizeOf(frames[half:])
	}
	if err := j.mover.writer.store(frames[:half]); err != nil { // fills buffers and maps
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := j.mover.writer.store(frames[half:]); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	n, bytes := float64(after.Mallocs-before.Mallocs)/records, float64(after.TotalAlloc-before.TotalAlloc)/records
	if n > most || bytes > mostBytes {
		t.Errorf("%.1f allocations and %.0f bytes for a record, want at most %d and %d", n, bytes, most, mostBytes)
	}
}
