// Package timerslack lets the threads of the daemon sleep a little longer than they ask for,
// so that they are woken less often. A program that links it is a daemon if its first
// argument is "serve"; in all others it does nothing, since what they start inherits the slack.
//
// Go's runtime has a thread, sysmon, that sleeps for 20 µs again and again while there is
// work; Linux adds the thread's timer slack, which is 50 µs by default. A
// decision takes about as long, so each wakes that thread once or twice, for a tenth of
// its processor time, to find that nothing is to be done. What it is for needs no such haste: it
// takes a processor away from a system call that lasts, and a goroutine that has run for
// 10 ms off it.
//
// Deadlines and timers of the daemon, of which the shortest has 2 ms, are late by [Slack] at
// most. A thread inherits the slack of the one that made it, and sysmon is made before any
// package of Go is initialised. So it is set in C, before Go's runtime starts. Without cgo,
// with another C library than glibc, which alone hands the arguments over by then, and on
// systems other than Linux, nothing is changed.
package timerslack

import "time"

// Slack is by how much a thread of the daemon may sleep longer than it asks for.
const Slack = 500 * time.Microsecond
