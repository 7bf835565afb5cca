package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/policytest"
)

// TestFolders changes folders of rules step by step. An event must report each
// step, and a later change in the new folder too.
func TestFolders(t *testing.T) {
	t.Parallel()
	deny := func(reason string) string { return rulesFor("user", "deny", "rm", reason) }
	move := rename
	drop := func(t *testing.T, dir string) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	type step struct {
		name string
		do   func(t *testing.T, s *Store, user string)
		file string // where the rule with the step's name is then
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"sub-folders", []step{
			{"made with a file in it at once", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, user, map[string]string{"sub/a.rego": deny("made with a file in it at once")})
				remove(t, user, "a.rego")
			}, "sub/a.rego"},
			{"made deep at once", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, user, map[string]string{"x/y/z/a.rego": deny("made deep at once")})
				drop(t, filepath.Join(user, "sub"))
			}, "x/y/z/a.rego"},
			{"moved in from elsewhere", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, filepath.Dir(user), map[string]string{"new/in/a.rego": deny("moved in from elsewhere")})
				move(t, filepath.Join(filepath.Dir(user), "new"), filepath.Join(user, "moved"))
				drop(t, filepath.Join(user, "x"))
			}, "moved/in/a.rego"},
			{"renamed", func(t *testing.T, s *Store, user string) {
				move(t, filepath.Join(user, "moved"), filepath.Join(user, "renamed"))
				policytest.Write(t, user, map[string]string{"renamed/in/a.rego": deny("renamed")})
			}, "renamed/in/a.rego"},
			{"made again", func(t *testing.T, s *Store, user string) {
				drop(t, filepath.Join(user, "renamed/in"))
				policytest.Write(t, user, map[string]string{"renamed/in/a.rego": deny("made again")})
			}, "renamed/in/a.rego"},
		}},
		{"the folder", []step{
			{"moved away, a new one moved in", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, user+".new", map[string]string{"a.rego": deny("moved away, a new one moved in")})
				move(t, user, user+".off")
				move(t, user+".new", user)
			}, "a.rego"},
			{"moved away, a new one moved in later", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, user+".new", map[string]string{"a.rego": deny("moved away, a new one moved in later")})
				drop(t, user+".off")
				move(t, user, user+".off")
				unwell(t, s)
				move(t, user+".new", user)
			}, "a.rego"},
			{"removed and made again", func(t *testing.T, s *Store, user string) {
				drop(t, user)
				policytest.Write(t, user, map[string]string{"a.rego": deny("removed and made again")})
			}, "a.rego"},
			{"removed and made again later", func(t *testing.T, s *Store, user string) {
				drop(t, user)
				unwell(t, s)
				policytest.Write(t, user, map[string]string{"a.rego": deny("removed and made again later")})
			}, "a.rego"},
			{"its parent moved away, a new one moved in", func(t *testing.T, s *Store, user string) {
				up := filepath.Dir(user)
				policytest.Write(t, up+".new", map[string]string{"policy.d/a.rego": deny("its parent moved away, a new one moved in")})
				move(t, up, up+".off")
				move(t, up+".new", up)
			}, "a.rego"},
			{"its parent removed and made again", func(t *testing.T, s *Store, user string) {
				drop(t, filepath.Dir(user))
				unwell(t, s)
				policytest.Write(t, user, map[string]string{"a.rego": deny("its parent removed and made again")})
			}, "a.rego"},
			{"its parent's parent moved away, a new one moved in", func(t *testing.T, s *Store, user string) {
				up := filepath.Dir(filepath.Dir(user))
				policytest.Write(t, up+".new", map[string]string{"permd/policy.d/a.rego": deny("its parent's parent moved away, a new one moved in")})
				move(t, up, up+".off")
				unwell(t, s)
				move(t, up+".new", up)
			}, "a.rego"},
		}},
		{"links", []step{
			{"a link in the folder's place", func(t *testing.T, s *Store, user string) {
				real := filepath.Join(filepath.Dir(user), "dotfiles", "policy.d")
				policytest.Write(t, real, map[string]string{"a.rego": deny("a link in the folder's place")})
				move(t, user, user+".off")
				policytest.Link(t, "dotfiles/policy.d", user)
			}, "a.rego"},
			{"where the link leads, another moved in", func(t *testing.T, s *Store, user string) {
				real := filepath.Join(filepath.Dir(user), "dotfiles", "policy.d")
				policytest.Write(t, real+".new", map[string]string{"a.rego": deny("where the link leads, another moved in")})
				move(t, real, real+".off")
				unwell(t, s)
				move(t, real+".new", real)
			}, "a.rego"},
			{"the link leads elsewhere", func(t *testing.T, s *Store, user string) {
				policytest.Write(t, filepath.Dir(user), map[string]string{"other/a.rego": deny("the link leads elsewhere")})
				policytest.Link(t, "other", user+".tmp")
				move(t, user+".tmp", user)
			}, "a.rego"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(tt.steps) > 5 {
				t.Skip("long: it waits for events after each of many steps")
			}
			w := newWorld(t)
			policytest.Write(t, w.user, map[string]string{"a.rego": deny("first")})
			w.delays.empty, w.delays.reloadEmpty = time.Hour, time.Millisecond
			s := w.watched(t)
			denies(t, s, func() {
				for _, step := range tt.steps {
					step.do(t, s, w.user)
					confirmed(t, s, step.name, step.name)
					policytest.Write(t, w.user, map[string]string{step.file: deny("then changed")})
					serves(t, s, "a change after: "+step.name, "then changed")
				}
			})
		})
	}
}

