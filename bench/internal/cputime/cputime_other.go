//go:build !linux

package cputime

import (
	"errors"
	"time"
)

// Of returns the processor time that a process has used.
func Of(int) (time.Duration, error) {
	return 0, errors.New("the processor time of other processes is read on Linux alone")
}
