package paths

import (
	"net/netip"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// metadataHosts are the addresses at which clouds serve credentials to instances: the
// link-local address that nearly all use, those of Amazon's containers and IPv6, of
// Google, Azure, Alibaba, Oracle, Tencent and Scaleway.
var metadataHosts = wordset.Of(
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
	"168.63.129.16", "100.100.100.200", "192.0.0.192", "169.254.0.23", "169.254.42.42", "fd00:42::42",
	"metadata", "metadata.google.internal", "metadata.goog", "metadata.google", "instance-data", "instance-data.ec2.internal",
	"metadata.tencentyun.com", "metadata.azure.internal", "metadata.oraclecloud.com",
	"api.metadata.cloud.ibm.com", "metadata.platformequinix.com", "metadata.packet.net", "rancher-metadata", "rancher-metadata.rancher.internal",
)

// spelledHosts are public domains whose names contain an address: 127.0.0.1.nip.io
// resolves to this machine.
var spelledHosts = wordset.Of(
	"nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "yoogle.com", "traefik.me",
	"localho.st", "local.gd", "rbndr.us", "1u.ms", "ip6.name", "backname.io",
)

var privateSuffixes = []string{".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp", ".home", ".private", ".localdomain", ".localdomain4", ".localdomain6"}

var privateNets = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
	"169.254.0.0/16", "fe80::/10", // link-local
	"100.64.0.0/10",         // carrier-grade NAT, and overlay networks such as Tailscale
	"fc00::/7", "fec0::/10", // unique local, and the deprecated site-local
	"192.0.0.0/24", "198.18.0.0/15", "64:ff9b:1::/48", // special purposes
	"224.0.0.0/4", "240.0.0.0/4", "ff00::/8", // multicast, reserved, broadcast
	"0.0.0.0/8",
)

// Networks whose addresses embed an IPv4 address, and its offset.
var embeddedNets = []struct {
	net netip.Prefix
	at  int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, deprecated
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated, RFC 2765
}

func prefixes(list ...string) []netip.Prefix {
	nets := make([]netip.Prefix, len(list))
	for i, s := range list {
		nets[i] = netip.MustParsePrefix(s)
	}
	return nets
}

// hostTags returns the tags of a canonical host. They depend on the name alone: it is
// not resolved.
func hostTags(host string) effects.Tags {
	var t effects.Tags
	if metadataHosts.Has(host) {
		t = t.With(effects.MetadataService)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return t | nameTags(host)
	}
	ip = ip.WithZone("")
	if metadataHosts.Has(ip.String()) {
		t = t.With(effects.MetadataService)
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return t.With(effects.Loopback)
	}
	for _, n := range privateNets {
		if n.Contains(ip) {
			t = t.With(effects.Private)
			break
		}
	}
	for _, v4 := range embedded(ip) {
		inner := hostTags(v4.String())
		// It is not certain to be this machine: a translator may drop or route such
		// addresses.
		if inner.Has(effects.Loopback) {
			inner = effects.TagsOf(effects.Private)
		}
		t |= inner
	}
	return t
}

// embedded returns the IPv4 addresses that an IPv6 address holds, by which a translator or a
// tunnel may reach them.
func embedded(ip netip.Addr) (list []netip.Addr) {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	for _, e := range embeddedNets {
		if e.net.Contains(ip) {
			list = append(list, netip.AddrFrom4([4]byte(b[e.at:e.at+4])))
		}
	}
	if teredo.Contains(ip) { // RFC 4380, 4: the client's address, inverted
		list = append(list, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if isISATAP(ip) {
		list = append(list, netip.AddrFrom4([4]byte(b[12:])))
	}
	return list
}

var teredo = netip.MustParsePrefix("2001::/32")

// isISATAP reports whether an address has the interface identifier of RFC 5214, 6.1.
func isISATAP(ip netip.Addr) bool {
	b := ip.As16()
	return ip.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// IsLoopback reports whether a canonical host is this machine by its name.
func IsLoopback(host string) bool { return hostTags(host).Has(effects.Loopback) }

// Special reports whether a canonical host is this machine, a link-local address or a
// service at which clouds hand out credentials, by its name, or an address of IPv6 that may
// stand for such an address of IPv4.
func Special(host string) bool {
	tags := hostTags(host)
	if tags.Has(effects.Loopback) || tags.Has(effects.MetadataService) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.Is6() && tags.Has(effects.Private) && !ip.IsPrivate())
}

func nameTags(host string) effects.Tags {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761, 6.3
		return effects.TagsOf(effects.Loopback)
	}
	switch host {
	case "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback":
		return effects.TagsOf(effects.Loopback)
	}
	if !strings.Contains(host, ".") { // resolved in the local network only
		return effects.TagsOf(effects.Private)
	}
	for _, s := range privateSuffixes {
		if strings.HasSuffix(host, s) {
			return effects.TagsOf(effects.Private)
		}
	}
	return 0
}
