package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/permd/permd/socket"
)

// permd is idle most of the time and shares the machine with programs that need the memory
// more, so it trades a little time for a small heap.
const (
	// gcPercent is how much the heap may grow before it is collected, in percent
	// of what is in use; Go's own is 100.
	gcPercent = 50
	// releaseAfter is how long nothing must have been decided before unused memory is
	// returned to the system, and releaseEvery how often that is repeated: looking for changed
	// rules leaves garbage too.
	releaseAfter = 5 * time.Second
	releaseEvery = time.Minute
	// memoryBesides is how much memory the collector leaves besides what clients may
	// reserve, in bytes. The limit is soft: above it the collector works more. It is far
	// below MemoryMax of the service's unit.
	memoryBesides = 96 << 20
)

// limitFootprint limits how much memory the daemon uses until ctx ends: it sets the
// garbage collector, unless GOGC or GOMEMLIMIT is set, and returns unused memory.
func (d *daemon) limitFootprint(ctx context.Context) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(socket.MaxBytes(d.rules.Settings.Limits.MessageBytes)) + memoryBesides))
	}
	tick := time.NewTicker(releaseAfter)
	defer tick.Stop()
	var r release
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if r.due(now, d.journal.Status().Records) {
				debug.FreeOSMemory()
			}
		}
	}
}

// release reports whether memory is to be returned to the system.
type release struct {
	last    time.Time // the zero time while something is decided
	decided uint64
}

// due is asked at each tick, with the number of decisions so far.
func (r *release) due(now time.Time, decided uint64) bool {
	if decided != r.decided {
		*r = release{decided: decided}
		return false
	}
	if now.Sub(r.last) < releaseEvery {
		return false
	}
	r.last = now
	return true
}