// confirmed waits until events alone have reported a rule, and what was removed. A person
// confirms the removal then, so that files are not read again later without an event.
func confirmed(t *testing.T, s *Store, what, reason string) {
	t.Helper()
	soon(t, what, func() bool {
		l := userLayer(s)
		return slices.Contains(reasons(t, s, "", "rm"), "user deny "+reason) && (l.State == StateOK || l.Removed)
	})
	if userLayer(s).Removed {
		_, _ = s.Reload(t.Context()) // what is wrong is in the status
	}
	serves(t, s, what, reason)
}

// TestFolderComesLater: neither the folder nor its parent exists at first.
func TestFolderComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := filepath.Dir(filepath.Dir(filepath.Dir(w.user)))
	for dir := w.user; dir != home; dir = filepath.Dir(dir) {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	s := w.watched(t)
	if l := userLayer(s); l.State != StateAbsent {
		t.Fatalf("status %+v", l)
	}
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "first")})
	serves(t, s, "made at once", "first")
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "second")})
	serves(t, s, "changed", "second")
}

// configMap writes a generation of files into a folder as Kubernetes updates a
// mounted ConfigMap: all at once, by replacing the link ..data.
func configMap(t *testing.T, dir, generation string, files map[string]string) {
	t.Helper()
	policytest.Write(t, filepath.Join(dir, "..gen_"+generation), files)
	policytest.Link(t, "..gen_"+generation, filepath.Join(dir, "..data_tmp"))
	rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		if _, err := os.Lstat(filepath.Join(dir, top)); err != nil {
			policytest.Link(t, "..data/"+top, filepath.Join(dir, top))
		}
	}
}

// TestConfigMapSwap: the files themselves are links that never change.
func TestConfigMapSwap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := func(reason string) map[string]string {
		return map[string]string{
			"a.rego":     "package permd.user\nimport rego.v2\ndeny contains reason if input.effect.program == \"rm\"\n",
			"sub/b.rego": "package permd.user\nimport rego.v2\nreason := \"" + reason + "\"\n",
		}
	}
	configMap(t, w.user, "1", files("1"))
	s := w.watched(t)
	denies(t, s, func() {
		old := ""
		for _, generation := range []string{"2", "3", "4"} {
			configMap(t, w.user, generation, files(generation))
			if old != "" { // the former one is removed
				if err := os.RemoveAll(filepath.Join(w.user, "..gen_"+old)); err != nil {
					t.Fatal(err)
				}
			}
			old = generation
			serves(t, s, "swapped", generation)
		}
		broken := files("5")
		broken["sub/b.rego"] = "package permd.user\nreason := }\n"
		configMap(t, w.user, "5", broken)
		soon(t, "broken", func() bool { return strings.Contains(userLayer(s).Error, "sub/b.rego:2: ") })
		configMap(t, w.user, "6", files("6"))
		serves(t, s, "good again", "6")
	})
}

// TestRepair: if the mistake is in a sub-folder, its correction is found at once,
// even if reading the folders stopped at the mistake.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "old")})
	s := w.watched(t)
	policytest.Write(t, w.user, map[string]string{"sub/deep/b.rego": rulesFor("user", "ask", "rm", "sub")})
	policytest.Chmod(t, filepath.Join(w.user, "sub/deep/b.rego"), 0o666)
	soon(t, "writable by everybody", func() bool { return strings.Contains(userLayer(s).Error, "can be written by everybody") })
	policytest.Chmod(t, filepath.Join(w.user, "sub/deep/b.rego"), 0o644)
	soon(t, "repaired", func() bool { return slices.Contains(reasons(t, s, "", "rm"), "user ask sub") })
}

// TestProjectWatched: a project's list is created, changed and deleted.
func TestProjectWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.delays.empty = quietPeriod // files that are removed are waited for no longer
	s := w.watched(t)
	if err := s.Prepare(t.Context(), w.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	fires := func(what string, want int) {
		t.Helper()
		soon(t, what, func() bool {
			n := 0
			for _, r := range reasons(t, s, w.project, "rm") {
				if strings.HasPrefix(r, "project deny ") {
					n++
				}
			}
			return n == want && layerStatus(t, s, decisions.Project).State != StateDegraded
		})
	}
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [\"rm\"]\n"})
	fires("made with its folder", 1)
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [\"mv\"]\n"})
	fires("changed", 0)
	policytest.Write(t, w.project, map[string]string{".permd/rules.yaml": "deny:\n  run: [\"rm\", \"mv\"]\n"})
	fires("changed back", 1)
	rename(t, filepath.Join(w.project, ".permd"), filepath.Join(w.project, ".off"))
	fires("gone", 0)
}
