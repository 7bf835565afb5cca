//go:build cgo

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/filetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)

// record returns record number n of a test.
func record(n int) *decisions.Record {
	return &decisions.Record{
		Time:      noon.Add(time.Duration(n) * time.Second),
		Peer:      decisions.Peer{UID: 1000, GID: 1000, PID: 4711},
		Agent:     effects.Party{Name: "gemini-cli", Version: "0.9.0"},
		Client:    effects.Party{Name: "zed"},
		Session:   decisions.SessionRef{ID: "s1", Ancestors: []string{"s0"}, Mode: "default"},
		Protocol:  "acp",
		Tool:      "Bash",
		Cwd:       "/home/ada/src",
		Project:   "/home/ada/src",
		LatencyNS: 42_000,
		Decision: decisions.Decision{
			ID: fmt.Sprintf("d%07d", n), CallID: "c1", Verdict: decisions.Allow, Needed: decisions.NotNeeded,
			Reason: "read-only in the project", By: decisions.ByPolicy, Policy: decisions.PolicyRef{Digest: "sha256:abc"},
			Effects: []decisions.EffectDecision{{
				Kind: effects.KindRun, Text: "git log --oneline -n 20", From: "rawInput.command", Tags: []string{"in_project"},
				Verdict: decisions.Allow, Reason: "read-only in the project", Row: 10,
				Rules: []decisions.RuleRef{{ID: "base/readonly.rego:12", At: "readonly.rego:12", Layer: decisions.Base}},
			}, {
				Kind: effects.KindRead, Text: "/home/ada/src/main.go", From: "rawInput.command", Tags: []string{"in_project"},
				Verdict: decisions.Allow, Reason: "read-only in the project", Row: 10,
				Rules: []decisions.RuleRef{{ID: "base/readonly.rego:20", At: "readonly.rego:20", Layer: decisions.Base}},
			}},
		},
	}
}

func path(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filetest.MemoryDir(t), "permd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "decisions.db")
}

func open(t testing.TB, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func mustAppend(t *testing.T, j *journal.Journal, recs ...*decisions.Record) {
	t.Helper()
	if err := j.Append(t.Context(), recs...); err != nil {
		t.Fatal(err)
	}
}

func TestAppendAndReadBack(t *testing.T) {
	for _, d := range []journal.Durability{"", journal.Process, journal.Power} {
		t.Run("durability="+string(d), func(t *testing.T) {
			o := journal.Options{Path: path(t), Durability: d}
			j := open(t, o)
			first := []*decisions.Record{record(1), record(2)}
			mustAppend(t, j)
			mustAppend(t, j, first...)
			third := record(3)
			third.Decision.Effects[0].Text = "cat 'caf\xe9' # not UTF-8"
			third.Tool = "B\xffsh"
			mustAppend(t, j, third)
			third.Decision.Effects[0].Text = "cat 'caf\uFFFD' # not UTF-8"
			third.Tool = "B\uFFFDsh"
			want := append(first, third)
			for i, rec := range want {
				if rec.Seq != int64(i+1) {
					t.Errorf("record %d has sequence number %d", i+1, rec.Seq)
				}
			}
			check := func(r *journal.Reader) {
				t.Helper()
				have, err := r.List(t.Context(), decisions.RecordFilter{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
					t.Fatal(diff)
				}
				one, err := r.Get(t.Context(), "d0000002")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[1], one, cmpopts.EquateEmpty()); diff != "" {
					t.Fatal(diff)
				}
				if _, err := r.Get(t.Context(), "d9"); !errors.Is(err, journal.ErrNotFound) {
					t.Errorf("unknown id: have %v", err)
				}
				if last, err := r.Last(t.Context()); last != 3 || err != nil {
					t.Errorf("have last %d, %v; want 3", last, err)
				}
			}
			check(j.Reader)
			live, err := journal.OpenReadOnly(o)
			if err != nil {
				t.Fatal(err)
			}
			check(live)
			if err := errors.Join(live.Close(), j.Close()); err != nil {
				t.Fatal(err)
			}
			alone, err := journal.OpenReadOnly(o)
			if err != nil {
				t.Fatal(err)
			}
			check(alone)
			if err := alone.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, o)
			fourth := record(4)
			mustAppend(t, again, fourth)
			if fourth.Seq != 4 {
				t.Errorf("after opening again the sequence goes on with %d, want 4", fourth.Seq)
			}
		})
	}
}

