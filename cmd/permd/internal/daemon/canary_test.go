package daemon

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/filetest"
)

// TestCanary: it comes through by every rule that is slow, broken or allows all, and
// leaves no trace.
func TestCanary(t *testing.T) {
	w := newBenchWorld(t, true)
	for _, tt := range []struct{ name, rules string }{
		{"usual rules", ""},
		{"everything is allowed", `allow contains "all" if input.effect.kind`},
		{"a rule breaks", `deny contains "x" if 1 / count([x | some x in input.effect.tags; x == "none"]) > 7`},
		{"a rule takes too long", `deny contains "x" if {
	some a in letters
	some b in letters
	some c in letters
	concat("", [a, b, c]) == input.effect.kind
}
letters := split("` + strings.Repeat("x", 400) + `", "")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name == "a rule takes too long" {
				t.Skip("long: each check takes as long as an evaluation may; a rule that breaks is the quick one")
			}
			file := filepath.Join(w.dirs.Config, account.PolicyDir, "extra.rego")
			filetest.Write(t, file, "package permd.user\n\nimport rego.v2\n"+tt.rules+"\n")
			if _, err := w.rules.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := w.selfCheck(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := w.healthOf(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	recs, err := w.journal.List(t.Context(), decisions.RecordFilter{Limit: 10})
	if err != nil || len(recs) > 0 || w.journal.Status().Records > 0 {
		t.Errorf("%d decisions in the journal, %v", len(recs), err)
	}
	if late := w.underway.Late(time.Now().Add(time.Hour)); len(late) > 0 {
		t.Errorf("counted with the decisions of clients: %+v", late)
	}
}

// hangingFS is a local file system that answers nothing while it hangs.
type hangingFS struct {
	effects.FS
	hang <-chan struct{}
}

func (h hangingFS) Lstat(path string) (fs.FileMode, error) {
	<-h.hang
	return h.FS.Lstat(path)
}

// TestCanaryStuck: the check fails while the way is stuck, names the place, starts no
// second canary, and passes when the way is open again.
func TestCanaryStuck(t *testing.T) {
	tests := []struct {
		name  string
		block func(t *testing.T, w *benchWorld, hang <-chan struct{})
		place string
	}{
		{"journal", func(_ *testing.T, w *benchWorld, hang <-chan struct{}) {
			w.watchdog.probe = func(context.Context, bool) error { <-hang; return nil }
		}, "waiting for the journal"},
		{"files", func(t *testing.T, w *benchWorld, hang <-chan struct{}) {
			var err error
			w.engine.Decisions, err = w.engine.Decisions.With(func(c *decisions.Config) { c.FS = hangingFS{c.FS, hang} })
			if err != nil {
				t.Fatal(err)
			}
		}, "below /"},
		{"slots", func(_ *testing.T, w *benchWorld, hang <-chan struct{}) {
			take := takeSlot(newShare(w.rules.Settings.Limits))
			w.watchdog.slot = func(ctx context.Context) (context.Context, func(), error) {
				<-hang
				return take(ctx)
			}
		}, "waiting for others to be decided"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name != "journal" {
				t.Skip("long: a daemon for each place; journal is the quick one")
			}
			w := newBenchWorld(t, true)
			hang := make(chan struct{})
			tt.block(t, w, hang)
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				err := w.selfCheck(ctx)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "a decision is stuck for 0s "+tt.place) {
					t.Errorf("error %v, want %q", err, tt.place)
				}
				if st := w.status(); !st.Degraded || !strings.Contains(st.SelfCheck, tt.place) {
					t.Errorf("status: %q", st.SelfCheck)
				}
			}
			if n := len(w.watchdog.place.Late(time.Now().Add(time.Hour))); n != 1 {
				t.Errorf("%d canaries are under way", n)
			}
			close(hang)
			eventually.Holds(t, "the check passes again", func() bool { return w.selfCheck(t.Context()) == nil })
			if st := w.status(); st.SelfCheck != "" || st.Degraded {
				t.Errorf("status: %+v", st)
			}
		})
	}
}

// TestCanaryPassesHungRequests: a few requests that hang and hold all slots keep nobody
// else from being decided, and so do not make the service manager end the daemon.
func TestCanaryPassesHungRequests(t *testing.T) {
	w := newBenchWorld(t, true)
	share := fairshare.New(fairshare.Options{Slots: 2, Max: 8})
	w.watchdog.slot = takeSlot(share)
	for uid := range uint32(2) {
		hung := share.Join(uid)
		defer hung.Leave()
		turn := new(fairshare.Turn)
		if err := turn.Begin(t.Context(), hung, nil); err != nil {
			t.Fatal(err)
		}
		defer turn.End()
	}
	for range 3 {
		if err := w.selfCheck(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestWatchdogRules: the watchdog's check passes while rules cannot be read, since a
// restart would not help, and fails for a decision that failed with good rules.
func TestWatchdogRules(t *testing.T) {
	w := newBenchWorld(t, true)
	w.watchdog.running = &canaryRun{done: make(chan struct{}), err: errNotDeciding}
	close(w.watchdog.running.done)
	if err := w.selfCheck(t.Context()); !errors.Is(err, errNotDeciding) {
		t.Errorf("good rules: %v", err)
	}
	filetest.Write(t, filepath.Join(w.dirs.Config, account.PolicyDir, "extra.rego"), "nonsense")
	_, _ = w.rules.Reload(t.Context()) // it fails, the last good rules stay
	if err := w.selfCheck(t.Context()); err != nil {
		t.Errorf("broken rules: %v", err)
	}
}
