package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestPlaceFailures is [TestFailures] for files that somebody takes away.
func TestPlaceFailures(t *testing.T) {
	failures(t, []failure{
		{"data folder moved away, or another in its place", dataMoved},
		{"memory deleted or replaced", memoryDeleted},
		{"memory deleted or emptied while permd runs", memoryTaken},
		{"rule file deleted", rulesDeleted},
	})
}

// dataMoved: however the data folder is taken away from a running daemon, nothing that
// was remembered allows any more, what was rejected is denied, no choice is stored where
// nobody finds it, and all of that is said. Once it is back, all is as before. A daemon that
// is started without it asks about everything until a person has looked.
func dataMoved(t *testing.T) {
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	type harm struct {
		name       string
		harm, undo func(t *testing.T, data string) // no undo: it cannot be put back
	}
	for _, tt := range testload.Sample(t, 2, []harm{
		{
			"renamed",
			func(t *testing.T, data string) { rename(t, data, data+".x") },
			func(t *testing.T, data string) { rename(t, data+".x", data) },
		},
		{
			"the folder above renamed",
			func(t *testing.T, data string) { rename(t, filepath.Dir(data), filepath.Dir(data)+".x") },
			func(t *testing.T, data string) { rename(t, filepath.Dir(data)+".x", filepath.Dir(data)) },
		},
		{
			"replaced by another",
			func(t *testing.T, data string) {
				rename(t, data, data+".x")
				if err := os.Mkdir(data, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, data string) {
				if err := os.Remove(data); err != nil {
					t.Fatal(err)
				}
				rename(t, data+".x", data)
			},
		},
		{
			"deleted",
			func(t *testing.T, data string) {
				if err := os.RemoveAll(data); err != nil {
					t.Fatal(err)
				}
			},
			nil,
		},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			project := d.project(t, map[string]string{"go.mod": "module canary\n"})
			d.listensHTTP(t, "unix")
			manager := newManager(t, d)
			d.start(t)
			manager.next(t, "READY")
			p, w, metrics := d.asks(t, project), d.session(t, project), d.http(t)
			q := p.bash("go build ./a")
			p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
			p.choose(p.bash("go vet ./never"), map[string]any{"verdict": "deny", "scope": "user"}, "")
			hold := func() {
				t.Helper()
				p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
				p.is(p.bash("go vet ./never"), decisions.Deny, decisions.ByMemory)
				wantAllowed(t, w)
			}
			hold()
			open := p.bash("go build ./b")

			tt.harm(t, filepath.Dir(d.data("remember.db")))
			eventually.Holds(t, "the status says that the folder is gone", func() bool {
				return strings.Contains(manager.next(t, "STATUS")["STATUS"], "the databases are not in their place")
			})
			for range 3 {
				got := p.bash("go build ./a")
				if got.Verdict != decisions.Ask || !strings.Contains(got.Reason, "remembered allows are off") {
					t.Errorf("what was remembered: %s by %s: %s", got.Verdict, got.By, got.Reason)
				}
				p.is(p.bash("go vet ./never"), decisions.Deny, decisions.ByMemory)
				wantProbe(t, w, "ask", "failure", "could not be logged")
			}
			p.choose(open, map[string]any{"width": open.Widths[0].ID}, "could not be stored")
			st := d.status(t)
			if !st.Degraded || !st.Memory.AllowsOff || st.Memory.Gone == "" || st.Journal.Failing == "" {
				t.Errorf("the status: %+v, %+v", st.Memory, st.Journal)
			}
			if text := d.permd(t, "status"); !strings.Contains(text, "remembered allows are off: the database is no longer in its place") {
				t.Errorf("permd status says\n%s", text)
			}
			d.waitOutput(t, "the databases are not where permd opened them")
			want := []string{"permd_journal_failing 1", "permd_memory_allows_off 1", "permd_memory_degraded 1", "permd_memory_lost 0"}
			if got := metrics.samples(t, "permd_journal_failing", "permd_memory"); !slices.Equal(got, want) {
				t.Errorf("the metrics are %q, want %q", got, want)
			}

			if tt.undo == nil {
				d.kill()
				d.start(t)
				d.wantLost(t, project, "go vet ./never")
				return
			}
			tt.undo(t, filepath.Dir(d.data("remember.db")))
			d.waitOutput(t, "the databases are in their place again")
			hold()
			if st := d.status(t); st.Degraded {
				t.Errorf("put back, the status is %+v, %+v", st.Memory, st.Journal)
			}

			tt.harm(t, filepath.Dir(d.data("remember.db")))
			d.kill()
			d.start(t)
			d.wantLost(t, project, "go vet ./never")
		})
	}
}

