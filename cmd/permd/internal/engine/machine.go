package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
)

// thisMachine reads the addresses of the interfaces, the host name and the hosts file. No
// name is resolved.
func thisMachine() *paths.Machine {
	return (&machineReader{net.InterfaceAddrs, os.Hostname, os.ReadFile}).read()
}

// machineReader is what tells about a machine.
type machineReader struct {
	interfaces func() ([]net.Addr, error)
	hostname   func() (string, error)
	readFile   func(name string) ([]byte, error)
}

func (r *machineReader) read() *paths.Machine {
	m := new(paths.Machine)
	name, err := r.hostname()
	m.Name, m.UnknownNames = strings.ToLower(name), err != nil || name == ""
	hosts, err := r.readFile("/etc/hosts")
	switch {
	case err == nil:
		m.Hosts = readHosts(string(hosts))
	case !os.IsNotExist(err):
		m.UnknownNames = true
	}
	list, err := r.interfaces()
	for _, a := range list {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if ip, ok := netip.AddrFromSlice(n.IP); ok {
			m.Addresses = append(m.Addresses, ip.Unmap())
		}
	}
	if err != nil || len(m.Addresses) == 0 {
		// The unit of systemd allows Unix sockets alone.
		m.Addresses = procAddresses(r.readFile)
		m.Unknown = len(m.Addresses) == 0
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %v %v %v %d ", m.Name, m.UnknownNames, m.Addresses, m.Unknown, len(hosts))
	sum.Write(hosts)
	m.Digest = string(sum.Sum(nil))
	return m
}

// readHosts reads a file in the format of hosts(5).
func readHosts(text string) map[string][]netip.Addr {
	names := map[string][]netip.Addr{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		ip, err := netip.ParseAddr(words[0])
		if err != nil {
			continue
		}
		for _, name := range words[1:] {
			name = strings.TrimSuffix(strings.ToLower(name), ".")
			names[name] = append(names[name], ip)
		}
	}
	return names
}

// procAddresses reads the addresses of the interfaces without a socket. It returns none if
// those of either version of IP cannot be read.
func procAddresses(read func(string) ([]byte, error)) (list []netip.Addr) {
	v4, err := read("/proc/net/fib_trie")
	if err != nil {
		return nil
	}
	leaf := netip.Addr{}
	for line := range strings.Lines(string(v4)) {
		line = strings.TrimSpace(line)
		if at, ok := strings.CutPrefix(line, "|-- "); ok {
			leaf, _ = netip.ParseAddr(at)
		} else if line == "/32 host LOCAL" && leaf.IsValid() {
			list = append(list, leaf)
		}
	}
	v6, err := read("/proc/net/if_inet6")
	if err != nil && !os.IsNotExist(err) { // without IPv6 there is none
		return nil
	}
	for line := range strings.Lines(string(v6)) {
		if word, _, _ := strings.Cut(line, " "); len(word) == 32 {
			if b, err := hex.DecodeString(word); err == nil {
				if ip, ok := netip.AddrFromSlice(b); ok {
					list = append(list, ip)
				}
			}
		}
	}
	return list
}
