//go:build linux && !race

package quickio

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// file is a descriptor that never waits. Functions and variables of a call are kept, so that
// none allocates.
type file struct {
	raw             syscall.RawConn
	doRead, doWrite func(fd uintptr) bool

	b     []byte
	n     int
	errno syscall.Errno
}

// open returns the descriptor of f, nil if it may wait or has none.
func open(f any) *file {
	c, ok := f.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	never := false
	err = raw.Control(func(fd uintptr) {
		var st unix.Stat_t
		if unix.Fstat(int(fd), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			return // reads of other files wait whatever their flags say
		}
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		never = err == nil && flags&unix.O_NONBLOCK != 0
	})
	if err != nil || !never {
		return nil
	}
	return &file{raw: raw}
}

func (f *file) read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	f.b, f.n, f.errno = b, 0, 0
	err := f.raw.Read(f.doRead)
	f.b = nil
	switch {
	case err != nil:
		return 0, err
	case f.errno != 0:
		return 0, os.NewSyscallError("read", f.errno)
	case f.n == 0:
		return 0, io.EOF
	}
	return f.n, nil
}

// tryRead reads once. It returns false if there is nothing yet.
func (f *file) tryRead(fd uintptr) bool {
	return f.try(syscall.SYS_READ, fd)
}

func (f *file) write(b []byte) (n int, err error) {
	for n < len(b) {
		f.b, f.n, f.errno = b[n:], 0, 0
		err = f.raw.Write(f.doWrite)
		f.b = nil
		n += f.n
		switch {
		case err != nil:
			return n, err
		case f.errno != 0:
			return n, os.NewSyscallError("write", f.errno)
		case f.n == 0:
			return n, io.ErrUnexpectedEOF
		}
	}
	return n, nil
}

// tryWrite writes once. It returns false if there is no room yet.
func (f *file) tryWrite(fd uintptr) bool {
	return f.try(syscall.SYS_WRITE, fd)
}

// most bounds one system call, in bytes: while it copies them, the scheduler cannot stop
// its thread.
const most = 64 << 10

func (f *file) try(call, fd uintptr) bool {
	for {
		//nolint:gosec // the pointer is to f.b, which f keeps alive during the call
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(f.b))), uintptr(min(len(f.b), most)))
		switch errno {
		case 0:
			f.n = int(n)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		default:
			f.errno = errno
		}
		return true
	}
}
