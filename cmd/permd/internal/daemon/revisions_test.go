package daemon

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
)

// TestOnChange: without a change nothing is done, and after a failure it is done again with the
// next change or a minute later.
func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		changed := make(chan struct{}, 1)
		var n atomic.Int64
		var ok atomic.Bool
		ok.Store(true)
		go onChange(ctx, changed, func() bool { n.Add(1); return ok.Load() })
		after := func(d time.Duration, want int64, when string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := n.Load(); got != want {
				t.Errorf("%s: %d times, want %d", when, got, want)
			}
		}
		after(24*time.Hour, 1, "without a change")
		changed <- struct{}{}
		after(time.Hour, 2, "a change")
		ok.Store(false)
		changed <- struct{}{}
		after(retryAfter-time.Second, 3, "a failure")
		after(2*time.Second, 4, "a minute later")
		changed <- struct{}{}
		after(0, 5, "a change after a failure")
		ok.Store(true)
		after(time.Hour, 6, "no more failure")
	})
}

// TestKeepRevisions: rules and settings are kept when they change, by the digests that decide.
func TestKeepRevisions(t *testing.T) {
	w := newBenchWorld(t, true)
	w.keepArguments()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { w.keepRevisions(ctx); close(done) }()
	defer func() { stop(); <-done }()
	kept := func(when string) {
		t.Helper()
		digest := w.rules.Digest()
		eventually.Holds(t, "rules are kept: "+when, func() bool {
			r, _, _, err := arguments.RevisionAt(arguments.Dir(w.dirs.Data), time.Now())
			return err == nil && r != nil && r.Digest == digest
		}, func() string { return digest })
	}
	kept("at the start")
	if r, _, _, err := arguments.RevisionAt(arguments.Dir(w.dirs.Data), time.Unix(0, w.since.Load())); err != nil || r == nil {
		t.Errorf("of a decision that was made before they were kept: %+v %v", r, err)
	}
	for _, change := range []struct{ when, file, text string }{
		{"a rule", filepath.Join(w.dirs.Config, account.PolicyDir, "rules.yaml"), "allow:\n  run: [frob]\n"},
		{"a setting", filepath.Join(w.dirs.Org, "permd.toml"), "only_org = true\n"},
	} {
		before := w.rules.Digest()
		filetest.Write(t, change.file, change.text)
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(change.file, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := w.rules.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.rules.Digest() == before {
			t.Fatalf("control: %s changes nothing", change.when)
		}
		kept(change.when)
	}
}
