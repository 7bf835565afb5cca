package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
)

// TestPlaceFailures is [TestFailures] for files that somebody takes away.
func TestPlaceFailures(t *testing.T) {
	failures(t, []failure{
		{"data folder moved away, or another in its place", dataMoved},
	})
}

// dataMoved: however the data folder is taken away from a running daemon, nothing that
// was remembered allows any more, what was rejected is denied, no choice is stored where
// nobody finds it, and all of that is said. Once it is back, all is as before.
func dataMoved(t *testing.T) {
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name       string
		harm, undo func(t *testing.T, data string) // no undo: it cannot be put back
	}{
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
	} {
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
				return
			}
			tt.undo(t, filepath.Dir(d.data("remember.db")))
			d.waitOutput(t, "the databases are in their place again")
			hold()
			if st := d.status(t); st.Degraded {
				t.Errorf("put back, the status is %+v, %+v", st.Memory, st.Journal)
			}
		})
	}
}
