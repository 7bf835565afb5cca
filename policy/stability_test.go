package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/policy/policytest"
)

// TestReadTwice: files that were replaced while they were read are read again, even
// if their times do not show it.
func TestReadTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	past := time.Now().Add(-time.Hour)
	// Renamed over, as a package manager does that keeps the times.
	put := func(n int) {
		for _, name := range []string{"a.rego", "b.rego"} {
			policytest.Write(t, w.org, map[string]string{name: rulesFor("user", "ask", "rm", fmt.Sprintf("%s %d", name, n))})
			policytest.Chmod(t, filepath.Join(w.org, name), 0o664) // its group is asked for
			if err := os.Chtimes(filepath.Join(w.org, name), past, past); err != nil {
				t.Fatal(err)
			}
			rename(t, filepath.Join(w.org, name), filepath.Join(w.user, name))
		}
		if err := os.Chtimes(w.user, past, past); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	asked := 0
	w.opts.privateGroup = func(uint32, uint32) bool { // asked while the first file is read
		if asked++; asked == 1 {
			put(2)
		}
		return true
	}
	s := w.open(t)
	if diff := cmp.Diff([]string{"user ask a.rego 2", "user ask b.rego 2", "base ask base"}, reasons(t, s, "", "rm")); diff != "" {
		t.Error(diff)
	}
	if asked < 3 {
		t.Errorf("it was read %d times", asked)
	}
}

// TestQuietPeriod: changed files are not used before the quiet period has passed.
func TestQuietPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t)
	for _, what := range []string{"file", "folder"} {
		policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "ask", "rm", what)})
		if what == "folder" {
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(w.user, "a.rego"), past, past); err != nil {
				t.Fatal(err)
			}
			remove(t, w.user, "b.rego")
		} else {
			policytest.Write(t, w.user, map[string]string{"b.rego": "# nothing"})
		}
		r, ok := s.read(t.Context(), s.state.Load().users[s.opts.UID], loadOptions{deadline: time.Now().Add(loadTimeout)})
		if age := time.Since(r.newest); !ok || age < quietPeriod {
			t.Errorf("%s: used at an age of %v: %v", what, age, ok)
		}
		if _, err := s.Reload(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestReadFuture: a time in the future, which any file may have, neither delays
// reading nor hides another file's time.
func TestReadFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "ask", "rm", "a"), "b.rego": rulesFor("user", "ask", "rm", "b")})
	future := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(filepath.Join(w.user, "a.rego"), future, future); err != nil {
		t.Fatal(err)
	}
	s := w.open(t)
	r := s.readOnce(s.state.Load().users[s.opts.UID])
	if r.newest.IsZero() || r.newest.After(time.Now().Add(quietPeriod)) {
		t.Errorf("the newest is of %v", r.newest)
	}
	if l := userLayer(s); l.State != StateOK {
		t.Errorf("status %+v", l)
	}
}

// TestUnstableFiles: while a file is written all the time the old rules stay, the status
// says so, and the file is checked again.
func TestUnstableFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "old")})
	s := w.open(t)
	n := 0
	// Each time it is read, it is another one.
	w.opts.privateGroup = nil
	s.opts.privateGroup = func(uint32, uint32) bool {
		n++
		policytest.Write(t, w.user, map[string]string{"b.rego": rulesFor("user", "ask", "rm", fmt.Sprint(n))})
		return true
	}
	policytest.Chmod(t, filepath.Join(w.user, "a.rego"), 0o664)
	policytest.Write(t, w.user, map[string]string{"b.rego": rulesFor("user", "ask", "rm", "first")})
	how := loadOptions{deadline: time.Now().Add(quietPeriod)}
	next := s.refresh(t.Context(), s.state.Load().users[s.opts.UID], how)
	if err := next.err(); err == nil || !strings.Contains(err.Error(), w.user+": its files keep changing") {
		t.Errorf("error %v", err)
	}
	if next.active == nil || next.active.NumRules() != 1 || next.recheckAt.IsZero() {
		t.Errorf("%d rules in use, looked at again at %v", next.active.NumRules(), next.recheckAt)
	}
	policytest.Chmod(t, filepath.Join(w.user, "a.rego"), 0o644)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"user deny old", "user ask " + fmt.Sprint(n), "base ask base"}
	if got := reasons(t, s, "", "rm"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStableSettings: settings that differ between two readings are not used:
// only_org must not be off while the file is written.
func TestStableSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var next []Switches
	var errs []error
	good := Switches{OnlyOrg: true}
	w.opts.Switches = func() (Switches, error) {
		if len(next) == 0 {
			return good, nil
		}
		now, err := next[0], errs[0]
		next, errs = next[1:], errs[1:]
		return now, err
	}
	s := w.open(t)
	onlyOrg := func() bool { return s.state.Load().switches.OnlyOrg }
	next, errs = []Switches{{}}, []error{nil} // empty for a moment
	if changed, err := s.Reload(t.Context()); changed || err != nil || !onlyOrg() {
		t.Errorf("reload: %v, %v, only org: %v", changed, err, onlyOrg())
	}
	next, errs = []Switches{{}, {DenyOnFailure: true}}, []error{nil, nil} // and half of it for another
	if changed, err := s.Reload(t.Context()); changed || err != nil || !onlyOrg() {
		t.Errorf("reload: %v, %v, only org: %v", changed, err, onlyOrg())
	}
	bad := errors.New("permd.toml:1: half a line")
	next, errs = []Switches{{}}, []error{bad}
	if changed, err := s.Reload(t.Context()); changed || err != nil || s.Status().Degraded() {
		t.Errorf("reload: %v, %v", changed, err)
	}
	next, errs = []Switches{{}, {}}, []error{bad, bad}
	if _, err := s.Reload(t.Context()); !errors.Is(err, bad) || !onlyOrg() || s.Status().SettingsSince.IsZero() {
		t.Errorf("reload: %v, only org: %v, status %+v", err, onlyOrg(), s.Status())
	}
	good = Switches{}
	if changed, err := s.Reload(t.Context()); !changed || err != nil || onlyOrg() {
		t.Errorf("reload: %v, %v, only org: %v", changed, err, onlyOrg())
	}
}
