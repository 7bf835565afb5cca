//go:build !linux

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPath is the maximum length of a socket's path, in bytes: sun_path without the NUL.
const maxPath = 103

// newSocket sets close-on-exec in a second call, holding the lock that keeps forks out:
// only Linux has a flag for it.
func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}
