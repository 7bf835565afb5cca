package acp

import (
	"fmt"
	"testing"
)

// TestIDFilter: no id is forgotten, calls of another session are others, and with a hundred
// ids hardly one is taken for another.
func TestIDFilter(t *testing.T) {
	var f idFilter
	if f.has("s", "c") {
		t.Error("the empty filter has an id")
	}
	for i := range 100 {
		f.add("s", fmt.Sprint(i))
	}
	others := 0
	for i := range 5000 {
		if i < 100 && !f.has("s", fmt.Sprint(i)) {
			t.Errorf("%d is forgotten", i)
		}
		if f.has("t", fmt.Sprint(i)) {
			others++
		}
	}
	if others > 50 {
		t.Errorf("%d of 5,000 other ids are in it", others)
	}
}
