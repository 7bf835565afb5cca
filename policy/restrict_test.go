package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/restrictions"
)

// TestRequiredLayers: a layer that is required and has no rules makes calls fail, and denies
// of others still count.
func TestRequiredLayers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sw := Switches{Restrictions: restrictions.Restrictions{RequireLayers: []decisions.Layer{decisions.Org, decisions.User}}}
	w.opts.Switches = func() (Switches, error) { return sw, nil }
	policytest.Write(t, w.org, map[string]string{"rules.yaml": "deny:\n  run: [rm *]\n"})
	s := w.open(t)
	evaluate := func() (decisions.Findings, error) {
		snap, err := s.Snapshot(s.opts.UID, "")
		if err != nil {
			t.Fatal(err)
		}
		return snap.Evaluate(t.Context(), inputtest.Of(inputtest.Run("rm", "x")))
	}
	got, err := evaluate()
	if err == nil || !strings.Contains(err.Error(), "requires rules of user") || !slices.ContainsFunc(got.Fired, func(f decisions.Finding) bool { return f.Set == decisions.SetDeny && f.Rule.Layer == decisions.Org }) {
		t.Errorf("without rules of the user: %v, %+v", err, got.Fired)
	}
	if said := strings.Join(s.Status().Restrictions, "\n"); !strings.Contains(said, "every call of uid") {
		t.Errorf("the status says %q", said)
	}
	policytest.Write(t, w.user, map[string]string{"rules.yaml": "allow:\n  run: [ls]\n"})
	policytest.Age(t, w.root)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(); err != nil {
		t.Errorf("with rules of the user: %v", err)
	}
}
