package acp

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// TestApprovedBounds: the memory about allowed calls is bounded.
func TestApprovedBounds(t *testing.T) {
	var a approvals
	now := time.Unix(1_700_000_000, 0)
	said := func(n, traces int) *decisions.Decision {
		d := &decisions.Decision{ID: fmt.Sprint(n), CallID: fmt.Sprint(n), Fingerprints: make([]decisions.Fingerprint, traces)}
		for i := range d.Fingerprints {
			copy(d.Fingerprints[i][:], fmt.Sprint(n, i))
		}
		return d
	}
	for n := range 3 * maxApproved {
		if n%2 == 0 {
			a.noteNew("s", said(n, 1), now)
		}
		a.note("s", said(n, 1), now)
		a.note("s", said(n, 1), now) // the same answer again
		least := min(n+1, keptApproved)
		if len(a.calls) > maxApproved || len(a.calls) < least || a.fingerprints != len(a.calls) {
			t.Fatalf("%d calls, %d fingerprints after %d", len(a.calls), a.fingerprints, n+1)
		}
		if !slices.ContainsFunc(a.calls, func(c approval) bool { return c.call == fmt.Sprint(max(0, n-least+1)) }) {
			t.Fatalf("the %d. newest call is not there after %d", least, n+1)
		}
	}
	a.note("s", said(-1, maxApprovedFingerprints), now)
	if len(a.calls) != 1 || a.fingerprints != maxApprovedFingerprints {
		t.Errorf("%d calls, %d fingerprints", len(a.calls), a.fingerprints)
	}
	a.note("s", said(-2, maxApprovedFingerprints+1), now)
	if len(a.calls) != 1 {
		t.Error("a call of too many effects was kept")
	}
	if !a.take("s", said(-1, 100), now) || a.take("s", said(-1, 100), now) || a.fingerprints != maxApprovedFingerprints-100 {
		t.Errorf("a part of it: %d fingerprints left", a.fingerprints)
	}
	a.endCall("s", "")
	if len(a.calls) != 0 || a.fingerprints != 0 {
		t.Errorf("%d calls, %d fingerprints are left", len(a.calls), a.fingerprints)
	}
}