// wantLost wants what was rejected, and everything else, to ask, and the daemon to say
// what to do about it, after the next start too; once a person has done that, calls are
// allowed again.
func (d *testDaemon) wantLost(t *testing.T, project, rejected string) {
	t.Helper()
	var id string
	for range 2 {
		p, w := d.asks(t, project), d.session(t, project)
		if got := p.bash(rejected); got.Verdict == decisions.Allow {
			t.Errorf("what was rejected: %+v", got)
		}
		wantProbe(t, w, "ask", "policy", "this may have been rejected before")
		st := d.status(t)
		if id = st.Memory.Lost; !st.Degraded || id == "" {
			t.Fatalf("the status: %+v", st.Memory)
		}
		if text := d.permd(t, "status"); !strings.Contains(text, "permd remember forget "+id) {
			t.Errorf("permd status says\n%s", text)
		}
		if text := d.permd(t, "remember", "list", "--changed"); !strings.Contains(text, id) {
			t.Errorf("permd remember list --changed says\n%s", text)
		}
		if err := d.stop(t); err != nil {
			t.Fatal(err)
		}
		d.start(t)
	}
	d.permd(t, "remember", "forget", id)
	w := d.session(t, project)
	wantAllowed(t, w)
	if st := d.status(t); st.Memory.Lost != "" || len(st.Memory.Degraded) > 0 {
		t.Errorf("after a person has looked, the status is %+v", st.Memory)
	}
	d.kill()
	d.start(t)
	wantAllowed(t, d.session(t, project))
}

