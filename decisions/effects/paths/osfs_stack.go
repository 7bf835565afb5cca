//go:build linux && (amd64 || arm64)

package paths

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stackName is the size of a path on the stack, with its NUL. Paths that are longer take
// memory of the heap.
const stackName = 512

// lstat is [unix.Lstat] with the path on the stack: a decision that was made before looks
// at a dozen paths and needs little memory otherwise.
func lstat(path string, st *unix.Stat_t) error {
	var name [stackName]byte
	if !toStack(&name, path) {
		return unix.Lstat(path, st)
	}
	at := unix.AT_FDCWD
	//nolint:gosec // both live on the stack until the call has returned
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(at), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// open is [unix.Open] of an existing file with the path on the stack.
func open(path string, flags int) (int, error) {
	var name [stackName]byte
	if !toStack(&name, path) {
		return unix.Open(path, flags, 0)
	}
	at := unix.AT_FDCWD
	//nolint:gosec // the path lives on the stack until the call has returned
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&name)), uintptr(flags|unix.O_LARGEFILE), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// toStack copies a path; the rest of name is zero. It returns false for a path that is too
// long, or that the kernel would cut at a NUL.
func toStack(name *[stackName]byte, path string) bool {
	if len(path) >= stackName || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	copy(name[:], path)
	return true
}
