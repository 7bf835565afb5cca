package aap

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestUnsettled: an approval of a call does not count while another call may change
// what it does. It counts after the other is denied, and for independent calls.
func TestUnsettled(t *testing.T) {
	call := func(opaque, stateful bool) *entry {
		return &entry{outcome: Ask, decision: &decisions.Decision{Verdict: decisions.Ask, Opaque: opaque, Stateful: stateful}}
	}
	for name, tt := range map[string]struct {
		first, second *entry
		want          [2]bool // whether the first and the second are unsettled
	}{
		"make, then a script":     {call(true, true), call(true, true), [2]bool{false, true}},
		"a look, then a script":   {call(false, true), call(true, true), [2]bool{}},
		"two tools of the server": {call(true, false), call(true, false), [2]bool{}},
		"a script, then a tool":   {call(true, true), call(true, false), [2]bool{}},
	} {
		b := &batch{entries: []*entry{tt.first, tt.second}}
		if got := [2]bool{b.mayBeAffected(tt.first), b.mayBeAffected(tt.second)}; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		tt.first.deny("no")
		if b.mayBeAffected(tt.second) {
			t.Errorf("%s: unsettled by a call that is denied", name)
		}
	}
}