// memoryDeleted begins with a reject of what the rules would ask about: in whatever way
// the memory is lost while no daemon runs, its loss shows at the start.
func memoryDeleted(t *testing.T) {
	remove := func(names ...string) func(t *testing.T, d *testDaemon) {
		return func(t *testing.T, d *testDaemon) {
			for _, name := range names {
				found, err := filepath.Glob(d.data(name))
				if err != nil || len(found) == 0 {
					t.Fatalf("%s: %q, %v", name, found, err)
				}
				for _, path := range found {
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	const state, ofBefore = "../../state/permd", "replaced by one of before"
	type harm struct {
		name string
		harm func(t *testing.T, d *testDaemon)
	}
	for _, tt := range testload.Sample(t, 2, []harm{
		{"the database", remove("remember.db")},
		{"all its files", remove("remember.db*")},
		{"all its files, and what is outside of the data folder", remove("remember.db*", state)},
		{"all its files, and the journal", remove("remember.db*", "decisions.db*")},
		{"the data folder", remove("")},
		{"cut to nothing", func(t *testing.T, d *testDaemon) {
			remove("remember.db.revoked", state)(t, d)
			if err := os.Truncate(d.data("remember.db"), 0); err != nil {
				t.Fatal(err)
			}
		}},
		{ofBefore, func(t *testing.T, d *testDaemon) {
			for _, name := range []string{"remember.db", "remember.db-wal", "remember.db-shm"} {
				if err := os.RemoveAll(d.data(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename(d.data("before.db"), d.data("remember.db")); err != nil {
				t.Fatal(err)
			}
		}},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			project := d.project(t, map[string]string{"go.mod": "module canary\n"})
			if tt.name == ofBefore {
				d.start(t)
				if err := d.stop(t); err != nil {
					t.Fatal(err)
				}
				before, err := os.ReadFile(d.data("remember.db"))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, d.data("before.db"), string(before))
			}
			d.start(t)
			p := d.asks(t, project)
			p.choose(p.bash("go vet ./never"), map[string]any{"verdict": "deny", "scope": "user"}, "")
			forgotten := p.choose(p.bash("go vet ./other"), map[string]any{"verdict": "deny", "scope": "user"}, "")
			d.permd(t, "remember", "forget", forgotten[0].ID)
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			d.start(t)
			p = d.asks(t, project)
			p.is(p.bash("go vet ./never"), decisions.Deny, decisions.ByMemory)
			if st := d.status(t); st.Degraded {
				t.Errorf("control: the status is %+v", st.Memory)
			}
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			tt.harm(t, d)
			d.start(t)
			d.wantLost(t, project, "go vet ./never")
		})
	}
}

// memoryTaken: a database that is deleted or emptied while permd runs allows nothing any
// more, still rejects, and its loss shows at the next start.
func memoryTaken(t *testing.T) {
	for name, take := range map[string]func(string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			project := d.project(t, map[string]string{"go.mod": "module canary\n"})
			d.start(t)
			p := d.asks(t, project)
			q := p.bash("go build ./a")
			p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
			p.choose(p.bash("go vet ./never"), map[string]any{"verdict": "deny", "scope": "user"}, "")
			p.is(p.bash("go build ./a"), decisions.Allow, decisions.ByMemory)
			if err := take(d.data("remember.db")); err != nil {
				t.Fatal(err)
			}
			d.waitOutput(t, "the databases are not where permd opened them")
			if got := p.bash("go build ./a"); got.Verdict != decisions.Ask || !strings.Contains(got.Reason, "remembered allows are off") {
				t.Errorf("what was remembered: %s by %s: %s", got.Verdict, got.By, got.Reason)
			}
			p.is(p.bash("go vet ./never"), decisions.Deny, decisions.ByMemory)
			// The journal is in its place, so other rules allow as before.
			p.is(p.bash("git status"), decisions.Allow, decisions.ByPolicy)
			if st := d.status(t); !st.Degraded || !st.Memory.AllowsOff || st.Memory.Gone == "" {
				t.Errorf("the status is %+v", st.Memory)
			}
			d.kill()
			d.start(t)
			if p = d.asks(t, project); p.bash("go vet ./never").Verdict == decisions.Allow {
				t.Error("what was rejected is allowed")
			}
			wantProbe(t, d.session(t, project), "ask", "policy", "this may have been rejected before")
			if st := d.status(t); st.Memory.Lost == "" {
				t.Errorf("the loss does not show: %+v", st.Memory)
			}
		})
	}
}

// rulesDeleted: the denies of a file that is deleted stay, and its allows do not, until
// a person says so with permd reload. It begins with the rule that would have let the
// call pass.
func rulesDeleted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		remove func(t *testing.T, d *testDaemon, project string)
	}{
		{"a file of several", func(t *testing.T, d *testDaemon, _ string) { d.policy(t, "deny.rego", "") }},
		{"a project's list", func(t *testing.T, _ *testDaemon, project string) {
			if err := os.Remove(filepath.Join(project, ".permd/rules.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a project's folder", func(t *testing.T, _ *testDaemon, project string) {
			if err := os.RemoveAll(filepath.Join(project, ".permd")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			files := map[string]string{"go.mod": "module canary\n"}
			d.policy(t, "allow.rego", `allow contains "building" if input.effect.program == "go"`)
			if tt.name == "a file of several" {
				d.policy(t, "deny.rego", "deny contains \"no vet\" if input.effect.program == \"go\"\nallow contains \"odd\" if input.effect.program == \"odd\"")
			} else {
				files[".permd/rules.yaml"] = "deny:\n  run: [\"go *\"]\n"
			}
			project := d.project(t, files)
			d.start(t)
			p := d.asks(t, project)
			p.is(p.bash("go vet ./a"), decisions.Deny, decisions.ByPolicy)
			tt.remove(t, d, project)
			eventually.Holds(t, "the status says so", func() bool { return d.status(t).Degraded })
			p.is(p.bash("go vet ./a"), decisions.Deny, decisions.ByPolicy)
			if got := p.bash("odd"); got.Verdict != decisions.Ask {
				t.Errorf("what the file allowed: %s by %s", got.Verdict, got.By)
			}
			if text := d.permd(t, "status"); !strings.Contains(text, "was removed; its denies and asks are kept until ") {
				t.Errorf("permd status says\n%s", text)
			}
			d.reload(t)
			p.is(p.bash("go vet ./a"), decisions.Allow, decisions.ByPolicy)
			if st := d.status(t); st.Degraded {
				t.Errorf("the status is %+v", st.Policy)
			}
		})
	}
}
