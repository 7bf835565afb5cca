package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
)

func TestOpen(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.org, map[string]string{"a.rego": rulesFor("org", "deny", "rm", "org")})
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "allow", "rm", "user"), "rules.yaml": "allow:\n  run: [\"make lint\"]\n"})
	s := w.open(t)
	want := []string{"org deny org", "user allow user", "base ask base"}
	if diff := cmp.Diff(want, reasons(t, s, "", "rm")); diff != "" {
		t.Error(diff)
	}
	for layer, rules := range map[decisions.Layer]int{decisions.Org: 1, decisions.Base: 1} {
		l := layerStatus(t, s, layer)
		if l.State != StateOK || l.Rules() != rules || l.Digest == "" || l.Since.IsZero() {
			t.Errorf("status of %s: %+v", layer, l)
		}
	}
	if l := layerStatus(t, s, decisions.User); l.Files != 2 || l.Rules() < 2 {
		t.Errorf("status of user: %+v", l)
	}
	snap, err := s.Snapshot(s.opts.UID+1, "") // a person's daemon uses that person's rules for all
	if err != nil || snap.Table() == nil || snap.Profiles() == nil || snap.Digest() == "" || snap.Trusted() || snap.OnFailure() != decisions.Ask {
		t.Errorf("snapshot %+v, %v", snap, err)
	}
}

func TestOpenFails(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, w *world)
		want string
	}{
		{"broken org rules", func(t *testing.T, w *world) {
			policytest.Write(t, w.org, map[string]string{"a.rego": "package permd.org\ndeny if"})
		}, "a.rego:2"},
		{"failing org test", func(t *testing.T, w *world) {
			policytest.Write(t, w.org, map[string]string{"a_test.rego": "package permd.org\ntest_x if 1 == 2"})
		}, "a_test.rego:2: test test_x"},
		{"org folder that everybody can write", func(t *testing.T, w *world) { policytest.Chmod(t, w.org, 0o777) }, "can be written by everybody"},
		{"org folder that is not root's", func(t *testing.T, w *world) { w.opts.OrgOwners = []uint32{4242} }, "belongs to uid"},
		{"settings", func(t *testing.T, w *world) {
			w.opts.Switches = func() (Switches, error) { return Switches{}, errors.New("permd.toml: bad") }
		}, "permd.toml: bad"},
		{"schema", func(t *testing.T, w *world) { w.opts.Schema = []byte(`{}`) }, "schema"},
		{"programs", func(t *testing.T, w *world) {
			w.opts.Table, w.opts.Programs = nil, map[string][]byte{"a.yaml": []byte("programs: [")}
		}, "reading the program table"},
		{"base", func(t *testing.T, w *world) { w.opts.Base = map[string][]byte{"base/x.rego": []byte("package x")} }, "base/x.rego:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.make(t, w)
			policytest.Age(t, w.root)
			if _, err := Open(t.Context(), w.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// User rules that have never been good: the daemon starts, denies of other layers
// still count, and nothing is allowed.
func TestOpenBrokenUser(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.org, map[string]string{"a.rego": rulesFor("org", "deny", "rm", "org") + "allow contains \"all\" if input.effect.kind == \"run\"\n"})
	policytest.Write(t, w.user, map[string]string{"a.rego": "package permd.org\nallow contains \"x\" if true\n"})
	s := w.open(t)
	got := reasons(t, s, "", "rm")
	if len(got) != 3 || got[0] != "org deny org" || got[1] != "base ask base" || !strings.Contains(got[2], "a.rego:1") {
		t.Errorf("got %q", got)
	}
	if l := layerStatus(t, s, decisions.User); l.State != StateDegraded || !strings.Contains(l.Error, "must be in package permd.user") || !s.Status().Degraded() {
		t.Errorf("status %+v", l)
	}
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "ask", "rm", "user")})
	if changed, err := s.Reload(t.Context()); !changed || err != nil {
		t.Errorf("reload: %v, %v", changed, err)
	}
	if diff := cmp.Diff([]string{"org deny org", "org allow all", "user ask user", "base ask base"}, reasons(t, s, "", "rm")); diff != "" {
		t.Error(diff)
	}
}

