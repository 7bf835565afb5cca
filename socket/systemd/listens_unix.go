//go:build linux || darwin

package systemd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func checkListening(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var typ, accepts int
	var typErr, acceptsErr error
	err = raw.Control(func(fd uintptr) {
		typ, typErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
		accepts, acceptsErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	})
	if err := errors.Join(err, typErr, acceptsErr); err != nil {
		return err
	}
	if typ != unix.SOCK_STREAM || accepts == 0 {
		return errors.New("not a listening stream socket")
	}
	return nil
}
