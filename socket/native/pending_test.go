package native

import (
	"fmt"
	"testing"
)

// TestLargeQuestions: a question for which there is no memory ends none that is open; one
// for which there is some ends the oldest.
func TestLargeQuestions(t *testing.T) {
	const budget = 100 << 10
	used := 0
	q := &PendingQuestions{resize: func(reserved, size int) bool {
		if used-reserved+size > budget {
			return false
		}
		used += size - reserved
		return true
	}}
	want := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			if !q.Contains(id) {
				t.Errorf("%s is not open", id)
			}
		}
		if len(q.list) != len(ids) || q.size != used || q.reserved != used {
			t.Errorf("%d questions of %d bytes, %d reserved, %d used", len(q.list), q.size, q.reserved, used)
		}
	}
	for n := range 3 {
		q.Add(&PendingQuestion{ID: fmt.Sprint(n), Size: 10 << 10})
	}
	want("0", "1", "2")
	for _, size := range []int{budget + 1, maxPendingBytes, maxPendingBytes + 1} {
		q.Add(&PendingQuestion{ID: "large", Size: size})
		want("0", "1", "2")
	}
	q.Add(&PendingQuestion{ID: "middle", Size: 85 << 10})
	want("2", "middle")
	q.Add(&PendingQuestion{ID: "all", Size: budget})
	want("all")
	q.Remove("all")
	want()
}
