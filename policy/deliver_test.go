package policy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
)

func delivered(files ...string) []source.File {
	var out []source.File
	for i := 0; i < len(files); i += 2 {
		out = append(out, source.File{Name: "bundle: " + files[i], Rel: "bundle/" + files[i], Dir: "bundle", Data: []byte(files[i+1])})
	}
	return out
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantReasons(t *testing.T, s *Store, program string, want ...string) {
	t.Helper()
	got := reasons(t, s, "", program)
	slices.Sort(got)
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("%s: got %q, want %q", program, got, want)
	}
}

// TestDeliver: delivered rules are in use at once besides those of the folder, stay in use when
// all files are read again, and are replaced by the next ones.
func TestDeliver(t *testing.T) {
	w := newWorld(t)
	put(t, w.org, "local.rego", rulesFor("org", "deny", "dd", "local"))
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s := w.open(t)
	wantReasons(t, s, "rm", "base ask base", "org deny first")
	wantReasons(t, s, "dd", "base ask base", "org deny local")
	if err := s.Deliver(t.Context(), delivered("b.rego", rulesFor("org", "deny", "mv", "second")), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantReasons(t, s, "rm", "base ask base")
		wantReasons(t, s, "mv", "base ask base", "org deny second")
		wantReasons(t, s, "dd", "base ask base", "org deny local")
		if l := layerStatus(t, s, decisions.Org); l.State != StateOK || l.Files != 2 || l.Deny != 2 {
			t.Errorf("%+v", l)
		}
		if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeliverRefused: whatever is wrong with what is delivered, what was in use stays.
func TestDeliverRefused(t *testing.T) {
	w := newWorld(t)
	put(t, w.org, "local.rego", rulesFor("org", "deny", "dd", "local"))
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s := w.open(t)
	full := errors.New("no space left on device")
	for _, tt := range []struct {
		name, file, text, want string
		commit                 func() error
	}{
		{"Rego that is wrong", "a.rego", "package permd.org\nimport rego.v2\ndeny contains \"x\" if input.effect.progam == \"x\"\n", "bundle: a.rego:3", nil},
		{"another package", "a.rego", rulesFor("user", "allow", "rm", "x"), "bundle: a.rego:1", nil},
		{"a list that is wrong", "rules.yaml", "deny:\n  runs: [x]\n", "bundle: rules.yaml:2", nil},
		{"a test in Rego", "a_test.rego", "package permd.org_test\nimport rego.v2\ntest_no if false\n", "test_no", nil},
		{"a disk that is full", "a.rego", rulesFor("org", "allow", "rm", "x"), full.Error(), func() error { return full }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := s.Deliver(t.Context(), delivered(tt.file, tt.text), tt.commit)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			wantReasons(t, s, "rm", "base ask base", "org deny first")
			if l := layerStatus(t, s, decisions.Org); l.State != StateOK || l.Deny != 2 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestDeliverMissing: while there was never a bundle, every call asks that the folder of org does
// not deny, also if a person allows it; the first bundle ends that.
func TestDeliverMissing(t *testing.T) {
	w := newWorld(t)
	put(t, w.org, "local.rego", rulesFor("org", "deny", "dd", "local"))
	put(t, w.user, "mine.rego", rulesFor("user", "allow", "rm", "mine"))
	w.opts.Delivered = &Delivered{Missing: "no bundle was ever good"}
	s := w.open(t)
	const missing = "error: loading org rules: no bundle was ever good"
	for range 2 {
		wantReasons(t, s, "dd", "base ask base", missing, "org deny local")
		wantReasons(t, s, "rm", "base ask base", missing)
		st := s.Status()
		if l := layerStatus(t, s, decisions.Org); l.State != StateDegraded || l.Digest != "" || !strings.Contains(st.Summary(), "no bundle was ever good") ||
			!strings.HasSuffix(st.Summary(), "and every call asks") {
			t.Errorf("%+v: %s", l, st.Summary())
		}
		if _, err := s.reload(t.Context(), loadOptions{}); err == nil {
			t.Error("a reload finds nothing wrong")
		}
	}
	if err := s.Deliver(t.Context(), delivered("broken.rego", "package"), nil); err == nil {
		t.Error("broken rules were delivered")
	}
	wantReasons(t, s, "rm", "base ask base", missing)
	if err := s.Deliver(t.Context(), delivered("b.rego", rulesFor("org", "deny", "mv", "first")), nil); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "rm", "base ask base", "user allow mine")
	if l := layerStatus(t, s, decisions.Org); l.State != StateOK || l.Digest == "" {
		t.Errorf("%+v", l)
	}
}

// TestOpenDelivered: a bundle that was kept and does not compile any more is as none.
func TestOpenDelivered(t *testing.T) {
	w := newWorld(t)
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", "package permd.org\nnonsense")}
	s := w.open(t)
	got := reasons(t, s, "", "rm")
	if len(got) != 2 || !strings.Contains(got[1], "the bundle that was kept cannot be used: loading org rules: bundle: a.rego") {
		t.Errorf("%q", got)
	}
	put(t, w.org, "local.rego", "package permd.org\nnonsense")
	policytest.Age(t, w.root)
	if _, err := Open(context.Background(), w.opts); err == nil {
		t.Error("the folder's own files are broken, and nobody says so")
	}
}

// TestDeliverBrokenFolder: files of the folder that are broken now, and a folder that was never
// there, keep no bundle from being used; what the folder held stays.
func TestDeliverBrokenFolder(t *testing.T) {
	w := newWorld(t)
	put(t, w.org, "local.rego", rulesFor("org", "deny", "dd", "local"))
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s := w.open(t)
	put(t, w.org, "local.rego", "package permd.org\nnonsense")
	policytest.Age(t, w.root)
	if _, err := s.reload(t.Context(), loadOptions{}); err == nil {
		t.Fatal("broken files are not noticed")
	}
	if err := s.Deliver(t.Context(), delivered("b.rego", rulesFor("org", "deny", "mv", "second")), nil); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "mv", "base ask base", "org deny second")
	wantReasons(t, s, "dd", "base ask base", "org deny local")
	if l := layerStatus(t, s, decisions.Org); l.State != StateDegraded {
		t.Errorf("%+v", l)
	}

	w = newWorld(t)
	w.opts.OrgDir = filepath.Join(w.root, "none")
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s = w.open(t)
	if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
		t.Error(err)
	}
	wantReasons(t, s, "rm", "base ask base", "org deny first")
}

// TestDeliverHeld: where changed files wait, a bundle does not wait, and puts nothing else in use.
func TestDeliverHeld(t *testing.T) {
	w := newWorld(t)
	w.opts.Switches = func() (Switches, error) { return Switches{Reload: settings.ReloadManual}, nil }
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	put(t, w.user, "mine.rego", "package permd.user\n")
	s := w.open(t)
	put(t, w.user, "mine.rego", rulesFor("user", "allow", "ls", "mine"))
	policytest.Age(t, w.root)
	if _, err := s.reload(t.Context(), loadOptions{}); err != nil || s.Status().Waiting == nil {
		t.Fatalf("%v, %+v", err, s.Status().Waiting)
	}
	if err := s.Deliver(t.Context(), delivered("b.rego", rulesFor("org", "deny", "mv", "second")), nil); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "mv", "base ask base", "org deny second")
	wantReasons(t, s, "ls", "base ask base")
	if s.Status().Waiting == nil {
		t.Error("nothing waits any more")
	}
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantReasons(t, s, "ls", "base ask base", "user allow mine")
	wantReasons(t, s, "mv", "base ask base", "org deny second")
}

// TestDeliverPrograms: a person's rules are read by the descriptions of programs that a bundle has.
func TestDeliverPrograms(t *testing.T) {
	w := newWorld(t)
	put(t, w.user, "rules.yaml", "allow:\n  run:\n    - frob show\n")
	w.opts.Delivered = &Delivered{Files: delivered("a.rego", rulesFor("org", "deny", "rm", "first"))}
	s := w.open(t)
	before, _ := s.Snapshot(s.opts.UID, "")
	const text = "programs: [{names: [frob], sub: [{names: [show], readonly: true}]}]"
	if err := s.Deliver(t.Context(), delivered("a.rego", rulesFor("org", "deny", "rm", "first"), "programs/frob.yaml", text), nil); err != nil {
		t.Fatal(err)
	}
	after, _ := s.Snapshot(s.opts.UID, "")
	if before.Digest() == after.Digest() || before.Table() == after.Table() {
		t.Error("the table is the same")
	}
}
