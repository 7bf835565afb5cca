package fairshare

import "sync"

const (
	defaultBytes = 64 << 20
	// guaranteedBytes are what each member can reserve, whatever the others have.
	guaranteedBytes = 128 << 10
)

// budget is memory that is shared among members. Beyond what is guaranteed to it, a
// member can have half of what is left for its user, so that something is left for the
// next one, however many there are. A quarter of all is never for what members keep between
// their requests, or there would be nothing left for requests.
type budget struct {
	mu   sync.Mutex
	max  int // of all, and three quarters of it of one user
	used int // beyond what is guaranteed
}

// Reserve reserves n bytes for a member, and reports whether it may have them. A nil
// member may have everything.
func (m *Member) Reserve(n int) bool { return m.reserve(n, false) }

// reserve is Reserve, also for what is kept.
func (m *Member) reserve(n int, kept bool) bool {
	if m == nil {
		return true
	}
	b := &m.scheduler.bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.left {
		return false
	}
	if after := m.bytes + n - guaranteedBytes; after > 0 {
		more := after - max(0, m.bytes-guaranteedBytes)
		left := min(b.max-b.used, b.max*3/4-m.user.bytes) - more
		if kept {
			left -= b.max / 4
		}
		if after > left/2 {
			return false
		}
	}
	b.add(m, n)
	return true
}

// Release returns n of the bytes that a member has reserved.
func (m *Member) Release(n int) {
	if m == nil {
		return
	}
	b := &m.scheduler.bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	if !m.left {
		b.add(m, -n)
	}
}

// Resize changes the reservation for something that is kept from old bytes to size, and
// reports whether the member may have that; otherwise nothing changes. Less is always
// granted.
func (m *Member) Resize(old, size int) bool {
	if size > old {
		return m.reserve(size-old, true)
	}
	m.Release(old - size)
	return true
}

func (b *budget) add(m *Member, n int) {
	more := max(0, m.bytes+n-guaranteedBytes) - max(0, m.bytes-guaranteedBytes)
	m.bytes += n
	m.user.bytes += more
	b.used += more
}

func (b *budget) leave(m *Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(m, -m.bytes)
	m.left = true
}

// Used returns how many bytes are reserved beyond what is guaranteed.
func (s *Scheduler) Used() int {
	s.bytes.mu.Lock()
	defer s.bytes.mu.Unlock()
	return s.bytes.used
}

// Reserve reserves n bytes for the time until the turn ends, and reports whether its
// member may have them. It remembers that one could not be had (Refused).
func (t *Turn) Reserve(n int) bool {
	if t == nil || t.member == nil || t.done {
		return true
	}
	if !t.member.Reserve(n) {
		t.refused = true
		return false
	}
	t.bytes += n
	return true
}

// Refused reports whether Reserve has returned false.
func (t *Turn) Refused() bool { return t != nil && t.refused }
