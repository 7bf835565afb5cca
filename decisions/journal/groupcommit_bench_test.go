//go:build cgo

package journal

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/sqlitedb"
)

// groupCommit is the journal as it would be without its spool: callers encode and
// queue their records, and the first of them writes the queue in one transaction of
// the database (WAL) and wakes the others. The benchmark compares the spool with
// it.
type groupCommit struct {
	w     *writer
	mu    sync.Mutex
	queue []*request
	busy  bool
	next  int64
}

func (g *groupCommit) append(rec *decisions.Record) error {
	req := &request{reply: make(chan reply, 1)}
	if err := req.fill([]*decisions.Record{rec}); err != nil {
		return err
	}
	g.mu.Lock()
	g.queue = append(g.queue, req)
	if g.busy {
		g.mu.Unlock()
		if r := <-req.reply; !r.write {
			return r.err
		}
		g.mu.Lock()
	}
	g.busy = true
	batch := g.queue
	g.queue = nil
	g.mu.Unlock()

	var all []byte
	for _, r := range batch {
		g.next = stamp(r.frames, g.next)
		all = append(all, r.frames...)
	}
	err := g.w.store(all)
	g.mu.Lock()
	if len(g.queue) > 0 {
		g.queue[0].reply <- reply{write: true}
	} else {
		g.busy = false
	}
	g.mu.Unlock()
	for _, r := range batch {
		if r != req {
			r.reply <- reply{err: err}
		}
	}
	return err
}

// BenchmarkSpool compares the journal with and without its spool, for 1 and 64
// clients. p50-ns and p99-ns are how long one caller waits.
func BenchmarkSpool(b *testing.B) {
	for _, d := range []Durability{Process, Power} {
		for _, clients := range []int{1, 64} {
			for _, spooled := range []bool{true, false} {
				name := "wal"
				if spooled {
					name = "spool"
				}
				b.Run(fmt.Sprintf("%s/clients=%d/%s", d, clients, name), func(b *testing.B) {
					o := Options{Path: filepath.Join(b.TempDir(), "private", "decisions.db"), Durability: d}
					store := openGroupCommit
					if spooled {
						store = openSpooled
					}
					benchStore(b, clients, store(b, o))
				})
			}
		}
	}
}

func openSpooled(b *testing.B, o Options) func(*decisions.Record) error {
	j, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	return func(rec *decisions.Record) error { return j.Append(b.Context(), rec) }
}

func openGroupCommit(b *testing.B, o Options) func(*decisions.Record) error {
	dbo, err := o.database()
	if err != nil {
		b.Fatal(err)
	}
	db, err := sqlitedb.Open(dbo)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	g := &groupCommit{w: new(writer), next: 1}
	if err := g.w.prepare(db.Write, db.InPlace); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.w.finish() })
	return g.append
}

func benchStore(b *testing.B, clients int, store func(*decisions.Record) error) {
	var count, failed atomic.Int64
	waits := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			rec := benchRecord()
			for {
				n := count.Add(1)
				if n > int64(b.N) {
					return
				}
				rec.Decision.ID = fmt.Sprintf("d%019d", n)
				start := time.Now()
				if store(rec) != nil {
					failed.Add(1)
				}
				waits[c] = append(waits[c], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if failed.Load() > 0 {
		b.Fatalf("%d records were not stored", failed.Load())
	}
	all := slices.Concat(waits...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100]), "p99-ns")
}

// benchRecord returns the record of an allowed command of two programs.
func benchRecord() *decisions.Record {
	rule := decisions.RuleRef{ID: "base/programs.rego:12", At: "base/programs.rego:12", Layer: decisions.Base}
	effect := decisions.EffectDecision{
		Kind: effects.KindRun, Text: "run git status", From: "rawInput.command", Tags: []string{"in_project"},
		Verdict: decisions.Allow, Reason: "only looks", Row: decisions.RowBase, Rules: []decisions.RuleRef{rule},
	}
	return &decisions.Record{
		Time: time.Unix(1_700_000_000, 0), Peer: decisions.Peer{UID: 1000, GID: 1000, PID: 7},
		Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}, Session: decisions.SessionRef{ID: "session"},
		Protocol: "acp", Tool: "Bash", Cwd: "/home/ana/p", Project: "/home/ana/p", LatencyNS: 120_000,
		Decision: decisions.Decision{
			CallID: "call", Verdict: decisions.Allow, Needed: decisions.NotNeeded, Reason: "only looks", By: decisions.ByPolicy,
			Policy: decisions.PolicyRef{Digest: "3b2a"}, Effects: []decisions.EffectDecision{effect, effect},
		},
	}
}
