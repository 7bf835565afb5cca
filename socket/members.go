package socket

import (
	"context"
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
	// Subordinate reports whether a uid is one that a user was given besides the own one, see
	// subuid(5). Such a peer is turned away: what is bounded for each user would be bounded for
	// nobody who has thousands of uids. It may be nil.
	Subordinate func(uid uint32) bool
	// Arrived is called before the first message of a connection is read, or of each request
	// over HTTP. It may take time, and may be nil.
	Arrived func(ctx context.Context, uid uint32)
}

// Arrive calls Arrived, also of nil Members.
func (m *Members) Arrive(ctx context.Context, uid uint32) {
	if m != nil && m.Arrived != nil {
		m.Arrived(ctx, uid)
	}
}

// Why a peer is turned away.
var (
	errNoMember    = errors.New("neither root nor in a group that may use this socket")
	errSubordinate = errors.New("a subordinate uid of somebody: /etc/subuid")
)

// admit returns an error for a peer with these supplementary groups that may not use the
// sockets, and whether it may see and manage what is others'.
func (m *Members) admit(p decisions.Peer, groups []uint32) (admin bool, err error) {
	in := func(gid uint32) bool { return gid != 0 && (p.GID == gid || slices.Contains(groups, gid)) }
	switch {
	case m.Subordinate != nil && m.Subordinate(p.UID):
		return false, errSubordinate
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