// Rules are good, broken in all ways, and good again. The last good ones stay in
// use, and the status says so.
func TestReloadSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.opts.now = func() time.Time { return now }
	w.delays.quiet, w.delays.reloadEmpty = time.Millisecond, time.Millisecond
	var told []Status
	w.opts.OnChange = func(s Status) { told = append(told, s) }
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "one")})
	s := w.open(t)
	steps := []struct {
		name    string
		do      func()
		changed bool
		err     string
		deny    string
		state   State
	}{
		{"nothing", func() {}, false, "", "one", StateOK},
		{"touched", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "one")})
		}, false, "", "one", StateOK},
		{"changed", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "two")})
		}, true, "", "two", StateOK},
		{"broken", func() { policytest.Write(t, w.user, map[string]string{"a.rego": "package permd.user\ndeny {"}) }, false, "a.rego:2", "two", StateDegraded},
		{"still broken", func() {}, false, "a.rego:2", "two", StateDegraded},
		{"broken otherwise", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "x") + "deny if true\n"})
		}, false, "a.rego:4", "two", StateDegraded},
		{"back", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "two")})
		}, false, "", "two", StateOK},
		{"failing test", func() {
			policytest.Write(t, w.user, map[string]string{"b_test.rego": "package permd.user\nimport rego.v2\ntest_two if \"three\" in deny with input as {\"effect\": {\"program\": \"rm\"}}\n"})
		}, false, "b_test.rego:3: test test_two", "two", StateDegraded},
		{"passing test", func() {
			policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "three")})
		}, true, "", "three", StateOK},
		{"writable by everybody", func() { policytest.Chmod(t, w.user, 0o777) }, false, "everybody", "three", StateDegraded},
		{"safe again", func() { policytest.Chmod(t, w.user, 0o755) }, false, "", "three", StateOK},
		{"gone", func() { rename(t, w.user, w.user+".off") }, false, "is gone", "three", StateDegraded},
		{"there again", func() { rename(t, w.user+".off", w.user) }, false, "", "three", StateOK},
		{"emptied", func() { remove(t, w.user, "a.rego", "b_test.rego") }, true, "", "", StateAbsent},
	}
	for _, step := range steps {
		now = now.Add(time.Minute)
		before := layerStatus(t, s, decisions.User).State
		count := len(told)
		step.do()
		policytest.Age(t, w.root)
		changed, err := s.Reload(t.Context())
		if changed != step.changed {
			t.Errorf("%s: changed %v", step.name, changed)
		}
		if step.err == "" && err != nil || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("%s: error %v, want %q", step.name, err, step.err)
		}
		want := []string{"base ask base"}
		if step.deny != "" {
			want = []string{"user deny " + step.deny, "base ask base"}
		}
		if diff := cmp.Diff(want, reasons(t, s, "", "rm")); diff != "" {
			t.Errorf("%s:\n%s", step.name, diff)
		}
		l := layerStatus(t, s, decisions.User)
		if l.State != step.state || (l.Error != "") != (step.state == StateDegraded) {
			t.Errorf("%s: status %+v", step.name, l)
		}
		if (before != l.State) != l.Since.Equal(now) {
			t.Errorf("%s: since %v at %v", step.name, l.Since, now)
		}
		if quiet := before == l.State && !changed && step.name != "broken otherwise"; quiet != (len(told) == count) {
			t.Errorf("%s: told %d times", step.name, len(told)-count)
		}
	}
}

func TestReloadSettings(t *testing.T) {
	w := newWorld(t)
	w.opts.Base["base/base.rego"] = []byte("package permd.base\nimport rego.v2\n# METADATA\n# custom:\n#   id: b\nask contains \"base\" if input.effect.kind == \"run\"\n")
	var set Switches
	var bad error
	w.opts.Switches = func() (Switches, error) { return set, bad }
	s := w.open(t)
	digest := func() string {
		snap, err := s.Snapshot(s.opts.UID, "")
		if err != nil {
			t.Fatal(err)
		}
		return snap.Digest()
	}
	first := digest()
	set = Switches{OnlyOrg: true, DenyOnFailure: true, Disable: []string{"b", "none"}}
	if changed, err := s.Reload(t.Context()); !changed || err != nil || digest() == first {
		t.Errorf("reload: %v, %v", changed, err)
	}
	if got := reasons(t, s, "", "rm"); got != nil {
		t.Errorf("a disabled rule fired: %q", got)
	}
	snap, err := s.Snapshot(s.opts.UID, "")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := snap.Evaluate(t.Context(), inputtest.Of(inputtest.Run("x"))); err != nil || !f.OnlyOrg || snap.OnFailure() != decisions.Deny {
		t.Errorf("only org: %+v, %v", f, err)
	}
	if l := layerStatus(t, s, decisions.Base); len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Text, `"none"`) {
		t.Errorf("warnings %v", l.Warnings)
	}
	bad, set = errors.New("permd.toml:3: unknown key"), Switches{}
	if changed, err := s.Reload(t.Context()); changed || err == nil || !s.Status().Degraded() {
		t.Errorf("broken settings: %v, %v, %+v", changed, err, s.Status())
	}
}

