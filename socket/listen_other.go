//go:build !linux

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPath is how long a socket's path may be: sun_path less the NUL.
const maxPath = 103

// newSocket sets close-on-exec apart, under the lock that keeps a fork from
// coming in between: only Linux takes it as a flag.
func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}
