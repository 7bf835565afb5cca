package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that a process has used, all its threads included,
// in the kernel's nanoseconds. /proc has it in ticks of ten milliseconds.
func cpuTime(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &t)
	return time.Duration(t.Nano()), err
}

// switches returns how often the threads of a process have stopped: to wait, or because
// others had the processor. Threads that have ended are not counted.
func switches(pid int) (n int, err error) {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			if name != "voluntary_ctxt_switches" && name != "nonvoluntary_ctxt_switches" {
				continue
			}
			of, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0, fmt.Errorf("reading %s: %w", path, err)
			}
			n += of
		}
	}
	return n, nil
}
