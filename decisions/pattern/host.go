package pattern

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/permd/permd/decisions/effects"
)

// Host is a line about reaching a host.
type Host struct {
	// Name is lower case and ASCII, or an IP address in its canonical form.
	Name string
	// Below is set when the line means the hosts below Name, not Name itself.
	Below bool
	// Port is 0 when the line means every port.
	Port int
}

func parseHost(line string) (*Host, *refusal) {
	const form = "write host, host:port or *.domain"
	switch {
	case strings.Contains(line, "://"):
		return nil, refuse("write only the host, such as docs.example.com", "the line is a URL")
	case strings.ContainsAny(line, "/?#"):
		return nil, refuse("write only the host; a path cannot be told apart on the wire", "the line has a path")
	case strings.Contains(line, "@"):
		return nil, refuse(form, "the line has user information")
	case strings.Contains(line, "%"):
		return nil, refuse(form, "the line has a zone or an escape")
	}
	h := &Host{}
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
	if suffix, _ := publicsuffix.PublicSuffix(h.Name); h.Below && suffix == h.Name {
		return nil, refuse("name a domain below it", "%q is a public suffix: anybody can have a host below it", h.Name)
	}
	return h, nil
}

// cutPort takes the port off and returns the rest without brackets.
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

// domain returns a host name in the form that effects carry.
func domain(name string) (string, *refusal) {
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		// Lookup refuses underscores, which real host names have.
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
	if h.Port == 0 {
		return name
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return name + ":" + strconv.Itoa(h.Port)
}

func (h *Host) match(c *effects.Connect) bool {
	if h.Port != 0 && c.Port != h.Port {
		return false
	}
	if h.Below {
		// No address is below a domain, whatever its zone.
		return strings.HasSuffix(c.Host, "."+h.Name) && !strings.Contains(c.Host, ":")
	}
	return c.Host == h.Name
}
