package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/permd/permd/policy/settings"
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
	// memoryBesides and connectionBytes are how much memory the collector leaves besides
	// what clients may reserve, in bytes: for rules, databases and garbage, and for each
	// connection, which uses buffers, stacks and what it may reserve whatever others have.
	memoryBesides   = 32 << 20
	connectionBytes = 256 << 10
	// minConnections and maxConnections bound the connections that are counted.
	minConnections, maxConnections = 256, 2048
)

// memoryLimit is how much memory the collector leaves. The limit is soft: above it the
// collector works more, and if all of it is in use, it takes half of the processors. By
// default it is far below MemoryMax of the service's unit.
func memoryLimit(l settings.Limits) int64 {
	connections := min(max(l.Connections, minConnections), maxConnections)
	return int64(socket.MaxBytes(l.MessageBytes) + memoryBesides + connections*connectionBytes)
}

// limitFootprint limits how much memory the daemon uses until ctx ends: it sets the
// garbage collector, unless GOGC or GOMEMLIMIT is set, and returns unused memory.
func (d *daemon) limitFootprint(ctx context.Context) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit(d.rules.Settings.Limits)))
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
