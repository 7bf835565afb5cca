package pattern

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/publicsuffix"
)

// Host is a line about reaching a host.
type Host struct {
	// Name is lower case and ASCII, or an IP address in its canonical form.
	Name string
	// Below is set if the line means the hosts below Name, not Name itself.
	Below bool
	// Port is 0 when the line names none.
	Port int
	// Scheme is "" if the line names none. A line with neither scheme nor port
	// means the web: allowing a host to be read over HTTPS does not allow
	// logging in there, nor fetching over an unencrypted protocol.
	Scheme string
}

func parseHost(line string) (*Host, *refusal) {
	const form = "write host, host:port or *.domain"
	h := &Host{}
	if scheme, rest, ok := strings.Cut(line, "://"); ok {
		if !paths.HasHost(scheme) || rest == "" || strings.ContainsAny(rest, "/?#@") {
			return nil, refuse("write only the host, such as docs.example.com, or scheme://host", "the line is a URL")
		}
		h.Scheme, line = scheme, rest
	}
	switch {
	case strings.ContainsAny(line, "/?#"):
		return nil, refuse("write only the host; a path cannot be told apart on the wire", "the line has a path")
	case strings.Contains(line, "@"):
		return nil, refuse(form, "the line has user information")
	case strings.Contains(line, "%"):
		return nil, refuse(form, "the line has a zone or an escape")
	}
	name, r := h.cutPort(line)
	if r != nil {
		return nil, r
	}
	name, h.Below = strings.CutPrefix(name, "*.")
	if strings.Contains(name, "*") {
		return nil, refuse("write *.domain for all hosts below a domain", "a * stands only for whole names before a domain")
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		if h.Below {
			return nil, refuse(form, "nothing is below an IP address")
		}
		h.Name = addr.Unmap().String()
		return h, nil
	}
	if h.Name, r = domain(name); r != nil {
		return nil, r
	}
	if suffix, _ := publicsuffix.Of(h.Name); h.Below && suffix == h.Name {
		return nil, refuse("name a domain below it", "%q is a public suffix: anybody can have a host below it", h.Name)
	}
	return h, nil
}

// cutPort removes the port and returns the rest without brackets.
func (h *Host) cutPort(line string) (string, *refusal) {
	name, port, found := line, "", false
	if rest, ok := strings.CutPrefix(line, "["); ok {
		addr, after, closed := strings.Cut(rest, "]")
		if _, err := netip.ParseAddr(addr); !closed || err != nil || !strings.Contains(addr, ":") {
			return "", refuse("write [address]:port", "the brackets hold no IPv6 address")
		}
		name = addr
		if after != "" {
			if port, found = strings.CutPrefix(after, ":"); !found {
				return "", refuse("write [address]:port", "text follows the brackets")
			}
		}
	} else if strings.Count(line, ":") == 1 {
		name, port, found = strings.Cut(line, ":")
	}
	if !found {
		return name, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return "", refuse("write a port from 1 to 65535", "%q is no port", port)
	}
	h.Port = int(n)
	return name, nil
}

// domain returns a host name in the form that effects use.
func domain(name string) (string, *refusal) {
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		// Lookup refuses underscores, which occur in real host names.
		ascii = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	if ascii == "" || len(ascii) > 253 {
		return "", refuse("write host, host:port or *.domain", "%q is no host name", name)
	}
	var last string
	for label := range strings.SplitSeq(ascii, ".") {
		if !isLabel(label) {
			return "", refuse("write host, host:port or *.domain", "%q is no host name", name)
		}
		last = label
	}
	// Some programs read 127.1 or 0x7f000001 as an address.
	if last[0] >= '0' && last[0] <= '9' {
		return "", refuse("write the address in full", "%q is no host name and no IP address", name)
	}
	return ascii, nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// String returns the line.
func (h *Host) String() string {
	name := h.Name
	if h.Below {
		name = "*." + name
	}
	if strings.Contains(name, ":") && (h.Port != 0 || h.Scheme != "") {
		name = "[" + name + "]"
	}
	if h.Port != 0 {
		name += ":" + strconv.Itoa(h.Port)
	}
	if h.Scheme != "" {
		return h.Scheme + "://" + name
	}
	return name
}

// WebSchemes and WebPorts are what a line without scheme and port means. The
// ports apply to a call without a scheme.
var (
	WebSchemes = []string{"http", "https", "ws", "wss"}
	WebPorts   = []int{0, 80, 443}
)

// match reports whether the line covers the connection, as an allow requires.
func (h *Host) match(c *effects.Connect) bool {
	switch {
	case h.Scheme != "":
		return h.covers(c) && c.Scheme == h.Scheme
	case h.Port != 0:
		return h.covers(c)
	case c.Scheme == "":
		return h.covers(c) && slices.Contains(WebPorts, c.Port)
	}
	return h.covers(c) && slices.Contains(WebSchemes, c.Scheme)
}

// Loopback reports whether the line names this machine. A deny or ask then
// matches all of its names: 127.0.0.1, localhost and [::1].
func (h *Host) Loopback() bool { return !h.Below && paths.IsLoopback(h.Name) }

// touches reports whether the connection may be covered by the line. One
// without a scheme may have any.
func (h *Host) touches(c *effects.Connect, tags effects.Tags) bool {
	if h.matchesPlace(c) {
		return h.is(c) || h.Loopback() && tags.Has(effects.Loopback)
	}
	return false
}

// covers is touches for the exact name.
func (h *Host) covers(c *effects.Connect) bool { return h.matchesPlace(c) && h.is(c) }

// matchesPlace compares port and scheme.
func (h *Host) matchesPlace(c *effects.Connect) bool {
	return (h.Port == 0 || c.Port == h.Port) && (h.Scheme == "" || c.Scheme == h.Scheme || c.Scheme == "")
}

func (h *Host) is(c *effects.Connect) bool {
	if h.Below {
		// An address is never below a domain, whatever its zone.
		return strings.HasSuffix(c.Host, "."+h.Name) && !strings.Contains(c.Host, ":")
	}
	return c.Host == h.Name
}
