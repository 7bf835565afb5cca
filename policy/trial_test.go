package policy

import (
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/settings"
)

// TestTrustTrial tries lists that nobody trusts: their allows count in the trial alone, whatever the
// organisation says of trust, and only if the text is that of the list.
func TestTrustTrial(t *testing.T) {
	w := newTrusting(t)
	w.write(shopList, checks)
	w.load(t, ann, shop)
	before, err := w.store.Snapshot(ann, shop)
	if err != nil {
		t.Fatal(err)
	}
	for _, counts := range []string{settings.TrustUser, settings.TrustApproved, settings.TrustForbid} {
		w.sw.ProjectTrust = counts
		if _, err := w.store.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		snap, err := w.store.TrustTrial(t.Context(), ann, shop, []byte(checks))
		if err != nil || !snap.Trusted() {
			t.Fatalf("%s: %v, %v", counts, snap, err)
		}
		tried, err := w.engine.With(func(c *decisions.Config) { c.Detach(); c.Policy = fixed{snap} })
		if err != nil {
			t.Fatal(err)
		}
		inUse := w.engine
		w.engine = tried
		if d := w.decide(t, ann, shop, "make check"); d.Verdict != decisions.Allow {
			t.Errorf("%s: in the trial: %s: %s", counts, d.Verdict, d.Reason)
		}
		w.engine = inUse
		if d := w.decide(t, ann, shop, "make check"); d.Verdict != decisions.Ask {
			t.Errorf("%s: after the trial: %s: %s", counts, d.Verdict, d.Reason)
		}
	}
	for name, text := range map[string]string{"another text": checks + "\n", "no text": "", "text that does not parse": "allow: 1\n"} {
		if snap, err := w.store.TrustTrial(t.Context(), ann, shop, []byte(text)); err == nil {
			t.Errorf("%s: %v", name, snap.Trusted())
		}
	}
	if _, err := w.store.TrustTrial(t.Context(), ann, "/home/u/other", []byte(checks)); err == nil {
		t.Error("a project without a list: no error")
	}
	w.sw.ProjectTrust = ""
	w.pin(ann, shop, checks, time.Hour)
	w.write(shopList, "allow:\n  run: [frob]\n")
	if snap, err := w.store.TrustTrial(t.Context(), ann, shop, []byte(checks)); err == nil {
		t.Errorf("the list that was trusted before: %v", snap.Trusted())
	}
	if before.Trusted() {
		t.Error("an earlier snapshot is trusted")
	}
}

// fixed is a policy that is the same everywhere.
type fixed struct{ snap decisions.Snapshot }

func (f fixed) Snapshot(uint32, string) (decisions.Snapshot, error) { return f.snap, nil }
