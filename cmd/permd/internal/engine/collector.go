package engine

import "runtime/debug"

// busyGCPercent is the garbage collector's target, in per cent, while rules are
// compiled: three times as much as is in use may lie about.
const busyGCPercent = 300

// reduceGC makes the garbage collector run less often until done is called.
// Compiling 1,000 rules leaves some 100 MB behind, and with the usual target the
// collector runs most of that time: requests that come meanwhile have to share
// the processors with it and to help it. The price is some 20 MB of resident
// memory for a moment (BenchmarkDuringReload).
//
// A target that somebody chose is left alone if it is higher, or none.
func reduceGC() (done func()) {
	old := debug.SetGCPercent(busyGCPercent)
	if old < 0 || old > busyGCPercent {
		debug.SetGCPercent(old)
		return func() {}
	}
	return func() { debug.SetGCPercent(old) }
}
