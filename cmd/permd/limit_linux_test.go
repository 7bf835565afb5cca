package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles bounds the size of the files that a running process writes, as a
// full disk would, and returns what takes the bound away.
func limitFiles(t *testing.T, pid int, bytes uint64) (lift func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &before, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// limitDescriptors leaves a running process no new file descriptor, and returns
// what takes the limit away.
func limitDescriptors(t *testing.T, pid int) (lift func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	// The limit is the lowest number that no descriptor may have: with 3, there are only
	// those of the standard streams.
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
			t.Fatal(err)
		}
	}
}
