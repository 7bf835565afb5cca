package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// TestRecentIDs tests that the latest ids are found, each once, and that those of removed
// and old ones are not.
func TestRecentIDs(t *testing.T) {
	var r recentIDs
	if r.has("1") {
		t.Error("there is one at the start")
	}
	r.remove("1")
	long := strings.Repeat("x", 100)
	for n := range 5 * maxRecent {
		r.add(fmt.Sprint(n))
		r.add(fmt.Sprint(n))
		r.add(long)
		if len(r.list) != len(r.set) || len(r.list) > maxRecent {
			t.Fatalf("%d in the list, %d in the set", len(r.list), len(r.set))
		}
		for _, k := range []string{fmt.Sprint(n), fmt.Sprint(max(0, n-maxRecent/2+2)), long} {
			if !r.has(k) {
				t.Fatalf("%s is not there after %d", k, n)
			}
		}
		if old := fmt.Sprint(n - maxRecent); r.has(old) {
			t.Fatalf("%s is there after %d", old, n)
		}
	}
	r.remove(long)
	if r.has(long) || len(r.list) != len(r.set) {
		t.Error("one is there that was removed")
	}
}
