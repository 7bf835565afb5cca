package daemon

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"slices"
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
	// leastGarbage is how much a heap of any size may grow before it is collected, in bytes.
	// With the shipped rules some 8 MiB are in use. To go through them each time that a
	// fourth has come would take a fifth of a repeated request's processor time, and make one
	// request in a hundred wait. An idle daemon returns this memory.
	leastGarbage = 24 << 20
	// maxGCPercent bounds the percentage in case that much more comes into use before it is
	// adjusted.
	maxGCPercent = 400
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
	// maxMemory is the most that the limit becomes, in bytes: the service's unit has 1 GiB, and
	// databases and files in memory are not the collector's.
	maxMemory = 768 << 20
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

// adjustedLimit is memoryLimit for a heap of which so many bytes are in use besides what
// clients have reserved. Rules and remembered choices beyond what memoryLimit has room for
// are added, with as much room for garbage as gcPercent gives them: otherwise the collector
// would run all the time.
func adjustedLimit(l settings.Limits, inUse int64) int64 {
	limit := memoryLimit(l)
	loaded := inUse - memoryBesides
	if loaded <= 0 {
		return limit
	}
	return max(limit, min(limit+loaded+loaded*gcPercent/100, maxMemory))
}

// adjustedPercent is the collector's percentage for a heap of which so many bytes are in use.
func adjustedPercent(inUse int64) int {
	return int(min(max(leastGarbage*100/max(inUse, 1), gcPercent), maxGCPercent))
}

// heapLimit adjusts the collector to what is loaded.
type heapLimit struct {
	limits   settings.Limits
	reserved func() int // by clients
	now      int64      // the limit
	percent  int
	recent   [3]int64 // bytes in use at the last checks, without what clients have reserved
	checks   int
}

// limitSteps is by how much the limit must differ to be changed, in bytes, and percentSteps
// by how much the percentage: the program stops for a moment when it is set.
const (
	limitSteps   = 8 << 20
	percentSteps = 25
)

// check sets limit and percentage anew, if much more or less is loaded. What decisions use
// for a moment is not loaded, so the least of the last checks counts for the limit.
func (h *heapLimit) check() {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	if sample[0].Value.Kind() != runtimemetrics.KindUint64 {
		return
	}
	inUse := int64(sample[0].Value.Uint64())
	if percent := adjustedPercent(inUse); h.percent == 0 || max(percent, h.percent)-min(percent, h.percent) >= percentSteps {
		h.percent = percent
		debug.SetGCPercent(percent)
	}
	h.recent[h.checks%len(h.recent)] = inUse - int64(h.reserved())
	h.checks++
	least := slices.Min(h.recent[:min(h.checks, len(h.recent))])
	if limit := adjustedLimit(h.limits, least); h.now == 0 || max(limit, h.now)-min(limit, h.now) >= limitSteps {
		h.now = limit
		debug.SetMemoryLimit(limit)
	}
}

// limitFootprint limits how much memory the daemon uses until ctx ends: it sets the
// garbage collector, unless GOGC or GOMEMLIMIT is set, and returns unused memory. reserved
// returns how many bytes clients have reserved.
func (d *daemon) limitFootprint(ctx context.Context, reserved func() int) {
	var limit *heapLimit
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit(d.rules.Settings.Limits)))
		limit = &heapLimit{limits: d.rules.Settings.Limits, reserved: reserved}
		runtime.GC() // reading rules left garbage
		limit.check()
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
			if limit != nil {
				limit.check()
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
