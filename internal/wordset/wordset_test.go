package wordset

import (
	"slices"
	"sync"
	"testing"
)

func TestSet(t *testing.T) {
	for name, s := range map[string]*Set{"words": Of("b", "a", "c d"), "text": Fields(" b\n\ta ")} {
		want := []string{"b", "a"}
		if name == "words" {
			want = append(want, "c d")
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for _, word := range want {
					if !s.Has(word) {
						t.Errorf("%s: %q is missing", name, word)
					}
				}
				for _, word := range []string{"", "c", " ", "b "} {
					if s.Has(word) {
						t.Errorf("%s: there is %q", name, word)
					}
				}
			})
		}
		all.Wait()
		if got := slices.Collect(s.All()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if Of().Has("") || Fields("").Has("") {
		t.Error("an empty set has a word")
	}
}

// TestNoAllocations: the set costs nothing when a program starts, and a look-up in it no
// memory.
func TestNoAllocations(t *testing.T) {
	s := Fields("a b c")
	s.Has("a")
	if n := testing.AllocsPerRun(100, func() { s.Has("b") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
