package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
