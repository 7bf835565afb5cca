package pause

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// uptime returns the time since the start of the machine, with the time that it slept, and
// what names that start. Nobody can set that clock.
func uptime() (start string, since time.Duration, err error) {
	if start, err = unix.Sysctl("kern.bootsessionuuid"); err != nil {
		return "", 0, fmt.Errorf("asking for the start of the machine: %w", err)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "", 0, fmt.Errorf("reading the clock: %w", err)
	}
	return start, time.Duration(t.Nano()), nil
}
