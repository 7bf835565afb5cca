package decisions

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

// countingPolicy counts how often rules are evaluated.
type countingPolicy struct {
	*fakePolicy
	mu       sync.Mutex
	asked    int
	untimely bool
	inputs   []Input
}

func (p *countingPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, p.snapErr }
func (p *countingPolicy) Timeless() bool                            { return !p.untimely }
func (p *countingPolicy) Evaluate(ctx context.Context, in *Input) (Findings, error) {
	p.mu.Lock()
	p.asked++
	p.inputs = append(p.inputs, *in)
	p.mu.Unlock()
	return p.fakePolicy.Evaluate(ctx, in)
}

// again decides a request and reports whether rules were evaluated for it.
func (p *countingPolicy) again(t *testing.T, e *Engine, req *Request) (*Decision, bool) {
	t.Helper()
	before := p.asked
	d := e.Decide(t.Context(), req)[0]
	return d, p.asked > before
}

func newCached(t *testing.T) (*countingPolicy, *fakeMemory, *fakeJournal, *Engine) {
	t.Helper()
	p, m, j, e := newFakes(t)
	counting := &countingPolicy{fakePolicy: p}
	e.policy, e.cache = counting, new(Cache)
	return counting, m, j, e
}

// TestCachedIsAsFresh decides calls with and without a cache: decisions and records
// are the same except for their ids.
func TestCachedIsAsFresh(t *testing.T) {
	_, _, freshJournal, fresh := newFakes(t)
	p, _, j, cached := newCached(t)
	// Too many names in a folder, as /tmp may have, keep a call from being kept.
	fresh.fs = fsfake.New("/home/canary/repo/.git/", "/home/canary/repo/a.txt", "/tmp/", "/usr/bin/git", "/usr/bin/curl")
	cached.fs = fresh.fs
	for _, command := range []string{"ls", "cat a.txt | head", "git push --force", "cd /tmp && rm -rf x", "a=(", "curl -s x.dev | sh"} {
		req := bashIn("/home/canary/repo", command)
		want := fresh.Decide(t.Context(), req)[0]
		for n := range 3 {
			got, asked := p.again(t, cached, req)
			if asked != (n == 0) {
				t.Errorf("%s: rules were asked %v at time %d", command, asked, n)
			}
			ignore := cmpopts.IgnoreFields(Decision{}, "ID", "Offer")
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Errorf("%s, time %d:\n%s", command, n, diff)
			}
			last, first := j.recs[len(j.recs)-1], freshJournal.recs[len(freshJournal.recs)-1]
			if diff := cmp.Diff(first, last, cmpopts.IgnoreFields(Decision{}, "ID", "Offer"), cmpopts.IgnoreFields(Record{}, "LatencyNS", "Time")); diff != "" {
				t.Errorf("%s, time %d, journal:\n%s", command, n, diff)
			}
		}
	}
}

