//go:build !linux

package main

import (
	"errors"
	"time"
)

// cpuTime returns the processor time that a process has used.
func cpuTime(int) (time.Duration, error) {
	return 0, errors.New("the processor time of other processes is read on Linux alone")
}

// switches returns how often the threads of a process have stopped.
func switches(int) (int, error) {
	return 0, errors.New("how often others' threads stop is read on Linux alone")
}
