package socket

import "golang.org/x/sys/unix"

// maxPath is how long a socket's path may be: sun_path less the NUL.
const maxPath = 107

func newSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
