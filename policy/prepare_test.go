package policy

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/source"
)

// TestPrepareAgain declares sessions whose rules have not changed, for which no folder is
// read, and changes files in every way: the next session has the new deny.
func TestPrepareAgain(t *testing.T) {
	t.Parallel()
	deny := func(program string) string { return rulesFor("user", "deny", program, "no more") }
	list := "deny:\n  run: [ls]\n"
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, w *world)
		want   string
	}{
		{"a file is written", func(t *testing.T, w *world) {
			policytest.Write(t, w.user, map[string]string{"a.rego": deny("ls")})
		}, "user deny no more"},
		{"with the same size and time", func(t *testing.T, w *world) {
			file := filepath.Join(w.user, "a.rego")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			policytest.Write(t, w.user, map[string]string{"a.rego": deny("ls")})
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "user deny no more"},
		{"a file is added", func(t *testing.T, w *world) {
			policytest.Write(t, w.user, map[string]string{"b.rego": deny("ls")})
		}, "user deny no more"},
		{"in a folder below", func(t *testing.T, w *world) {
			policytest.Write(t, w.user, map[string]string{"sub/c.rego": deny("ls")})
		}, "user deny no more"},
		{"another takes its place", func(t *testing.T, w *world) {
			policytest.Write(t, w.root, map[string]string{"new.rego": deny("ls")})
			rename(t, filepath.Join(w.root, "new.rego"), filepath.Join(w.user, "a.rego"))
		}, "user deny no more"},
		{"another folder takes its place", func(t *testing.T, w *world) {
			policytest.Write(t, w.root, map[string]string{"new/a.rego": deny("ls"), "new/sub/c.rego": "# nothing\n"})
			rename(t, w.user, w.user+".old")
			rename(t, filepath.Join(w.root, "new"), w.user)
		}, "user deny no more"},
		{"everybody may write it", func(t *testing.T, w *world) {
			if err := os.Chmod(filepath.Join(w.user, "a.rego"), 0o666); err != nil {
				t.Fatal(err)
			}
		}, "degraded"},
		{"everybody may replace the folder", func(t *testing.T, w *world) {
			if err := os.Chmod(filepath.Dir(w.user), 0o777); err != nil {
				t.Fatal(err)
			}
		}, "degraded"},
		{"the project gets a list", func(t *testing.T, w *world) {
			policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": list})
		}, "project deny listed under deny run by the project"},
		{"a folder above it gets a list", func(t *testing.T, w *world) {
			policytest.Write(t, filepath.Dir(w.project), map[string]string{".permd/rules.yaml": list})
		}, "project deny listed under deny run by the project"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			policytest.Write(t, w.user, map[string]string{"a.rego": deny("rm"), "sub/c.rego": "# nothing\n"})
			w.opts.Files = mounts.New()
			var read atomic.Int64
			w.opts.readDir = func(dir string, rules source.Access) (*source.Tree, error) {
				read.Add(1)
				return source.Read(dir, rules)
			}
			s := w.open(t)
			prepare := func() int64 {
				before := read.Load()
				_ = s.Prepare(t.Context(), s.opts.UID, w.project) // it is in the status
				return read.Load() - before
			}
			if prepare() == 0 {
				t.Fatal("a session that is the first one reads no folder")
			}
			eventually.Holds(t, "a session for which nothing is read", func() bool { return prepare() == 0 })
			if got := reasons(t, s, w.project, "rm"); !slices.Contains(got, "user deny no more") {
				t.Fatalf("before: %q", got)
			}
			tt.change(t, w)
			if prepare() == 0 {
				t.Error("nothing was read after the change")
			}
			got := append(reasons(t, s, w.project, "ls"), string(layerStatus(t, s, "user").State))
			if !slices.Contains(got, tt.want) {
				t.Errorf("after it: %q, want %q", got, tt.want)
			}
		})
	}
}
