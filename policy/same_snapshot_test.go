package policy

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/policytest"
)

// TestSameSnapshot: a session that is declared, and a reload that finds nothing new, leave
// the snapshots as they are, since decisions are cached for one of them. Any change of rules,
// of what is doubted or of settings makes others.
func TestSameSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "ls", "listing")})
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	other := w.other(t)
	sw := Switches{}
	w.opts.Switches = func() (Switches, error) { return sw, nil }
	s := w.open(t)
	prepare := func(project string) {
		t.Helper()
		if err := s.Prepare(t.Context(), s.opts.UID, project); err != nil {
			t.Fatal(err)
		}
	}
	snapshots := func() (list [2]decisions.Snapshot) {
		t.Helper()
		for i, project := range []string{"", w.project} {
			snap, err := s.Snapshot(s.opts.UID, project)
			if err != nil {
				t.Fatal(err)
			}
			list[i] = snap
		}
		return list
	}
	prepare(w.project)
	before := snapshots()
	for range 3 {
		prepare(w.project)
		prepare(other)
		if _, err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if now := snapshots(); now != before {
		t.Error("other snapshots although nothing has changed")
	}
	for _, change := range []struct {
		name   string
		both   bool
		change func()
	}{
		{"rules of the project", false, func() {
			policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [mv]\n"})
			policytest.Age(t, w.project)
		}},
		{"rules of the user", true, func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "ls", "listing")})
			policytest.Age(t, w.user)
		}},
		{"only_org", true, func() { sw.OnlyOrg = true }},
		{"a verdict after a failure", true, func() { sw.DenyOnFailure = true }},
		{"a base rule", true, func() { sw.Disable = []string{"base.read-project"} }},
	} {
		before := snapshots()
		change.change()
		if _, err := s.Reload(t.Context()); err != nil {
			t.Fatal(change.name, err)
		}
		prepare(w.project)
		if now := snapshots(); now[1] == before[1] || change.both && now[0] == before[0] {
			t.Errorf("%s: the snapshot of before is in use", change.name)
		}
	}
}
