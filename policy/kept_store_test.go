package policy

import (
	"slices"
	"testing"

	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/projection"
)

// TestKeptWithRules: what is kept for rules is kept as long as they are the same, and is
// gone with them: a deny that is added takes effect for effects whose result was kept.
func TestKeptWithRules(t *testing.T) {
	w := newWorld(t)
	w.opts.KeepResults = true
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "git", "allowed")})
	s := w.open(t)
	kept := func() *projection.Cache { return s.state.Load().snaps[layerKey{uid: s.opts.UID}].Kept() }
	for range 2 {
		if got, want := reasons(t, s, "", "git"), []string{"user allow allowed", "base ask base"}; !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	first := kept()
	if hits, misses, _ := first.Counts(); hits != 1 || misses != 1 {
		t.Errorf("%d hits and %d misses, want one each", hits, misses)
	}
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	if kept() != first {
		t.Error("loading a project dropped what was kept for other rules")
	}
	policytest.Write(t, w.user, map[string]string{"b.rego": rulesFor("user", "deny", "git", "denied")})
	policytest.Age(t, w.root)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept() == first {
		t.Error("other rules have what was kept for the former ones")
	}
	if got, want := reasons(t, s, "", "git"), []string{"user allow allowed", "user deny denied", "base ask base"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKeptIsOff: without the option nothing is kept.
func TestKeptIsOff(t *testing.T) {
	w := newWorld(t)
	if s := w.open(t); s.state.Load().snaps[layerKey{uid: s.opts.UID}].Kept() != nil {
		t.Error("results are kept")
	}
}
