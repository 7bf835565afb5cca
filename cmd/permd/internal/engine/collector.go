package engine

import "runtime/debug"

// busyGCPercent is the garbage collector's target while rules are compiled, in percent
// of the live heap.
const busyGCPercent = 300

// reduceGC makes the garbage collector run less often until done is called. Compiling
// 1,000 rules produces some 100 MB of garbage. With the usual target the collector would
// run most of that time and take processor time from concurrent requests. The price is
// some 20 MB of additional resident memory for a moment (BenchmarkDuringReload).
//
// If GOGC is set to a higher value or off, it is not changed.
func reduceGC() (done func()) {
	old := debug.SetGCPercent(busyGCPercent)
	if old < 0 || old > busyGCPercent {
		debug.SetGCPercent(old)
		return func() {}
	}
	return func() { debug.SetGCPercent(old) }
}