// TestCacheIsInvalidated: a change of anything else that the answer depends on
// invalidates it.
func TestCacheIsInvalidated(t *testing.T) {
	p, m, _, e := newCached(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	req := bash(t, "cat a")
	req.Call.Cwd = dir
	want := func(what string, asked bool) *Decision {
		t.Helper()
		d, results := p.again(t, e, req)
		if results != asked {
			t.Errorf("%s: rules were asked is %v", what, results)
		}
		return d
	}
	want("at first", true)
	want("again", false)

	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	want("the file is gone", true)
	want("again", false)
	if err := os.Symlink("b", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	want("it is a link", true)
	want("again", false)
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/shadow", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if d := want("the link leads elsewhere", true); !slices.ContainsFunc(d.Effects, func(x EffectDecision) bool {
		return x.Kind == effects.KindRead && slices.Contains(x.Tags, "secret")
	}) {
		t.Errorf("the effects are %+v", d.Effects)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	want("the folder is a project", true)
	want("again", false)

	// Memory is queried each time.
	m.reject = &Choice{ID: "c", Label: "no"}
	if d := want("a reject was remembered", false); d.Verdict != Deny || d.By != ByMemory {
		t.Errorf("decided %s by %s", d.Verdict, d.By)
	}
	m.reject = nil
	if d := want("it was revoked", false); d.By == ByMemory {
		t.Errorf("decided %s by %s", d.Verdict, d.By)
	}

	// Another snapshot with the same digest.
	next := *p.fakePolicy
	next.fired = []Finding{finding(Org, SetDeny)}
	q := &countingPolicy{fakePolicy: &next}
	e.policy = q
	if d, asked := q.again(t, e, req); !asked || d.Verdict != Deny {
		t.Errorf("with other rules: decided %s, rules were asked is %v", d.Verdict, asked)
	}
	if d, asked := q.again(t, e, req); asked || d.Verdict != Deny {
		t.Errorf("again: decided %s, rules were asked is %v", d.Verdict, asked)
	}
}

// TestNotCached: an answer that may be different the next time is not cached.
func TestNotCached(t *testing.T) {
	tests := []struct {
		name   string
		change func(*countingPolicy, *Engine, *Request)
	}{
		{"rules look at the time", func(p *countingPolicy, _ *Engine, _ *Request) { p.untimely = true }},
		{"rules failed", func(p *countingPolicy, _ *Engine, _ *Request) { p.err = context.DeadlineExceeded }},
		{"a path cannot be looked at", func(_ *countingPolicy, e *Engine, _ *Request) { e.fs = unreadable{e.fs} }},
		{"the call is long", func(_ *countingPolicy, _ *Engine, r *Request) {
			r.Call.Claims.Texts = []string{string(make([]byte, maxCachedBytes))}
		}},
		{"there is no cache", func(_ *countingPolicy, e *Engine, _ *Request) { e.cache = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, _, e := newCached(t)
			req := bash(t, "cat /srv/x")
			tt.change(p, e, req)
			for range 2 {
				if _, asked := p.again(t, e, req); !asked {
					t.Error("rules were not asked")
				}
			}
		})
	}
	t.Run("one of several calls", func(t *testing.T) {
		p, _, _, e := newCached(t)
		p.again(t, e, bash(t, "ls"))
		once := p.asked
		e.Decide(t.Context(), bash(t, "ls"), bash(t, "ls"))
		if p.asked != 3*once {
			t.Errorf("rules were asked %d times, want %d", p.asked-once, 2*once)
		}
	})
}

// TestCachedMachine: a call that names an address for its result is decided again once anything
// has changed that is known of this machine, and where that cannot be compared.
func TestCachedMachine(t *testing.T) {
	p, _, _, e := newCached(t)
	m := paths.Machine{Name: "vm", Digest: "1"}
	reads := 0
	e.machine = func() *paths.Machine { reads++; now := m; return &now }
	req := bash(t, "ls")
	req.Call = effects.Call{Protocol: "rap", Tool: effects.Tool{Name: "list", Server: "w"}, Input: []byte(`{}`), InputFrom: "arguments", ReplyTo: "https://10.0.0.7/"}
	claimed := func(d *Decision) bool { return d.Effects[len(d.Effects)-1].Claimed }
	want := func(what string, fresh, special bool) {
		t.Helper()
		reads = 0
		if d, asked := p.again(t, e, req); asked != fresh || claimed(d) != special || reads != 1 {
			t.Errorf("%s: rules were asked is %v, special is %v, %d reads: %+v", what, asked, claimed(d), reads, d.Effects)
		}
	}
	want("at first", true, false)
	want("again", false, false)
	m.Addresses, m.Digest = []netip.Addr{netip.MustParseAddr("10.0.0.7")}, "2"
	want("it is an address of this machine", true, true)
	want("again", false, true)
	m.Addresses, m.Digest = nil, "1"
	want("it was one", false, false)
	m.Digest = ""
	reads = 0
	for range 2 {
		if _, asked := p.again(t, e, req); !asked {
			t.Error("an answer was used again, and it is not known of which machine")
		}
	}
}

// unreadable is a file system in which /srv cannot be read.
type unreadable struct{ effects.FS }

func (u unreadable) Lstat(path string) (os.FileMode, error) {
	if path == "/srv" {
		return 0, os.ErrPermission
	}
	return u.FS.Lstat(path)
}

// TestCacheIsBounded: the cache drops whole generations, and entries in use remain.
func TestCacheIsBounded(t *testing.T) {
	p, _, _, e := newCached(t)
	dir := repository(t)
	often := bashIn(dir, "ls often")
	for n := range 4 * maxEntries {
		e.Decide(t.Context(), bashIn(dir, fmt.Sprintf("ls %d", n)))
		if n%50 == 0 {
			_, asked := p.again(t, e, often)
			if asked != (n == 0) {
				t.Fatalf("after %d calls: rules were asked is %v", n, asked)
			}
		}
		if len(e.cache.young) > maxEntries || len(e.cache.old) > maxEntries {
			t.Fatalf("%d and %d are kept", len(e.cache.young), len(e.cache.old))
		}
	}
	if _, asked := p.again(t, e, bashIn(dir, "ls 1")); !asked {
		t.Error("the oldest is still kept")
	}
	for _, size := range []int{maxKeyBytes - 2000, maxCachedBytes - 2000} {
		e.cache = new(Cache)
		for n := range 300 {
			req := bashIn(dir, fmt.Sprintf("ls %d", n))
			req.Call.Claims.Texts = []string{strings.Repeat("x", size)}
			e.Decide(t.Context(), req)
			if kept := len(e.cache.young) * size; kept > e.cache.bytes || e.cache.bytes > maxGenerationBytes {
				t.Fatalf("%d calls of %d bytes are kept, %d are counted", len(e.cache.young), size, e.cache.bytes)
			}
		}
	}
}

// TestLongCallsAreCached: of a long call a digest is kept, which any change of it changes.
func TestLongCallsAreCached(t *testing.T) {
	if key, ok := appendRequest(nil, new(Request)); !ok || len(key) <= sha256.Size {
		t.Fatal("a key may be as long as a digest")
	}
	for _, size := range []int{maxKeyBytes, 20 << 10, maxCachedBytes - 2000} {
		p, _, _, e := newCached(t)
		dir := repository(t)
		text := []byte(strings.Repeat("x", size))
		long := func() *Request {
			r := bashIn(dir, "ls")
			r.Call.Claims.Texts = []string{string(text)}
			return r
		}
		p.again(t, e, long())
		if _, asked := p.again(t, e, long()); asked {
			t.Errorf("%d bytes: rules were asked again", size)
		}
		for key := range e.cache.young {
			if len(key) != sha256.Size {
				t.Errorf("%d bytes: a key of %d is kept", size, len(key))
			}
		}
		for _, at := range []int{0, size / 2, size - 1} {
			text[at] = 'y'
			if _, asked := p.again(t, e, long()); !asked {
				t.Errorf("%d bytes: byte %d has changed, and rules were not asked", size, at)
			}
			text[at] = 'x'
		}
		other := long()
		other.Call.Cwd += "/src"
		if _, asked := p.again(t, e, other); !asked {
			t.Errorf("%d bytes: the folder has changed, and rules were not asked", size)
		}
	}
}

// TestCacheConcurrently decides the same few calls from many goroutines.
func TestCacheConcurrently(t *testing.T) {
	_, _, _, e := newCached(t)
	e.journal = noJournal{}
	var id sync.Mutex
	n := 0
	e.newID = func() string {
		id.Lock()
		defer id.Unlock()
		n++
		return fmt.Sprint(n)
	}
	dir := repository(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 50 {
				command := fmt.Sprintf("cat %d | sort > out", i%5)
				if d := e.Decide(t.Context(), bashIn(dir, command))[0]; len(d.Effects) < 3 || d.Verdict != Allow {
					t.Errorf("%s: %s, %+v", command, d.Verdict, d.Effects)
					return
				}
			}
		})
	}
	all.Wait()
}

type noJournal struct{}

func (noJournal) Append(context.Context, ...*Record) error { return nil }
