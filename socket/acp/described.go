package acp

import "hash/maphash"

// filterWords is the size of an idFilter, in words of 64 bits.
const filterWords = 128

// idFilter is a set of ids that never forgets one, of a size that does not grow: with
// thousands of ids it may have others too. The zero value is empty.
type idFilter struct {
	seed maphash.Seed
	bits *[filterWords]uint64 // nil for none
}

// key returns the two bits of a call of a session.
func (f *idFilter) key(session, call string) (a, b uint64) {
	var h maphash.Hash
	h.SetSeed(f.seed)
	_, _ = h.WriteString(session) // never an error
	_ = h.WriteByte(0)
	_, _ = h.WriteString(call)
	sum := h.Sum64()
	return sum % (64 * filterWords), (sum >> 32) % (64 * filterWords)
}

func (f *idFilter) add(session, call string) {
	if f.bits == nil {
		f.seed, f.bits = maphash.MakeSeed(), new([filterWords]uint64)
	}
	a, b := f.key(session, call)
	f.bits[a/64] |= 1 << (a % 64)
	f.bits[b/64] |= 1 << (b % 64)
}

func (f *idFilter) has(session, call string) bool {
	if f.bits == nil {
		return false
	}
	a, b := f.key(session, call)
	return f.bits[a/64]&(1<<(a%64)) != 0 && f.bits[b/64]&(1<<(b%64)) != 0
}

// noteDescribed records whether a message says more of a call than namedOnly, or something
// else than before. That holds for the connection: the call's state ends with the call, and
// a request that only names the call later must not pass for one of which nothing is known.
func (c *connState) noteDescribed(s *session, p *patch) {
	more := p.extra
	if i := s.find(p.id); i >= 0 {
		known := s.calls[i]
		more = more || p.set&memberTitle != 0 && known.title != "" && known.title != p.title ||
			p.set&memberKind != 0 && known.kind != "" && known.kind != p.kind
	}
	if more {
		c.described.add(s.id, p.id)
	}
}
