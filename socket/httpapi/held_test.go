package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/native"
)

const askOTC = `{"tool_id":"A.B","call_id":"c","input":{}}`

// TestHeld: a request is held for longer than a request may be read and decided, and the
// answer of one person counts, once.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := serveLoopback(t, Options{readTimeout: 300 * time.Millisecond, decideTimeout: 300 * time.Millisecond})
	s.verdict = decisions.Ask
	const other = 4711
	for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		c := s.dial(t)
		if _, err := io.WriteString(c, s.post("/v1/otc/call", askOTC, "Prefer", "wait=100")); err != nil {
			t.Fatal(err)
		}
		s.waitFor(t, 1)
		begin := time.Now()
		eventually.True(func() bool { return time.Since(begin) > 650*time.Millisecond }) // more than all timeouts together
		answer := native.Answer{DecisionID: "d1", Verdict: verdict}
		uid := uint32(other)
		if _, err := s.waiting.Answer(t.Context(), &uid, answer); err == nil || len(s.waiting.Questions(&uid)) != 0 {
			t.Error("another user answers")
		}
		uid = 1000
		var counts atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.waiting.Answer(t.Context(), &uid, answer); err == nil {
					counts.Add(1)
				}
			})
		}
		all.Wait()
		want := map[decisions.Verdict]string{decisions.Allow: `{"outcome":"run"`, decisions.Deny: `{"outcome":"denied"`}[verdict]
		if got := readAnswer(t, bufio.NewReader(c)); got.status != 200 || !strings.HasPrefix(got.body, want) || counts.Load() != 1 {
			t.Errorf("%s: status %d, %s, and %d answers count", verdict, got.status, got.body, counts.Load())
		}
	}
	// With the client the question ends.
	c := s.dial(t)
	if _, err := io.WriteString(c, s.post("/v1/otc/call", askOTC, "Prefer", "wait=100")); err != nil {
		t.Fatal(err)
	}
	s.waitFor(t, 1)
	c.Close()
	s.waitFor(t, 0)
	// Deciding does not last longer because a client waits.
	s.mu.Lock()
	s.do = func(ctx context.Context) { <-ctx.Done() }
	s.mu.Unlock()
	if got := s.send(t, s.post("/v1/otc/call", askOTC, "Prefer", "wait=100")); got.status != 503 || !strings.Contains(got.body, "took too long") {
		t.Errorf("status %d, %s", got.status, got.body)
	}
}

// TestHeldRaces: answers, the end of the wait and the client's end come at the same time. What
// a client is told is what counted.
func TestHeldRaces(t *testing.T) {
	t.Parallel()
	s := serveUnix(t, Options{})
	s.verdict, s.numbered = decisions.Ask, true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var allowed sync.Map
	var answering sync.WaitGroup
	for i := range 4 {
		answering.Go(func() {
			for ctx.Err() == nil {
				for _, q := range s.waiting.Questions(nil) {
					v := []decisions.Verdict{decisions.Allow, decisions.Deny}[i%2]
					if _, err := s.waiting.Answer(ctx, nil, native.Answer{DecisionID: q.Decision.ID, Verdict: v}); err == nil {
						if _, twice := allowed.LoadOrStore(q.Decision.ID, v); twice {
							t.Errorf("%s was answered twice", q.Decision.ID)
						}
					}
				}
				runtime.Gosched()
			}
		})
	}
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for j := range 25 {
				c := s.dial(t)
				_, _ = io.WriteString(c, s.post("/v1/otc/call", strings.Replace(askOTC, `"c"`, fmt.Sprintf(`"c%d-%d"`, i, j), 1), "Prefer", "wait=5"))
				if j%5 == 4 {
					c.Close()
					continue
				}
				got := readAnswer(t, bufio.NewReader(c))
				_, rest, _ := strings.Cut(got.body, `"decisionId":"`)
				id, _, _ := strings.Cut(rest, `"`)
				v, _ := allowed.Load(id)
				eventually.True(func() bool { v, _ = allowed.Load(id); return v != nil })
				if ran := strings.HasPrefix(got.body, `{"outcome":"run"`); got.status != 200 || ran != (v == decisions.Allow) {
					t.Errorf("%s was answered with %v, and the client is told %s", id, v, got.body)
				}
				c.Close()
			}
		})
	}
	clients.Wait()
	cancel()
	answering.Wait()
	s.waitFor(t, 0)
}

// waitFor waits until so many questions wait.
func (s *served) waitFor(t *testing.T, n int) {
	t.Helper()
	eventually.Holds(t, fmt.Sprint("questions that wait: ", n), func() bool { return len(s.waiting.Questions(nil)) == n })
}
