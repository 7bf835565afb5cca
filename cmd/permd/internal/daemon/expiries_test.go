package daemon

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/remember"
)

// TestExpiries: whose choices have expired is told once, also of one that expires while it is looked,
// and choices are not looked at while nothing has changed.
func TestExpiries(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	in := func(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }
	var list []remember.Choice
	looks, slow := 0, 0
	x := new(expiries)
	over := func() []uint32 {
		got := x.over(func() time.Time { return now }, func(*uint32, bool) iter.Seq[*remember.Choice] {
			looks++
			now = now.Add(time.Duration(slow) * time.Second)
			return func(yield func(*remember.Choice) bool) {
				for i := range list {
					if (list[i].Expires.IsZero() || now.Before(list[i].Expires)) && !yield(&list[i]) {
						return
					}
				}
			}
		})
		slices.Sort(got)
		return got
	}
	want := func(after int, wantLooks int, uids ...uint32) {
		t.Helper()
		now, looks = in(after), 0
		if got := over(); !slices.Equal(got, uids) || looks != wantLooks {
			t.Errorf("after %d s: %v with %d looks, want %v with %d", after, got, looks, uids, wantLooks)
		}
	}
	list = []remember.Choice{{UID: 1, Expires: in(20)}, {UID: 1, Expires: in(10)}, {UID: 1}, {UID: 2, Expires: in(10)}, {UID: 3}}
	want(0, 1)
	want(5, 0)
	want(9, 0)
	want(10, 1, 1, 2)
	want(11, 0)
	want(20, 1, 1)
	want(40, 0)
	list = append(list, remember.Choice{UID: 3, Expires: in(50)})
	want(41, 0)
	x.changed.Store(true)
	want(42, 1)
	x.changed.Store(true)
	slow = 10
	want(49, 1, 3)
	slow = 0
	want(60, 0)
}
