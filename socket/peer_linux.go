package socket

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

// peerOf returns the peer's process, user and group at the time of connect, from the
// kernel. The pid is 0 for a process in another pid namespace.
func peerOf(c *net.UnixConn) (decisions.Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return decisions.Peer{}, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return decisions.Peer{}, err
	}
	if credErr != nil {
		return decisions.Peer{}, credErr
	}
	return decisions.Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}
