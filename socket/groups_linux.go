package socket

import (
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxGroups bounds the supplementary groups of a peer: NGROUPS_MAX of Linux.
const maxGroups = 65536

// groupsOf returns the peer's supplementary groups at the time of connect, from the kernel.
func groupsOf(c *net.UnixConn) ([]uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	groups := make([]uint32, 64)
	var optErr error
	err = raw.Control(func(fd uintptr) {
		for {
			size := uint32(len(groups)) * 4
			// Package unix reads no option that is a list.
			_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
				uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0) //nolint:gosec // the kernel writes at most size bytes
			switch {
			case errno == unix.ERANGE && int(size) > len(groups)*4 && size <= maxGroups*4:
				groups = make([]uint32, size/4) // size is what they need
				continue
			case errno != 0:
				optErr = errno
			default:
				groups = groups[:size/4]
			}
			return
		}
	})
	return groups, errors.Join(err, optErr)
}
