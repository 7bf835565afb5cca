package socket

import (
	"errors"
	"slices"

	"github.com/permd/permd/decisions"
)

// Members are who may use the sockets of a daemon that serves several people, besides root.
// Whether a peer is in a group is the kernel's word about the moment in which it connected,
// never that of a message.
type Members struct {
	// Group is the group whose members may use the sockets, each for what is their own.
	Group uint32
	// Admins is the group whose members may also see and manage what is others'; 0 if none
	// but root may.
	Admins uint32
}

// errNoMember is why a peer is turned away.
var errNoMember = errors.New("neither root nor in a group that may use this socket")

// admit returns an error for a peer with these supplementary groups that may not use the
// sockets, and whether it may see and manage what is others'.
func (m *Members) admit(p decisions.Peer, groups []uint32) (admin bool, err error) {
	in := func(gid uint32) bool { return gid != 0 && (p.GID == gid || slices.Contains(groups, gid)) }
	switch {
	case p.UID == 0 || in(m.Admins):
		return true, nil
	case in(m.Group):
		return false, nil
	}
	return false, errNoMember
}

// Everybody reports whether the peer may see and manage what belongs to others: root, and
// the admins of Members.
func (c *Conn) Everybody() bool { return c.Peer.UID == 0 || c.admin }
