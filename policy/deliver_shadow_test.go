package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input/inputtest"
)

// TestDeliverShadow: a bundle that is tried takes the place of the delivered rules of org, and the
// files of org's folder count besides; it decides nothing, and what is not good is not tried.
func TestDeliverShadow(t *testing.T) {
	w := newWorld(t)
	put(t, w.org, "local.rego", rulesFor("org", "deny", "dd", "local"))
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s := w.open(t)
	tries := func(program string, want ...string) {
		t.Helper()
		used, err := s.Snapshot(w.opts.UID, "")
		if err != nil {
			t.Fatal(err)
		}
		snap, current := s.Shadow(used)
		if snap == nil || !current {
			t.Fatalf("nothing is tried: %v", current)
		}
		var got []string
		result, err := snap.Evaluate(t.Context(), inputtest.Of(inputtest.Run(program)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range result.Fired {
			if f.Rule.Layer == decisions.Org {
				got = append(got, string(f.Set)+" "+f.Reason)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s would be: %q, want %q", program, got, want)
		}
	}
	if err := s.DeliverShadow(t.Context(), "7", delivered("a.rego", rulesFor("org", "deny", "mv", "tried")), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tries("mv", "deny tried")
		tries("rm")
		tries("dd", "deny local")
		wantReasons(t, s, "mv", "base ask base")
		wantReasons(t, s, "rm", "base ask base", "org deny first")
		if st := s.ShadowStatus(); st == nil || st.Bundle != "7" || st.Layer != decisions.Org || st.State != StateOK || st.Deny != 2 {
			t.Fatalf("%+v", st)
		}
		readAgain(t, s)
	}
	if err := s.Deliver(t.Context(), delivered("b.rego", rulesFor("org", "deny", "rm", "second")), nil); err != nil {
		t.Fatal(err)
	}
	tries("rm")
	for _, tt := range []struct {
		files  []string
		commit error
		want   string
	}{
		{[]string{"a.rego", "package permd.org\nimport rego.v1\nbroken :="}, nil, "rego"},
		{[]string{"a.rego", rulesFor("user", "deny", "mv", "x")}, nil, "package"},
		{[]string{"a.rego", rulesFor("org", "deny", "cp", "x")}, errors.New("the disk is full"), "the disk is full"},
	} {
		err := s.DeliverShadow(t.Context(), "8", delivered(tt.files...), func() error { return tt.commit })
		if err == nil || !strings.Contains(err.Error(), tt.want) || s.ShadowStatus().Bundle != "7" {
			t.Errorf("%v, want %s; %+v", err, tt.want, s.ShadowStatus())
		}
		tries("mv", "deny tried")
	}
	if err := s.DeliverShadow(t.Context(), "", nil, nil); err != nil {
		t.Fatal(err)
	}
	if s.Trying() || s.ShadowStatus() != nil {
		t.Error("it is still tried")
	}
}

// TestDeliverShadowFirst: a bundle that is tried comes before the folder that the settings name,
// which is tried once there is no bundle.
func TestDeliverShadowFirst(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	put(t, dir, "a.rego", rulesFor("user", "deny", "mv", "of the folder"))
	w.opts.Switches = func() (Switches, error) { return Switches{Shadow: Shadow{Dir: dir, Layer: decisions.User}}, nil }
	s := w.open(t)
	readAgain(t, s)
	if st := s.ShadowStatus(); st == nil || st.Bundle != "" || st.Layer != decisions.User {
		t.Fatalf("%+v", st)
	}
	if err := s.DeliverShadow(t.Context(), "7", delivered("a.rego", rulesFor("org", "deny", "mv", "tried")), nil); err != nil {
		t.Fatal(err)
	}
	readAgain(t, s)
	if st := s.ShadowStatus(); st == nil || st.Bundle != "7" || st.Layer != decisions.Org {
		t.Fatalf("%+v", st)
	}
	if err := s.DeliverShadow(t.Context(), "", nil, nil); err != nil {
		t.Fatal(err)
	}
	if st := s.ShadowStatus(); st == nil || st.Bundle != "" || st.Layer != decisions.User {
		t.Errorf("%+v", st)
	}
}

func readAgain(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}
