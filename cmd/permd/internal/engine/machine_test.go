package engine

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects/paths"
)

// TestThisMachine: this machine is known, also where no socket of the network may be opened,
// and nothing sent to it counts as ordinary.
func TestThisMachine(t *testing.T) {
	m := thisMachine()
	if m.Unknown || !slices.ContainsFunc(m.Addresses, netip.Addr.IsLoopback) {
		t.Errorf("the interfaces: %+v", m)
	}
	for _, ip := range m.Addresses {
		if host := ip.WithZone("").String(); paths.IsOrdinary(host, m) {
			t.Errorf("%s is ordinary", host)
		}
	}
	for name, list := range m.Hosts {
		if slices.ContainsFunc(list, netip.Addr.IsLoopback) && paths.IsOrdinary(name, m) {
			t.Errorf("%s is ordinary", name)
		}
	}
	if _, err := os.Stat("/proc/net/fib_trie"); err != nil {
		return
	}
	if proc := procAddresses(os.ReadFile); !slices.ContainsFunc(proc, netip.Addr.IsLoopback) {
		t.Errorf("without a socket: %v", proc)
	}
}

func TestReadHosts(t *testing.T) {
	got := readHosts("127.0.0.1\tlocalhost  VM.Example.org. # c\n#1.2.3.4 x\n::1 vm.example.org\nbad name\n10.0.0.1\n")
	if len(got) != 2 || !slices.Equal(got["vm.example.org"], []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}) {
		t.Errorf("%v", got)
	}
}

func TestProcAddresses(t *testing.T) {
	files := map[string]string{
		"/proc/net/fib_trie": "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.0\n        /24 link UNICAST\n     |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n",
		"/proc/net/if_inet6": "20010db8000000000000000000000001 02 40 00 80 eth0\n",
	}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrPermission
	}
	want := []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("2001:db8::1")}
	if got := procAddresses(read); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	delete(files, "/proc/net/if_inet6")
	if got := procAddresses(read); got != nil {
		t.Errorf("half of them: %v", got)
	}
}

// TestMachineUnreadable fails one source after the other of what is known of this machine, and
// several: what cannot be told from this machine is not ordinary, so that a callback to it asks.
func TestMachineUnreadable(t *testing.T) {
	const trie = "Main:\n  |-- 10.1.2.3\n        /32 host LOCAL\n"
	files := map[string]string{"/etc/hosts": "127.0.0.1 own.example.org\n", "/proc/net/fib_trie": trie, "/proc/net/if_inet6": ""}
	ip := func(s string) net.Addr { return &net.IPNet{IP: net.ParseIP(s), Mask: net.CIDRMask(24, 32)} }
	failed := errors.New("failed")
	// Which hosts are ordinary: an address, this machine's address, a name and this machine's.
	digests := map[string]string{}
	for name, row := range map[string]struct {
		addresses          []net.Addr
		interfaces, host   error
		absent, unreadable []string
		address, name      bool
	}{
		"nothing":                       {[]net.Addr{ip("10.1.2.3")}, nil, nil, nil, nil, true, true},
		"interfaces":                    {nil, failed, nil, nil, nil, true, true},
		"interfaces and their files":    {nil, failed, nil, nil, []string{"/proc/net/fib_trie", "/proc/net/if_inet6"}, false, true},
		"interfaces and half the files": {nil, failed, nil, nil, []string{"/proc/net/if_inet6"}, false, true},
		"interfaces and the other half": {nil, failed, nil, nil, []string{"/proc/net/fib_trie"}, false, true},
		"interfaces, no proc":           {nil, failed, nil, []string{"/proc/net/fib_trie", "/proc/net/if_inet6"}, nil, false, true},
		"interfaces after some":         {[]net.Addr{ip("10.1.2.4")}, failed, nil, nil, []string{"/proc/net/fib_trie"}, false, true},
		"no interfaces":                 {nil, nil, nil, []string{"/proc/net/fib_trie"}, nil, false, true},
		"interfaces of another kind":    {[]net.Addr{&net.UnixAddr{Name: "x"}}, nil, nil, []string{"/proc/net/fib_trie"}, nil, false, true},
		"host name":                     {[]net.Addr{ip("10.1.2.3")}, nil, failed, nil, nil, true, false},
		"hosts file":                    {[]net.Addr{ip("10.1.2.3")}, nil, nil, nil, []string{"/etc/hosts"}, true, false},
		"no hosts file":                 {[]net.Addr{ip("10.1.2.3")}, nil, nil, []string{"/etc/hosts"}, nil, true, true},
		"everything":                    {nil, failed, failed, nil, []string{"/etc/hosts", "/proc/net/fib_trie", "/proc/net/if_inet6"}, false, false},
	} {
		m := (&machineReader{
			func() ([]net.Addr, error) { return row.addresses, row.interfaces },
			func() (string, error) { return "vm", row.host },
			func(name string) ([]byte, error) {
				text, ok := files[name]
				switch {
				case slices.Contains(row.unreadable, name):
					return nil, os.ErrPermission
				case !ok || slices.Contains(row.absent, name):
					return nil, os.ErrNotExist
				}
				return []byte(text), nil
			},
		}).read()
		if same := digests[m.Digest]; m.Digest == "" || same != "" && name != "interfaces" && same != "interfaces" && !m.Unknown {
			t.Errorf("%s cannot be read: the digest is that of %s", name, same)
		}
		digests[m.Digest] = name
		for host, ordinary := range map[string]bool{
			"10.9.9.9": row.address, "8.8.8.8": row.address, "10.1.2.3": false, "127.0.0.1": false, "agents.example.org": row.name,
			"vm.example.org": row.name && row.host != nil, "own.example.org": row.name && slices.Contains(row.absent, "/etc/hosts"), "worker": false,
		} {
			if got := paths.IsOrdinary(host, m); got != ordinary {
				t.Errorf("%s cannot be read: %s is ordinary: %v, want %v", name, host, got, ordinary)
			}
		}
	}
}

func BenchmarkThisMachine(b *testing.B) {
	for b.Loop() {
		thisMachine()
	}
}
