package names

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Set is a set of decisions of a span, by their numbers within it.
type Set [Size / 64]uint64

// few is the number of decisions up to which a set is stored as their distances.
const few = 64

// Add adds decision number i of the span.
func (s *Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// AddRange adds the decisions from low up to and including high.
func (s *Set) AddRange(low, high int) {
	for i := low; i <= high; i++ {
		s.Add(i)
	}
}

// Or adds the decisions of another set.
func (s *Set) Or(other *Set) {
	for i := range s {
		s[i] |= other[i]
	}
}

// And removes the decisions that are not in another set.
func (s *Set) And(other *Set) {
	for i := range s {
		s[i] &= other[i]
	}
}

// Len returns the number of decisions.
func (s *Set) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Common returns the number of decisions that are in both sets.
func (s *Set) Common(other *Set) (n int) {
	for i, w := range s {
		n += bits.OnesCount64(w & other[i])
	}
	return n
}

// All iterates over the decisions in their order.
func (s *Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// append appends the set to b: its length, and then distances or all bits.
func (s *Set) append(b []byte) []byte {
	n := s.Len()
	b = binary.AppendUvarint(b, uint64(n))
	if n > few {
		for _, w := range s {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	last := 0
	for i := range s.All() {
		b = binary.AppendUvarint(b, uint64(i-last))
		last = i
	}
	return b
}

// cut sets s to a set at the beginning of data.
func (s *Set) cut(data []byte) (rest []byte, ok bool) {
	*s = Set{}
	n, data, ok := cutNumber(data)
	if !ok {
		return nil, false
	}
	if n > few {
		if len(data) < Size/8 {
			return nil, false
		}
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(data[i*8:])
		}
		return data[Size/8:], true
	}
	at := uint64(0)
	for range n {
		var distance uint64
		if distance, data, ok = cutNumber(data); !ok || distance >= Size || at+distance >= Size {
			return nil, false
		}
		at += distance
		s.Add(int(at))
	}
	return data, true
}

// skip skips a set at the beginning of data.
func skip(data []byte) (rest []byte, ok bool) {
	n, data, ok := cutNumber(data)
	if !ok {
		return nil, false
	}
	if n > few {
		if len(data) < Size/8 {
			return nil, false
		}
		return data[Size/8:], true
	}
	for range n {
		if _, data, ok = cutNumber(data); !ok {
			return nil, false
		}
	}
	return data, true
}
