package socket

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

func TestMembers(t *testing.T) {
	const group, admins = 100, 200
	for name, tt := range map[string]struct {
		m           Members
		peer        decisions.Peer
		groups      []uint32
		in, isAdmin bool
	}{
		"root":                        {Members{Group: group}, decisions.Peer{}, nil, true, true},
		"primary group":               {Members{Group: group}, decisions.Peer{UID: 7, GID: group}, nil, true, false},
		"supplementary group":         {Members{Group: group}, decisions.Peer{UID: 7, GID: 7}, []uint32{1, group}, true, false},
		"another":                     {Members{Group: group}, decisions.Peer{UID: 7, GID: 7}, []uint32{1, admins}, false, false},
		"an admin":                    {Members{Group: group, Admins: admins}, decisions.Peer{UID: 7, GID: 7}, []uint32{admins}, true, true},
		"no admin":                    {Members{Group: group, Admins: admins}, decisions.Peer{UID: 7, GID: group}, []uint32{7}, true, false},
		"no admins, and root's group": {Members{Group: group}, decisions.Peer{UID: 7, GID: 0}, []uint32{0, group}, true, false},
		"root's group alone":          {Members{Group: group}, decisions.Peer{UID: 7, GID: 0}, []uint32{0}, false, false},
		"no group at all":             {Members{}, decisions.Peer{UID: 7, GID: 0}, []uint32{0}, false, false},
		"the daemon's own uid":        {Members{Group: group}, decisions.Peer{UID: 4711, GID: 4711}, nil, false, false},
	} {
		isAdmin, err := tt.m.admit(tt.peer, tt.groups)
		if (err == nil) != tt.in || isAdmin != tt.isAdmin {
			t.Errorf("%s: admin %v, %v", name, isAdmin, err)
		}
	}
}

// TestMembersNeedASocket: a connection of which the kernel tells no groups is nobody's.
func TestMembersNeedASocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	o := Options{Members: &Members{Group: 100}, Admit: func(decisions.Peer) error { return nil }}
	if _, err := o.Allows(a, decisions.Peer{UID: 7, GID: 100}); err == nil {
		t.Error("somebody came in by a pipe")
	}
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o.Members.Group = 4_000_000_000
	if _, err := o.Allows(c, decisions.Peer{UID: 7, GID: 7}); err == nil {
		t.Error("somebody of another group came in")
	}
}
