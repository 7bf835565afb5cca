package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Of returns the processor time that a process has used, all its threads included,
// in the kernel's nanoseconds. /proc has it in ticks of ten milliseconds.
func Of(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &t)
	return time.Duration(t.Nano()), err
}
