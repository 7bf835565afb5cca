package decisions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/internal/fairshare"
)

// pacedPolicy takes a while for each effect.
type pacedPolicy struct {
	*fakePolicy
	each time.Duration
	saw  func()
}

func (p *pacedPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *pacedPolicy) Evaluate(ctx context.Context, in *Input) (Findings, error) {
	p.saw()
	time.Sleep(p.each)
	return p.fakePolicy.Evaluate(ctx, in)
}

// stoppingJournal waits until it is told to go on.
type stoppingJournal struct {
	fakeJournal
	began, resume chan struct{}
}

func (j *stoppingJournal) Append(ctx context.Context, recs ...*Record) error {
	close(j.began)
	<-j.resume
	return j.fakeJournal.Append(ctx, recs...)
}

// inTurn returns a context with a slot of a scheduler, which end gives back.
func inTurn(t *testing.T, ctx context.Context, m *fairshare.Member) (_ context.Context, end func()) {
	t.Helper()
	turn := new(fairshare.Turn)
	if err := turn.Begin(ctx, m, nil); err != nil {
		t.Fatal(err)
	}
	return &fairshare.Context{Context: ctx, Turn: turn}, turn.End
}

func calls(t *testing.T, n int) []*Request {
	t.Helper()
	var reqs []*Request
	for i := range n {
		reqs = append(reqs, bash(t, fmt.Sprint("ls a", i)))
	}
	return reqs
}

// TestWaitingDoesNotCount: between its calls a request gives way to others, and the time
// for which it waits then does not count as time of deciding.
func TestWaitingDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _, e := newFakes(t)
		share := fairshare.New(fairshare.Options{Slots: 1})
		var order []string
		var other *Engine
		decider := func(name string, each time.Duration) *Engine {
			e, err := e.With(func(c *Config) {
				c.Policy, c.Now = &pacedPolicy{p, each, func() { order = append(order, name) }}, time.Now
			})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		// Ten calls with two effects of 95 ms are within the deadline of two seconds, and wait as long.
		e, other = decider("a", 95*time.Millisecond), decider("b", 95*time.Millisecond)
		start := time.Now()
		done := make(chan []*Decision, 1) // which it does not wait for with its slot
		go func() {
			ctx, end := inTurn(t, t.Context(), share.Join(2))
			defer end()
			done <- other.Decide(ctx, calls(t, 10)...)
		}()
		ctx, end := inTurn(t, t.Context(), share.Join(1))
		decided := e.Decide(ctx, calls(t, 10)...)
		end()
		for i, d := range append(decided, <-done...) {
			if d.Verdict != Allow {
				t.Errorf("call %d: %s because %q", i, d.Verdict, d.Reason)
			}
		}
		if took := time.Since(start); took != 3800*time.Millisecond {
			t.Errorf("both took %v", took)
		}
		for i := 4; i < len(order); i++ {
			if !slices.ContainsFunc(order[i-4:i], func(name string) bool { return name != order[i] }) {
				t.Errorf("one had three calls in a row: %v", order)
				break
			}
		}
	})
}

// TestDeadlineInTurn: the time of deciding itself does count.
func TestDeadlineInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _, e := newFakes(t)
		e, err := e.With(func(c *Config) { c.Policy, c.Now = &pacedPolicy{p, 300 * time.Millisecond, func() {}}, time.Now })
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := inTurn(t, t.Context(), fairshare.New(fairshare.Options{Slots: 1}).Join(1))
		defer end()
		decided := e.Decide(ctx, calls(t, 10)...)
		if d := decided[9]; d.Verdict != Ask || d.By != ByFailure || !strings.Contains(d.Reason, "took too long") {
			t.Errorf("the last: %s because %q", d.Verdict, d.Reason)
		}
		if d := decided[0]; d.Verdict != Allow {
			t.Errorf("the first: %s because %q", d.Verdict, d.Reason)
		}
	})
}

// TestWaitsForTooLong: if others do not let a request go on, its other calls ask.
func TestWaitsForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, j, e := newFakes(t)
		share := fairshare.New(fairshare.Options{Slots: 1, MaxWait: time.Second})
		m, hog := share.Join(1), share.Join(2)
		var blocker fairshare.Turn
		once := false
		e, err := e.With(func(c *Config) {
			c.Now = time.Now
			c.Policy = &pacedPolicy{p, 10 * time.Millisecond, func() {
				if !once { // somebody comes who does not yield
					once = true
					go func() { _ = blocker.Begin(t.Context(), hog, nil) }()
					synctest.Wait()
				}
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := inTurn(t, t.Context(), m)
		defer end()
		decided := e.Decide(ctx, calls(t, 5)...)
		for i, d := range decided {
			want := Ask
			if i == 0 {
				want = Allow
			}
			if d.Verdict != want || i > 0 && (d.By != ByFailure || !strings.Contains(d.Reason, "too many requests wait")) {
				t.Errorf("call %d: %s because %q", i, d.Verdict, d.Reason)
			}
		}
		if len(j.recs) != 5 {
			t.Errorf("%d are in the journal", len(j.recs))
		}
		blocker.End()
	})
}

// TestJournalHoldsNoSlot: a request that waits for the journal lets others decide.
func TestJournalHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, _, e := newFakes(t)
		j := &stoppingJournal{began: make(chan struct{}), resume: make(chan struct{})}
		slow, err := e.With(func(c *Config) { c.Journal = j })
		if err != nil {
			t.Fatal(err)
		}
		share := fairshare.New(fairshare.Options{Slots: 1, Max: 8})
		done := make(chan Verdict)
		go func() {
			ctx, end := inTurn(t, t.Context(), share.Join(1))
			defer end()
			done <- slow.Decide(ctx, bash(t, "ls"))[0].Verdict
		}()
		<-j.began
		ctx, end := inTurn(t, t.Context(), share.Join(1))
		start := time.Now()
		if d := e.Decide(ctx, bash(t, "ls"))[0]; d.Verdict != Allow || time.Since(start) != 0 {
			t.Errorf("%s after %v", d.Verdict, time.Since(start))
		}
		end()
		close(j.resume)
		if v := <-done; v != Allow {
			t.Errorf("the one that waited: %s", v)
		}
	})
}

