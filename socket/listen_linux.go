package socket

import "golang.org/x/sys/unix"

// maxPath is the maximum length of a socket's path, in bytes: sun_path without the NUL.
const maxPath = 107

func newSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
