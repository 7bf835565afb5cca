package fairshare

import "testing"

// TestKeptLeavesRoom tests that a member that keeps as much as it may still has room for
// requests, even when other members do the same.
func TestKeptLeavesRoom(t *testing.T) {
	const max, request = 64 << 20, 200 << 10
	for _, members := range []int{1, 2, 16, 124} {
		s := New(Options{Slots: 1, Bytes: max})
		var all []*Member
		for range members {
			all = append(all, s.Join(1))
		}
		kept := make([]int, members)
		for more := true; more; {
			more = false
			for n, m := range all {
				if m.Resize(kept[n], kept[n]+10<<10) {
					kept[n] += 10 << 10
					more = true
				}
			}
		}
		for n, m := range all {
			if !m.Reserve(request) {
				t.Errorf("%d members: the %d. keeps %d KiB, and has no room for a request", members, n+1, kept[n]>>10)
				break
			}
			m.Release(request)
			m.Reserve(guaranteedBytes) // others have requests, too
		}
	}
}
