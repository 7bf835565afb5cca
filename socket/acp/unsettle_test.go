package acp

import (
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// TestUnsettle: what was approved and hangs on what is on the machine is asked again
// once something ran that may have changed anything; the rest of a call of which a
// part has come through a gate goes on.
func TestUnsettle(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	said := func(id string, stateful bool, traces ...byte) *decisions.Decision {
		d := &decisions.Decision{ID: id, CallID: id, Stateful: stateful}
		for _, b := range traces {
			d.Fingerprints = append(d.Fingerprints, decisions.Fingerprint{b})
		}
		return d
	}
	var a approvals
	script, tool, two := said("1", true, 1), said("2", false, 2), said("3", true, 3, 4)
	for _, d := range []*decisions.Decision{script, tool, two} {
		a.note("s", d, now)
	}
	if !a.take("s", "", two.Fingerprints[:1], now) {
		t.Fatal("the first part of a call is not approved")
	}
	a.unsettle("other")
	a.unsettle("s")
	for name, tt := range map[string]struct {
		traces []decisions.Fingerprint
		want   bool
	}{
		"a script": {script.Fingerprints, false}, "a tool": {tool.Fingerprints, true}, "the rest of a call": {two.Fingerprints[1:], true},
	} {
		if got := a.take("s", "", tt.traces, now); got != tt.want {
			t.Errorf("%s: approved is %v, want %v", name, got, tt.want)
		}
	}
	if a.fingerprints != 0 || len(a.calls) != 0 {
		t.Errorf("%d traces of %d calls are left", a.fingerprints, len(a.calls))
	}
}
