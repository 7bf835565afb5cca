package main

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMainThread: where as many goroutines as threads are left are in system calls that do not
// return, as when a file system does not answer, the daemon's main thread is not among them.
func TestMainThread(t *testing.T) {
	const goroutines = 64 // more than threads that wait for something to do
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	var reading, ended sync.WaitGroup
	var onMain atomic.Bool
	for range goroutines {
		reading.Add(1)
		ended.Go(func() {
			if unix.Gettid() == os.Getpid() {
				onMain.Store(true)
			}
			reading.Done()
			_, _ = unix.Read(pipe[0], make([]byte, 1))
		})
	}
	reading.Wait()
	unix.Close(pipe[1])
	ended.Wait()
	unix.Close(pipe[0])
	if onMain.Load() {
		t.Error("a goroutine was on the main thread")
	}
}
