package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/policy/policytest"
)

// watched opens a store and watches until the test ends, for events alone.
func (w *world) watched(t *testing.T) *Store {
	t.Helper()
	w.delays.poll = time.Hour
	// A slow machine takes seconds for a thousand folders, and what it gave up would be found
	// by polling.
	w.delays.folders = eventually.Limit
	s := w.open(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Watch(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

// soon waits until a condition holds. In a watched store it was found by an event.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	eventually.Holds(t, what, holds)
}

// serves waits until a user deny of rm has that reason and the layer has no error.
func serves(t *testing.T, s *Store, what, reason string) {
	t.Helper()
	soon(t, what, func() bool {
		got := reasons(t, s, "", "rm")
		return slices.Contains(got, "user deny "+reason) && userLayer(s).State == StateOK
	})
}

// unwell waits until it is seen that the first user's rules are missing or wrong.
func unwell(t *testing.T, s *Store) {
	t.Helper()
	soon(t, "the change is seen", func() bool { return userLayer(s).State != StateOK })
}

// userLayer returns the status of the first user's rules.
func userLayer(s *Store) LayerStatus {
	layers := s.Status().Layers
	return layers[slices.IndexFunc(layers, func(l LayerStatus) bool { return l.Layer == "user" })]
}

// denies checks that a deny of rm is never missing while f runs: no way of saving a
// file may lose it.
func denies(t *testing.T, s *Store, do func()) {
	t.Helper()
	if missing := watchDenies(t, s, do); missing != "" {
		t.Error(missing)
	}
}

// watchDenies returns when the deny was missing, "" if it never was.
func watchDenies(t *testing.T, s *Store, do func()) (missing string) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for missing == "" {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
			}
			if got := reasons(t, s, "", "rm"); len(got) == 0 || !strings.HasPrefix(got[0], "user deny ") {
				missing = fmt.Sprintf("no deny: %q", got)
			}
		}
	}()
	do()
	close(stop)
	<-done
	return missing
}

// pauses waits for less time than the quiet period, unless the machine stalls.
type pauses struct {
	store   *Store // that is watched meanwhile
	longest time.Duration
}

func (p *pauses) pause(begun time.Time) time.Time {
	time.Sleep(quietPeriod / 4)
	p.longest = max(p.longest, time.Since(begun))
	return time.Now()
}

// stalled reports whether a pause became as long as the one at the end of a change.
func (p *pauses) stalled() bool { return p.longest >= quietPeriod*3/4 }

// TestSave has the ways in which programs save a file. Each replaces the reason
// "old" by "new", and at any time one of them must be in use.
func TestSave(t *testing.T) {
	t.Parallel()
	put := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	const name = "a.rego"
	tests := []struct {
		name string
		save func(t *testing.T, dir, text string, p *pauses)
	}{
		{"empty it and write", func(t *testing.T, dir, text string, p *pauses) { put(t, filepath.Join(dir, name), text) }},
		{"empty it and write, slowly", func(t *testing.T, dir, text string, p *pauses) {
			f, err := os.Create(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			last := time.Now()
			for line := range strings.Lines(text) {
				last = p.pause(last)
				if _, err := f.WriteString(line); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"empty it, and write much later", func(t *testing.T, dir, text string, p *pauses) {
			put(t, filepath.Join(dir, name), "")
			unwell(t, p.store)
			put(t, filepath.Join(dir, name), text)
		}},
		{"write another and rename it", func(t *testing.T, dir, text string, p *pauses) {
			put(t, filepath.Join(dir, ".a.rego.tmp1"), text)
			rename(t, filepath.Join(dir, ".a.rego.tmp1"), filepath.Join(dir, name))
		}},
		{"write another elsewhere and rename it", func(t *testing.T, dir, text string, p *pauses) {
			other := filepath.Join(filepath.Dir(dir), "new")
			put(t, other, text)
			if err := os.Chtimes(other, time.Unix(1, 0), time.Unix(1, 0)); err != nil { // as cp -p and rsync do
				t.Fatal(err)
			}
			rename(t, other, filepath.Join(dir, name))
		}},
		{"vim", func(t *testing.T, dir, text string, p *pauses) {
			put(t, filepath.Join(dir, ".a.rego.swp"), "b0VIM")
			put(t, filepath.Join(dir, "4913"), "") // may it make files here?
			gone(t, filepath.Join(dir, "4913"))
			begun := time.Now()
			rename(t, filepath.Join(dir, name), filepath.Join(dir, name+"~"))
			p.pause(begun)
			put(t, filepath.Join(dir, name), text)
			gone(t, filepath.Join(dir, name+"~"))
			gone(t, filepath.Join(dir, ".a.rego.swp"))
		}},
		{"emacs", func(t *testing.T, dir, text string, p *pauses) {
			policytest.Link(t, "me@here.4242:1", filepath.Join(dir, ".#a.rego")) // its lock is a link to nothing
			put(t, filepath.Join(dir, "#a.rego#"), "package half")               // what is not saved yet
			p.pause(time.Now())
			put(t, filepath.Join(dir, name+"~"), "package permd.user")
			put(t, filepath.Join(dir, name), text)
			gone(t, filepath.Join(dir, "#a.rego#"))
			gone(t, filepath.Join(dir, ".#a.rego"))
		}},
		{"remove it and write", func(t *testing.T, dir, text string, p *pauses) { // git, install
			begun := time.Now()
			gone(t, filepath.Join(dir, name))
			p.pause(begun)
			put(t, filepath.Join(dir, name), text)
		}},
		{"break it and correct it", func(t *testing.T, dir, text string, p *pauses) {
			put(t, filepath.Join(dir, name), text[:len(text)/2])
			unwell(t, p.store)
			put(t, filepath.Join(dir, name), text)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorldIn(t, filetest.MemoryDir(t))
			policytest.Write(t, w.user, map[string]string{name: rulesFor("user", "deny", "rm", "old")})
			s := w.watched(t)
			p := pauses{store: s}
			missing := watchDenies(t, s, func() {
				tt.save(t, w.user, rulesFor("user", "deny", "rm", "new"), &p)
				serves(t, s, tt.name, "new")
			})
			switch {
			case missing != "" && p.stalled():
				t.Logf("the machine stalled for %v: %s", p.longest, missing)
			case missing != "":
				t.Error(missing)
			}
			tt.save(t, w.user, rulesFor("user", "deny", "rm", "newer"), &p)
			serves(t, s, tt.name+" again", "newer")
		})
	}
}

// TestBlank: a file without rules is no error.
func TestBlank(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "a line": "\n", "comments": "# one\n\n  # two", "a package": "package permd.user\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			files := map[string]string{"a.rego": text, "a_test.rego": text, "b.rego": rulesFor("user", "deny", "rm", "b")}
			if name != "a package" {
				files["rules.yaml"] = text
			}
			policytest.Write(t, w.user, files)
			s := w.open(t)
			if l := userLayer(s); l.State != StateOK || l.Files != len(files) || l.Rules() != 1 {
				t.Errorf("status %+v", l)
			}
			remove(t, w.user, "b.rego")
			if _, err := s.Reload(t.Context()); err != nil {
				t.Error(err)
			}
			if l := userLayer(s); l.State != StateOK || l.Rules() != 0 {
				t.Errorf("status without any rule %+v", l)
			}
		})
	}
}
