package fairshare

import (
	"math/rand/v2"
	"testing"
)

// fill reserves as much as a member may have.
func fill(m *Member) (n int) {
	for step := 1 << 20; step >= 1<<10; {
		if m.Reserve(step) {
			n += step
		} else {
			step /= 2
		}
	}
	return n
}

// TestBytes: however many members take all that they may have, the next one gets what is
// guaranteed, another user more, and all together stay within the bounds.
func TestBytes(t *testing.T) {
	const budget = 64 << 20
	for _, hogs := range []int{1, 2, 10, 124, 1000} {
		s := New(Options{Slots: 1, Bytes: budget})
		taken := 0
		var members []*Member
		for range hogs {
			m := s.Join(1)
			members = append(members, m)
			taken += fill(m)
		}
		if hogs == 1 && taken < budget/5 {
			t.Errorf("one alone has %d", taken)
		}
		if s.Used() != taken-hogs*guaranteedBytes || s.Used() > budget*3/4 {
			t.Errorf("%d members: %d taken, %d counted", hogs, taken, s.Used())
		}
		next, other := s.Join(1), s.Join(2)
		if got, want := fill(next), guaranteedBytes+map[int]int{1: budget / 8, 2: budget / 16}[hogs]; got < want {
			t.Errorf("%d members: the next one has %d, want %d", hogs, got, want)
		}
		if got := fill(other); got < budget/16 {
			t.Errorf("%d members: another user has %d", hogs, got)
		}
		for _, m := range append(members, next, other) {
			m.Leave()
			if m.Reserve(1) {
				t.Fatal("who has left may reserve")
			}
			m.Release(1 << 20)
		}
		if n := s.Used(); n != 0 {
			t.Errorf("%d members: %d are left", hogs, n)
		}
	}
}

// TestBytesCounted: what is reserved and released in any order is counted.
func TestBytesCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := New(Options{Slots: 1, Bytes: 4 << 20})
	members, held := make([]*Member, 20), make([]int, 20)
	for i := range members {
		members[i] = s.Join(uint32(i % 3))
	}
	for range 100_000 {
		i := r.IntN(len(members))
		size := r.IntN(600 << 10)
		if members[i].Resize(held[i], size) {
			held[i] = size
		} else if size <= max(held[i], guaranteedBytes) {
			t.Fatalf("%d of %d refused", size, held[i])
		}
		sum := 0
		for _, n := range held {
			sum += max(0, n-guaranteedBytes)
		}
		if sum != s.Used() || sum > 4<<20 {
			t.Fatalf("%d held, %d counted", sum, s.Used())
		}
	}
}

// TestTurnBytes: what a turn has reserved is released when it ends.
func TestTurnBytes(t *testing.T) {
	s := New(Options{Slots: 1, Bytes: 4 << 20})
	m := s.Join(1)
	var turn Turn
	if err := turn.Begin(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}
	if !turn.Reserve(1000) || turn.Refused() || turn.Reserve(4<<20) || !turn.Refused() || m.bytes != 1000 {
		t.Errorf("refused: %v, %d used", turn.Refused(), m.bytes)
	}
	turn.End()
	turn.End()
	if m.bytes != 0 {
		t.Errorf("%d used at the end", m.bytes)
	}
	var none *Turn
	if !none.Reserve(1<<40) || none.Refused() || !(*Member)(nil).Resize(0, 1<<40) {
		t.Error("without a budget nothing is refused")
	}
}