func TestEncodeIsTheStoredForm(t *testing.T) {
	rec := record(1)
	rec.Seq = 7
	data, err := journal.Encode(rec)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(data); !strings.HasPrefix(s, `{"seq":7,`) || !strings.Contains(s, `"latencyNs":42000`) || strings.Contains(s, "\n") {
		t.Errorf("have %s", s)
	}
	have, err := journal.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rec, have, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if _, err := journal.Decode([]byte(`{"seq":1,"seq":2}`)); err == nil {
		t.Error("a record that can be read in two ways was read")
	}
}

func TestGetFindsIdsOutOfOrder(t *testing.T) {
	j := open(t, journal.Options{Path: path(t)})
	var recs []*decisions.Record
	for n := range 500 {
		rec := record(n)
		if n%7 == 0 {
			rec.Decision.ID = fmt.Sprintf("a%d", n) // before all others, in any position
		}
		recs = append(recs, rec)
	}
	mustAppend(t, j, recs...)
	for _, want := range recs {
		have, err := j.Get(t.Context(), want.Decision.ID)
		if err != nil || have.Seq != want.Seq {
			t.Fatalf("%s: have %v, %v; want record %d", want.Decision.ID, have, err, want.Seq)
		}
	}
	for _, id := range []string{"", "a", "d0000000x", "z"} {
		if _, err := j.Get(t.Context(), id); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("%q: have %v, want %v", id, err, journal.ErrNotFound)
		}
	}
}

