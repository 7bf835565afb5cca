// Package publicsuffix knows the domains below which anybody can register a name: com,
// co.uk, github.io. The list is that of publicsuffix.org, as golang.org/x/net compiles it
// into a table.
//
// The package of that module is not imported, because it imports net/http for the sake
// of one type: everything that knows a decision would depend on HTTP and TLS, and could
// not be initialised before them (see cmd/permd/internal/hookproc). Nor is its table handed
// in: lines of lists are parsed in many places, and one that forgot it would take *.co.uk
// for a domain of somebody.
package publicsuffix

import (
	"net/netip"
	"strings"
)

//go:generate sh -c "cp $(go list -m -f {{.Dir}} golang.org/x/net)/publicsuffix/data/* data && chmod u+w data/*"

// Of returns the public suffix of a domain: the longest one that is listed, or else its
// last label. managed reports whether a registry of names manages it, and not a company
// that has put its own domain on the list. An IP address is its own suffix.
func Of(domain string) (suffix string, managed bool) {
	if _, err := netip.ParseAddr(domain); err == nil {
		return domain, false
	}
	rest, start := domain, len(domain) // what is left to look at, and where the suffix begins
	lo, hi := uint32(0), uint32(numTLD)
	var at node
	for {
		label := strings.LastIndexByte(rest, '.') + 1
		if at.wildcard {
			start, managed = label, at.managed
		}
		next, ok := find(rest[label:], lo, hi)
		if !ok {
			break
		}
		if next.kind == nodeTypeException {
			start = len(rest) + 1
			break
		}
		if next.kind == nodeTypeNormal {
			start = label
		}
		if !next.wildcard {
			managed = next.managed
		}
		if label == 0 {
			break
		}
		at, lo, hi, rest = next, next.lo, next.hi, rest[:label-1]
	}
	if start == len(domain) {
		return domain[strings.LastIndexByte(domain, '.')+1:], managed
	}
	return domain[start:], managed
}

// Registered returns the domain that somebody has registered below a public suffix: for
// www.example.co.uk, example.co.uk. ok is false if there is none.
func Registered(domain string) (name string, ok bool) {
	if strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") || strings.Contains(domain, "..") {
		return "", false
	}
	suffix, _ := Of(domain)
	rest, ok := strings.CutSuffix(domain, "."+suffix)
	if !ok {
		return "", false
	}
	return domain[strings.LastIndexByte(rest, '.')+1:], true
}

// node is a label of the list.
type node struct {
	lo, hi   uint32 // the nodes of the labels below it
	kind     uint32
	wildcard bool // any label below it belongs to the suffix
	managed  bool
}

// find finds a label among the nodes from lo to hi, which are sorted.
func find(label string, lo, hi uint32) (n node, ok bool) {
	for lo < hi {
		mid := lo + (hi-lo)/2
		bits := nodes.at(mid)
		switch s := labelOf(bits); {
		case s < label:
			lo = mid + 1
		case s > label:
			hi = mid
		default:
			return nodeOf(bits), true
		}
	}
	return node{}, false
}

func labelOf(bits uint64) string {
	length := take(&bits, nodesBitsTextLength)
	offset := take(&bits, nodesBitsTextOffset)
	return text[offset : offset+length]
}

func nodeOf(bits uint64) node {
	bits >>= nodesBitsTextLength + nodesBitsTextOffset
	managed := take(&bits, nodesBitsICANN) != 0
	below := children.at(uint32(take(&bits, nodesBitsChildren)))
	return node{
		managed:  managed,
		lo:       uint32(take(&below, childrenBitsLo)),
		hi:       uint32(take(&below, childrenBitsHi)),
		kind:     uint32(take(&below, childrenBitsNodeType)),
		wildcard: take(&below, childrenBitsWildcard) != 0,
	}
}

// take removes the lowest n bits and returns them.
func take(bits *uint64, n int) uint64 {
	low := *bits & (1<<n - 1)
	*bits >>= n
	return low
}

// uint40String and uint32String hold numbers of 5 and of 4 bytes, the highest byte first.
type (
	uint40String string
	uint32String string
)

func (s uint40String) at(i uint32) uint64 { return number(string(s), i, nodesBits/8) }

func (s uint32String) at(i uint32) uint64 { return number(string(s), i, 4) }

func number(s string, i, size uint32) (n uint64) {
	for _, b := range []byte(s[i*size : (i+1)*size]) {
		n = n<<8 | uint64(b)
	}
	return n
}
