package socket

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

// peerOf returns the peer's credentials from the kernel.
func peerOf(c *net.UnixConn) (decisions.Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return decisions.Peer{}, err
	}
	var cred *unix.Xucred
	var pid int
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		// The pid is for display only, so an error is ignored.
		pid, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil {
		return decisions.Peer{}, err
	}
	if credErr != nil {
		return decisions.Peer{}, credErr
	}
	if cred.Ngroups < 1 {
		return decisions.Peer{}, errors.New("the kernel names no group of the peer")
	}
	return decisions.Peer{UID: cred.Uid, GID: cred.Groups[0], PID: int32(pid)}, nil
}
