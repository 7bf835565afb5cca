package paths

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/publicsuffix"
)

// Machine is what is known of the machine that permd runs on.
type Machine struct {
	// Addresses are those of its interfaces.
	Addresses []netip.Addr
	// Unknown is set if they could not be read: then each address may be one of them.
	Unknown bool
	// Name is its host name, "" if it is not known.
	Name string
	// UnknownNames is set if that or the hosts file could not be read: then each name may be
	// one of the machine.
	UnknownNames bool
	// Hosts are the names of its hosts file, in lower case, with their addresses.
	Hosts map[string][]netip.Addr
	// Digest is of all that the other members were made of, "" if it is not known: then no
	// answer that looked at them is used again.
	Digest string
}

// The ranges of IANA's registries of special-purpose addresses, whether they can be reached
// from elsewhere or not, and multicast. Those for private use are known by netip.
var specialNets = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
	"192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// globalUnicast is what IANA has delegated of IPv6: nothing outside of it is on the Internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// specialNames are top-level domains that do not lead to a registered name: those of IANA's
// registry of special-use names that the public suffix list may know. Its example domains
// are ordinary ones for programs (RFC 6761, 6.5).
var specialNames = []string{".arpa", ".alt", ".onion", ".test", ".invalid", ".example", ".local", ".localhost"}

// IsOrdinary reports whether a canonical host is plainly public, or plainly in a private
// network. A request to such a host reaches no service that is open only to this machine, its
// network link or its cloud. What is neither is not ordinary. m is the machine, nil if nothing is known of it.
func IsOrdinary(host string, m *Machine) bool {
	tags := hostTags(host)
	if tags.Has(effects.Loopback) || tags.Has(effects.MetadataService) {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return isOrdinaryAddress(ip, m)
	}
	if !isOrdinaryName(host, tags) || m == nil {
		return m == nil && isOrdinaryName(host, tags)
	}
	own, _, _ := strings.Cut(strings.ToLower(m.Name), ".")
	if first, _, _ := strings.Cut(host, "."); first == own || m.UnknownNames {
		return false // whatever its domain is
	}
	return !slices.ContainsFunc(m.Hosts[host], func(ip netip.Addr) bool {
		ip = ip.Unmap()
		return metadataHosts.Has(ip.WithZone("").String()) || !isOrdinaryAddress(ip, m)
	})
}

func isOrdinaryAddress(ip netip.Addr, m *Machine) bool {
	switch {
	case ip.Zone() != "" || ip.Is4In6() || isISATAP(ip):
		return false
	case m != nil && (m.Unknown || slices.ContainsFunc(m.Addresses, func(own netip.Addr) bool { return own.Unmap().WithZone("") == ip })):
		return false
	case ip.IsPrivate():
		return true
	case ip.Is6() && !globalUnicast.Contains(ip):
		return false
	}
	return !slices.ContainsFunc(specialNets, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// isOrdinaryName reports whether a name is one that somebody has registered, or one of a
// private network that is not known to be made by virtual machines, containers and clouds for
// themselves. A name without a dot is whatever the resolver of the machine makes of it.
func isOrdinaryName(name string, tags effects.Tags) bool {
	labels := strings.Split(name, ".")
	if len(labels) < 2 || slices.ContainsFunc(labels, namesMachine) {
		return false
	}
	if tags.Has(effects.Private) {
		last := labels[len(labels)-1]
		// Containers name the machine that they run on host.docker.internal,
		// gateway.containers.internal and the like.
		return !strings.HasPrefix(last, "localdomain") && !slices.Contains([]string{"host", "gateway", "kubernetes", "docker"}, labels[0])
	}
	if slices.ContainsFunc(specialNames, func(s string) bool { return strings.HasSuffix(name, s) }) {
		return false
	}
	suffix, managed := publicsuffix.Of(name)
	_, registered := publicsuffix.Registered(name)
	return registered && (managed || strings.Contains(suffix, "."))
}

// namesMachine reports whether a label of a name is one by which machines are given what is
// theirs.
func namesMachine(label string) bool {
	return strings.HasPrefix(label, "localhost") || strings.HasPrefix(label, "localdomain") || strings.HasPrefix(label, "ip6-") ||
		label == "instance-data" || label == "imds" || label == "metadata" || strings.HasSuffix(label, "-metadata")
}