func TestListFilters(t *testing.T) {
	j := open(t, journal.Options{Path: path(t)})
	for n := 1; n <= 20; n++ {
		rec := record(n)
		if n%2 == 0 {
			rec.Decision.Verdict, rec.Decision.By = decisions.Ask, decisions.ByDefault
		}
		if n%5 == 0 {
			rec.Session.ID, rec.Tool = "s2", "Read"
		}
		if n == 7 {
			rec.Agent.Name, rec.Peer.UID = strings.Repeat("é", 700), 4_000_000_000
		}
		mustAppend(t, j, rec)
	}
	uid := uint32(4_000_000_000)
	for name, tc := range map[string]struct {
		filter decisions.RecordFilter
		want   []int64
	}{
		"newest":           {decisions.RecordFilter{Limit: 3}, []int64{18, 19, 20}},
		"before":           {decisions.RecordFilter{Limit: 3, Before: 10}, []int64{7, 8, 9}},
		"after":            {decisions.RecordFilter{Limit: 3, After: 10}, []int64{11, 12, 13}},
		"between":          {decisions.RecordFilter{After: 10, Before: 13}, []int64{11, 12}},
		"since and until":  {decisions.RecordFilter{Since: noon.Add(4 * time.Second), Until: noon.Add(6 * time.Second)}, []int64{4, 5}},
		"verdict":          {decisions.RecordFilter{Verdict: decisions.Ask, Limit: 2}, []int64{18, 20}},
		"decider":          {decisions.RecordFilter{By: decisions.ByPolicy, Limit: 2}, []int64{17, 19}},
		"session":          {decisions.RecordFilter{Session: "s2"}, []int64{5, 10, 15, 20}},
		"tool and verdict": {decisions.RecordFilter{Tool: "Read", Verdict: decisions.Allow}, []int64{5, 15}},
		"long agent name":  {decisions.RecordFilter{Agent: strings.Repeat("é", 700)}, []int64{7}},
		"uid":              {decisions.RecordFilter{UID: &uid}, []int64{7}},
		"nothing":          {decisions.RecordFilter{Session: "' OR 1=1 --"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			recs, err := j.List(t.Context(), tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			var have []int64
			for _, rec := range recs {
				have = append(have, rec.Seq)
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Error(diff)
			}
			if tc.filter.Limit == 0 {
				n, err := j.Count(t.Context(), tc.filter)
				if err != nil || int(n) != len(tc.want) {
					t.Errorf("have count %d, %v; want %d", n, err, len(tc.want))
				}
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	j := open(t, journal.Options{Path: path(t)})
	noID, noTime, large := record(1), record(2), record(3)
	noID.Decision.ID = ""
	noTime.Time = time.Time{}
	large.Decision.Reason = strings.Repeat("x", journal.MaxRecord)
	for name, rec := range map[string]*decisions.Record{"no id": noID, "no time": noTime, "too large": large} {
		if err := j.Append(t.Context(), record(4), rec); !errors.Is(err, journal.ErrRecord) {
			t.Errorf("%s: have %v, want %v", name, err, journal.ErrRecord)
		}
	}
	mustAppend(t, j, record(5))
	next := record(7)
	mustAppend(t, j, next)
	if s := j.Status(); s.Failing != "" || s.Failed != 3 {
		t.Errorf("have status %+v: these are failures of the callers alone", s)
	}
	if n, err := j.Count(t.Context(), decisions.RecordFilter{}); n != 2 || err != nil || next.Seq != 2 {
		t.Errorf("have %d records, %v, newest %d; want 2: a failed append leaves nothing", n, err, next.Seq)
	}
	if s := j.Status(); s.Last != 2 || s.Records != 2 {
		t.Errorf("have status %+v, want two records", s)
	}
}

func TestAppendConcurrently(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	const producers, each = 32, 40
	var wg sync.WaitGroup
	seqs := make([][]int64, producers)
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				a, b := record((p*each+i)*2), record((p*each+i)*2+1)
				if err := j.Append(t.Context(), a, b); err != nil {
					t.Error(err)
					return
				}
				if b.Seq != a.Seq+1 {
					t.Errorf("records of one append are %d and %d", a.Seq, b.Seq)
				}
				seqs[p] = append(seqs[p], a.Seq, b.Seq)
			}
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, mine := range seqs {
		for i, seq := range mine {
			if seen[seq] {
				t.Fatalf("sequence number %d was given twice", seq)
			}
			seen[seq] = true
			if i > 0 && seq <= mine[i-1] {
				t.Fatalf("sequence number %d after %d", seq, mine[i-1])
			}
		}
	}
	s := j.Status()
	if len(seen) != producers*each*2 || s.Last != int64(len(seen)) || s.Records != uint64(len(seen)) {
		t.Errorf("have %d numbers and status %+v", len(seen), s)
	}
	if s.Commits > s.Records/2 {
		t.Errorf("have %d commits for %d appends", s.Commits, s.Records/2)
	}
}

func TestAppendAndClose(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored := map[string]bool{}
	started := make(chan struct{}, 16)
	for p := range 16 {
		wg.Go(func() {
			for i := range 100_000 {
				rec := record(p*100_000 + i)
				err := j.Append(context.Background(), rec)
				if errors.Is(err, journal.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				stored[rec.Decision.ID] = true
				mu.Unlock()
				if i == 5 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 16 {
		<-started
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := j.Append(t.Context(), record(9_000_000)); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("after closing: have %v", err)
	}
	r, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	for id := range stored {
		if _, err := r.Get(t.Context(), id); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	if n, err := r.Count(t.Context(), decisions.RecordFilter{}); err != nil || int(n) < len(stored) {
		t.Errorf("have %d, %v; want at least %d", n, err, len(stored))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