func TestProjects(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, filepath.Dir(w.project), map[string]string{".permd/rules.yaml": "deny:\n  run: [\"make deploy *\"]\n"})
	policytest.Write(t, w.project, map[string]string{
		".permd/rules.yaml": "allow:\n  run: [\"make lint\"]\nask:\n  run: [\"make lint\"]\n",
		".permd/a.rego":     rulesFor("project", "allow", "make", "rego of an untrusted project"),
		".permd/b.rego":     "package broken",
	})
	s := w.open(t)
	if _, err := s.Snapshot(s.opts.UID, w.project); !errors.Is(err, errNotReady) {
		t.Errorf("before Prepare: %v", err)
	}
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	l := layerStatus(t, s, decisions.Project)
	if l.Allow != 0 || l.Ask == 0 || l.Deny == 0 || l.Project != w.project || l.Files != 2 {
		t.Errorf("status %+v", l)
	}
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny: nonsense\n"})
	if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "rules.yaml") {
		t.Errorf("reload: %v", err)
	}
	if l := layerStatus(t, s, decisions.Project); l.State != StateDegraded || l.Deny == 0 {
		t.Errorf("status %+v", l)
	}
	other := filepath.Join(filepath.Dir(w.project), "q")
	policytest.Write(t, other, map[string]string{".permd/rules.yaml": "deny: nonsense\n"})
	if err := s.Prepare(t.Context(), s.opts.UID, other); err == nil {
		t.Error("a broken project was prepared without an error")
	}
	if got := reasons(t, s, other, "x"); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "error: ") {
		t.Errorf("a project whose denies are not known: %q", got)
	}
	if err := s.Prepare(t.Context(), s.opts.UID, "relative"); err == nil {
		t.Error("a relative root was prepared")
	}
}

// At most 64 projects are kept, the most recently used ones. What is only looked at is not used.
func TestProjectsEvicted(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	first, second := filepath.Join(w.project, "0"), filepath.Join(w.project, "1")
	for i := range maxProjects + 1 {
		if err := s.Prepare(t.Context(), s.opts.UID, filepath.Join(w.project, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Snapshot(s.opts.UID, first); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		if _, err := s.Loaded(s.opts.UID, second); (err != nil) != (i == 0 || i == maxProjects) {
			t.Errorf("looked at after %d: %v", i, err)
		}
	}
	if _, err := s.Snapshot(s.opts.UID, second); !errors.Is(err, errNotReady) {
		t.Errorf("the project that nobody asked for: %v", err)
	}
}

func TestSystemUsers(t *testing.T) {
	w := newWorld(t)
	w.opts.System = true
	me := w.opts.UID
	w.opts.UserDir = func(uid uint32) (string, error) {
		if uid != me {
			return "", errors.New("no such user")
		}
		return w.user, nil
	}
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "user")})
	s := w.open(t)
	if _, err := s.Snapshot(me, ""); !errors.Is(err, errNotReady) {
		t.Errorf("before Prepare: %v", err)
	}
	if err := s.Prepare(t.Context(), me, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"user deny user", "base ask base"}, reasons(t, s, "", "rm")); diff != "" {
		t.Error(diff)
	}
	if err := s.Prepare(t.Context(), me+1, ""); err == nil || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("a user without a folder: %v", err)
	}
	snap, err := s.Snapshot(me+1, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snap.Evaluate(t.Context(), inputtest.Of(inputtest.Run("x"))); err == nil {
		t.Error("a user whose rules are not known has no error")
	}
}

// Evaluating while reloading uses one whole set of rules or the other.
func TestReloadRace(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reloads for seconds under load")
	}
	w := newWorld(t)
	text := func(i int) map[string]string {
		a := rulesFor("user", "deny", "rm", fmt.Sprint(i))
		return map[string]string{"a.rego": a, "b.rego": strings.Replace(a, `contains "`, `contains "also `, 1)}
	}
	policytest.Write(t, w.user, text(0))
	s := w.open(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				got := reasons(t, s, "", "rm")
				if len(got) != 3 || "user deny also "+strings.TrimPrefix(got[0], "user deny ") != got[1] {
					t.Errorf("half a reload: %q", got)
					return
				}
			}
		})
	}
	for i := range testload.Rounds(t, "", 8, 20) {
		policytest.Write(t, w.user, text(i+1))
		if changed, err := s.Reload(ctx); err != nil || !changed {
			t.Errorf("reload %d: %v, %v", i, changed, err)
		}
	}
	stop()
	wg.Wait()
}
