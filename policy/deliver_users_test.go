package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/settings"
)

// TestDeliverUsers tests that rules that are delivered for people are in use besides a person's
// own, survive reading all files again, and are replaced by the next ones.
func TestDeliverUsers(t *testing.T) {
	w := newWorld(t)
	put(t, w.user, "mine.rego", rulesFor("user", "allow", "ls", "mine"))
	w.opts.DeliveredUsers = &Delivered{Files: delivered("a.rego", rulesFor("user", "deny", "rm", "first"))}
	s := w.open(t)
	wantReasons(t, s, "rm", "base ask base", "user deny first")
	wantReasons(t, s, "ls", "base ask base", "user allow mine")
	if err := s.DeliverUsers(t.Context(), delivered("b.rego", rulesFor("user", "deny", "mv", "second")), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantReasons(t, s, "rm", "base ask base")
		wantReasons(t, s, "mv", "base ask base", "user deny second")
		wantReasons(t, s, "ls", "base ask base", "user allow mine")
		if l := layerStatus(t, s, decisions.User); l.State != StateOK || l.Files != 2 || l.Deny != 1 || l.Allow != 1 {
			t.Errorf("%+v", l)
		}
		if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeliverUsersRefused tests that whatever is wrong with what is delivered, what was in use
// stays.
func TestDeliverUsersRefused(t *testing.T) {
	w := newWorld(t)
	w.opts.DeliveredUsers = &Delivered{Files: delivered("a.rego", rulesFor("user", "deny", "rm", "first"))}
	s := w.open(t)
	full := errors.New("no space left on device")
	for _, tt := range []struct {
		name, file, text, want string
		commit                 func() error
	}{
		{"Rego that is wrong", "a.rego", "package permd.user\nimport rego.v2\ndeny contains \"x\" if input.effect.progam == \"x\"\n", "bundle: a.rego:3", nil},
		{"a package of org", "a.rego", rulesFor("org", "allow", "rm", "x"), "bundle: a.rego:1", nil},
		{"a test in Rego", "a_test.rego", "package permd.user_test\nimport rego.v2\ntest_no if false\n", "test_no", nil},
		{"a disk that is full", "a.rego", rulesFor("user", "allow", "rm", "x"), full.Error(), func() error { return full }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := s.DeliverUsers(t.Context(), delivered(tt.file, tt.text), tt.commit)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			wantReasons(t, s, "rm", "base ask base", "user deny first")
			if l := layerStatus(t, s, decisions.User); l.State != StateOK || l.Deny != 1 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestDeliverUsersMissing tests that while there was never a bundle, every call asks that a
// person's own rules do not deny, and that a bundle that was kept and is broken is as none.
func TestDeliverUsersMissing(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    Delivered
		why  string
	}{
		{"never taken", Delivered{Missing: "no bundle was ever good"}, "no bundle was ever good"},
		{"broken", Delivered{Files: delivered("a.rego", "package permd.user\nnonsense")}, "the bundle that was kept cannot be used: loading user rules: bundle: a.rego"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			put(t, w.user, "mine.rego", rulesFor("user", "allow", "rm", "mine"))
			w.opts.DeliveredUsers = &tt.d
			s := w.open(t)
			for range 2 {
				if got := strings.Join(reasons(t, s, "", "rm"), "; "); !strings.Contains(got, "error: loading user rules: "+tt.why) {
					t.Errorf("%s", got)
				}
				if why := s.Missing(decisions.User); !strings.HasPrefix(why, tt.why) {
					t.Errorf("missing: %q", why)
				}
				if _, err := s.reload(t.Context(), loadOptions{}); err == nil {
					t.Error("a reload finds nothing wrong")
				}
			}
			if err := s.DeliverUsers(t.Context(), delivered("b.rego", rulesFor("user", "deny", "mv", "first")), nil); err != nil {
				t.Fatal(err)
			}
			wantReasons(t, s, "rm", "base ask base", "user allow mine")
			wantReasons(t, s, "mv", "base ask base", "user deny first")
			if l := layerStatus(t, s, decisions.User); l.State != StateOK || s.Missing(decisions.User) != "" {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestDeliverUsersConflict tests that a person's files that do not go with what is delivered keep
// it from nobody else, that what was in use for that person stays, and that the status says why.
func TestDeliverUsersConflict(t *testing.T) {
	w := newWorld(t)
	put(t, w.user, "mine.rego", "package permd.user\nimport rego.v2\nlimit := 1\n")
	w.opts.DeliveredUsers = &Delivered{Files: delivered("a.rego", rulesFor("user", "deny", "rm", "first"))}
	s := w.open(t)
	next := delivered("b.rego", rulesFor("user", "deny", "mv", "second")+"limit contains 2\n")
	if err := s.DeliverUsers(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantReasons(t, s, "rm", "base ask base", "user deny first")
		if l := layerStatus(t, s, decisions.User); l.State != StateDegraded || !strings.Contains(l.Error, "limit") {
			t.Errorf("%+v", l)
		}
		_, _ = s.reload(t.Context(), loadOptions{})
	}
	// After a restart there are no last good rules of that person, so every call asks.
	w.opts.DeliveredUsers = &Delivered{Files: next}
	again := w.open(t)
	if got := strings.Join(reasons(t, again, "", "ls"), "; "); !strings.Contains(got, "error: loading user rules: ") {
		t.Errorf("after a restart: %s", got)
	}
	put(t, w.user, "mine.rego", "package permd.user\n")
	policytest.Age(t, w.root)
	for _, s := range []*Store{s, again} {
		if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
			t.Fatal(err)
		}
		wantReasons(t, s, "mv", "base ask base", "user deny second")
	}
}

// TestDeliverUsersBroken tests that files of a person that have never been good are not left out
// when rules are delivered.
func TestDeliverUsersBroken(t *testing.T) {
	w := newWorld(t)
	put(t, w.user, "mine.rego", "package permd.user\nnonsense")
	s := w.open(t)
	if err := s.DeliverUsers(t.Context(), delivered("b.rego", rulesFor("user", "allow", "ls", "first")), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(reasons(t, s, "", "ls"), "; "); !strings.Contains(got, "error: loading user rules: ") || strings.Contains(got, "first") {
		t.Errorf("%s", got)
	}
}

// TestDeliverUsersHeld tests that where changed files wait, a bundle does not, and puts nothing
// else in use.
func TestDeliverUsersHeld(t *testing.T) {
	w := newWorld(t)
	w.opts.Switches = func() (Switches, error) { return Switches{Reload: settings.ReloadManual}, nil }
	put(t, w.user, "mine.rego", "package permd.user\n")
	s := w.open(t)
	put(t, w.user, "mine.rego", rulesFor("user", "allow", "ls", "mine"))
	policytest.Age(t, w.root)
	if _, err := s.reload(t.Context(), loadOptions{}); err != nil || s.Status().Waiting == nil {
		t.Fatalf("%v, %+v", err, s.Status().Waiting)
	}
	if err := s.DeliverUsers(t.Context(), delivered("b.rego", rulesFor("user", "deny", "mv", "second")), nil); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "mv", "base ask base", "user deny second")
	wantReasons(t, s, "ls", "base ask base")
	if s.Status().Waiting == nil {
		t.Error("nothing waits any more")
	}
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "ls", "base ask base", "user allow mine")
	wantReasons(t, s, "mv", "base ask base", "user deny second")
}