// promptJournal is a stoppingJournal that expects not to wait.
type promptJournal struct{ stoppingJournal }

func (*promptJournal) Prompt() bool { return true }

// TestPromptJournalKeepsSlot: a single record that is stored at once does not cost the
// request its slot; others get it when the request ends.
func TestPromptJournalKeepsSlot(t *testing.T) {
	for records, want := range map[int]int{1: 1, 2: 0} {
		synctest.Test(t, func(t *testing.T) {
			_, _, _, e := newFakes(t)
			j := &promptJournal{stoppingJournal{began: make(chan struct{}), resume: make(chan struct{})}}
			e, err := e.With(func(c *Config) { c.Journal = j })
			if err != nil {
				t.Fatal(err)
			}
			share := fairshare.New(fairshare.Options{Slots: 1, Max: 8})
			go func() {
				ctx, end := inTurn(t, t.Context(), share.Join(1))
				defer end()
				e.Decide(ctx, calls(t, records)...)
			}()
			<-j.began
			go func() {
				_, end := inTurn(t, t.Context(), share.Join(2))
				end()
			}()
			synctest.Wait()
			if n := share.Waiting(); n != want {
				t.Errorf("%d records: %d wait, want %d", records, n, want)
			}
			close(j.resume)
			synctest.Wait()
			if len(j.recs) != records || share.Waiting() != 0 {
				t.Errorf("%d of %d records stored, %d wait still", len(j.recs), records, share.Waiting())
			}
		})
	}
}

// TestTooMuchMemory: a request whose decisions need more memory than its connection may
// have decides no further calls, and says so; without that it is decided.
func TestTooMuchMemory(t *testing.T) {
	for _, bytes := range []int{1 << 20, 64 << 20} {
		_, _, j, e := newFakes(t)
		m := fairshare.New(fairshare.Options{Slots: 1, Bytes: bytes}).Join(1)
		ctx, end := inTurn(t, t.Context(), m)
		var reqs []*Request
		for i := range 16 {
			var b strings.Builder
			for n := range 100 {
				fmt.Fprintf(&b, "ls a%d; ", i*100+n)
			}
			reqs = append(reqs, bash(t, b.String()))
		}
		decided := e.Decide(ctx, reqs...)
		last := decided[len(decided)-1]
		if refused := fairshare.TurnOf(ctx).Refused(); refused != (bytes == 1<<20) {
			t.Errorf("of %d bytes: refused %v", bytes, refused)
		} else if refused && (last.Verdict != Ask || last.By != ByFailure || !strings.Contains(last.Reason, "memory")) || !refused && last.Verdict != Allow {
			t.Errorf("of %d bytes: %s because %q", bytes, last.Verdict, last.Reason)
		}
		if len(j.recs) != len(reqs) || slices.ContainsFunc(decided, func(d *Decision) bool { return d == nil }) {
			t.Errorf("%d in the journal", len(j.recs))
		}
		end()
		if !m.Reserve(bytes / 8) {
			t.Error("the memory was not released")
		}
	}
}

// TestRefusedBeforeWork: a request whose decisions cannot have the memory that they need at
// least is refused before any of its calls is evaluated.
func TestRefusedBeforeWork(t *testing.T) {
	p, _, _, e := newFakes(t)
	evaluated := 0
	e, err := e.With(func(c *Config) { c.Policy = &pacedPolicy{p, 0, func() { evaluated++ }} })
	if err != nil {
		t.Fatal(err)
	}
	m := fairshare.New(fairshare.Options{Slots: 1, Bytes: 1 << 20}).Join(1)
	for most := 1 << 20; most > 0; most /= 2 {
		for m.Reserve(most) {
		}
	}
	m.Release(64 * decisionBytes / 2)
	for _, n := range []int{64, 2} {
		evaluated = 0
		ctx, end := inTurn(t, t.Context(), m)
		decided := e.Decide(ctx, calls(t, n)...)
		refused := fairshare.TurnOf(ctx).Refused()
		end()
		if n == 2 {
			if refused || evaluated == 0 || decided[0].Verdict != Allow {
				t.Errorf("%d calls: refused %v, %d evaluations, %s", n, refused, evaluated, decided[0].Verdict)
			}
		} else if !refused || evaluated != 0 || decided[0].Verdict != Ask || decided[0].By != ByFailure {
			t.Errorf("%d calls: refused %v, %d evaluations, %s by %s", n, refused, evaluated, decided[0].Verdict, decided[0].By)
		}
	}
}
