package native

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
)

// TestReconsiderStorm: rules change all the time, and clients have a thousand questions. A client with
// one waits for none of theirs, each round ends, and rounds of one client never overlap.
func TestReconsiderStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		var running sync.Map
		var overlap atomic.Bool
		r.during = func(session string) {
			n, _ := running.LoadOrStore(session, new(atomic.Int32))
			if n.(*atomic.Int32).Add(1) > 1 {
				overlap.Store(true)
			}
			time.Sleep(10 * time.Millisecond)
			n.(*atomic.Int32).Add(-1)
		}
		const persons, each = 4, 250
		for p := range uint32(persons) {
			for i := range each {
				r.waits(t, p, fmt.Sprint("hog", p), fmt.Sprint("q", p, "-", i))
			}
		}
		r.waits(t, 9, "small", "small")
		start := time.Now()
		const changes = 100
		for range changes {
			r.Tell(nil)
			time.Sleep(100 * time.Millisecond)
		}
		r.rulesOf.mu.Lock()
		looked := maps.Clone(r.looked)
		r.rulesOf.mu.Unlock()
		// The small client had its round after each change, but for its rest.
		if n := looked["small"]; n < changes/3 {
			t.Errorf("the client with one question was decided %d times in %v", n, time.Since(start))
		}
		for p := range persons {
			// A round takes 2.5 s, and rests for four times that.
			if n := looked[fmt.Sprint("hog", p)]; n < each || n > 2*each {
				t.Errorf("%d decisions for a client of %d questions", n, each)
			}
		}
		if overlap.Load() {
			t.Error("two calls of one client were decided at one time")
		}
		r.set("", map[string]decisions.Verdict{"q0-0": decisions.Allow, "q3-249": decisions.Allow, "small": decisions.Deny})
		r.Tell(nil)
		r.want(t, "the small client", r.answer("small"), "deny by policy")
		time.Sleep(time.Minute)
		r.want(t, "the first of a thousand", r.answer("q0-0"), "allow by policy")
		r.want(t, "the last of a thousand", r.answer("q3-249"), "allow by policy")
		time.Sleep(time.Minute)
		r.Reconsideration.mu.Lock()
		defer r.Reconsideration.mu.Unlock()
		if len(r.clients) > 0 {
			t.Errorf("%d clients are kept", len(r.clients))
		}
	})
}

// TestReconsiderExpiry: what ends by itself is noticed, also by questions that were asked before.
func TestReconsiderExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		ends := time.Now().Add(time.Hour / 2)
		r.Next = func(uint32) time.Time {
			if time.Now().Before(ends) {
				return ends
			}
			return time.Time{}
		}
		r.waits(t, 1, "a", "call")
		time.Sleep(10 * time.Minute)
		r.set("", map[string]decisions.Verdict{"call": decisions.Deny})
		time.Sleep(time.Until(ends))
		r.want(t, "at the end", r.answer("call"), "deny by policy")
	})
}

// TestReconsideredLate: a question of before a change is decided again when its client begins to wait,
// another one is not.
func TestReconsideredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		r.waits(t, 1, "a", "first")
		time.Sleep(time.Minute)
		if r.lookedAt("a") != 0 {
			t.Errorf("decided again %d times", r.lookedAt("a"))
		}
		req := &decisions.Request{Session: decisions.SessionRef{ID: "b"}}
		req.Call.ID = "late"
		asks := new(PendingQuestions)
		asks.Add(&PendingQuestion{
			ID: "late", Decision: &decisions.Decision{ID: "late", Verdict: decisions.Ask, By: decisions.ByPolicy}, Request: req, Resolve: selectVerdict,
			Again: new(Shells).decidedNow("b", false),
		})
		r.set("", map[string]decisions.Verdict{"late": decisions.Allow})
		r.Tell(nil)
		time.Sleep(time.Minute)
		r.await(t, 1, asks, "late")
		r.want(t, "it begins to wait", r.answer("late"), "allow by policy")
	})
}

// TestReconsideredShell: in a shell that stays alive, and may have changed since, no call is allowed that
// was asked about before.
func TestReconsideredShell(t *testing.T) {
	shells := new(Shells)
	allow, deny := &decisions.Decision{Verdict: decisions.Allow}, &decisions.Decision{Verdict: decisions.Deny}
	live, own := shells.decidedNow("s", true), shells.decidedNow("s", false)
	if live(allow) == nil {
		t.Error("nothing has changed")
	}
	shells.MarkUnknown("s")
	if live(allow) != nil || live(deny) == nil || own(allow) == nil {
		t.Error("the shell has changed")
	}
}

// TestReconsiderPersistent: the question of a harness ends when rules decide its call, and is another one
// when it is asked otherwise. A yes that waits for the call is not used up.
func TestReconsiderPersistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		l := r.Persistent
		f := l.treeOf(1, "claude", "s")
		add := func(id string) *decisions.Request {
			req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
			req.Call.ID, req.Call.Tool.Name, req.Call.Input = id, id, []byte(`{"n":1}`)
			d := &decisions.Decision{ID: id, Verdict: decisions.Ask, By: decisions.ByPolicy}
			l.noteDecided(f, req, d)
			l.addQuestion(f, req, d)
			return req
		}
		ids := func() (list []string) {
			for _, q := range l.Questions(nil) {
				list = append(list, q.Decision.ID)
			}
			slices.Sort(list)
			return list
		}
		add("yes")
		add("no")
		granted := add("granted")
		if _, err := l.AllowOnce(nil, "granted", logged); err != nil {
			t.Fatal(err)
		}
		add("stays")
		r.set("", map[string]decisions.Verdict{"yes": decisions.Allow, "no": decisions.Deny})
		r.Tell(nil)
		time.Sleep(time.Second)
		r.want(t, "open", fmt.Sprint(ids()), "[stays]")
		if n := r.recorded(); n != 0 {
			t.Errorf("%d decisions are recorded for nobody", n)
		}
		r.set("another reason", nil)
		r.Tell(nil)
		time.Sleep(time.Second)
		r.want(t, "open", fmt.Sprint(ids()), "[m1]")
		if _, err := l.AllowOnce(nil, "stays", logged); !errors.Is(err, ErrNoQuestion) {
			t.Errorf("a yes to what was asked before: %v", err)
		}
		p := &finishedParams{SessionID: "s", Harness: "claude", Call: &finishedCall{CallID: "stays", Tool: "stays", Input: []byte(`{"n":1}`)}}
		r.want(t, "the call has run", fmt.Sprint(l.finished(1, p)), "[m1]")
		if !l.TakeGrant(granted, &decisions.Decision{ID: "x", Verdict: decisions.Ask, By: decisions.ByPolicy}) {
			t.Error("the yes for once is gone")
		}
	})
}
