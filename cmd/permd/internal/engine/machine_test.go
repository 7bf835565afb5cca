package engine

import (
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
