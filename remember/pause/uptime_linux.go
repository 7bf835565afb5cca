package pause

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// uptime returns the time since the start of the machine, with the time that it slept, and
// what names that start. Nobody can set that clock.
func uptime() (start string, since time.Duration, err error) {
	if start, err = bootID(); err != nil {
		return "", 0, err
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return "", 0, fmt.Errorf("reading the clock: %w", err)
	}
	return start, time.Duration(t.Nano()), nil
}

// bootID reads what names the start of the machine, once: a process does not outlive it.
var bootID = sync.OnceValues(func() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
})
