package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket/sockettest"
)

// rulesOf decides calls by their ids: what they are mapped to, or ask for the reason in why.
type rulesOf struct {
	sockettest.Unchanged

	mu       sync.Mutex
	verdicts map[string]decisions.Verdict
	why      string
	fails    error
	made     int
	looked   map[string]int           // how often a call was decided again, by session
	during   func(session string)     // called while a call is decided again
	record   func(*decisions.Request) // called while a call is decided for the record
}

func (f *rulesOf) now(r *decisions.Request, id string) *decisions.Decision {
	d := &decisions.Decision{ID: id, CallID: r.Call.ID, Verdict: decisions.Ask, By: decisions.ByPolicy, Reason: f.why, Effects: []decisions.EffectDecision{}}
	if v := f.verdicts[r.Call.ID]; v != "" {
		d.Verdict = v
	}
	return d
}

func (f *rulesOf) Decide(_ context.Context, reqs ...*decisions.Request) (list []*decisions.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range reqs {
		f.made++
		list = append(list, f.now(r, fmt.Sprint("m", f.made)))
	}
	return list
}

func (f *rulesOf) Reconsider(_ context.Context, r *decisions.Request, asked *decisions.Decision) (*decisions.Decision, error) {
	if f.during != nil {
		f.during(r.Session.ID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looked == nil {
		f.looked = map[string]int{}
	}
	f.looked[r.Session.ID]++
	if f.fails != nil {
		return nil, f.fails
	}
	if d := f.now(r, asked.ID); d.Verdict != decisions.Ask || d.Reason != asked.Reason {
		return d, nil
	}
	return nil, nil
}

func (f *rulesOf) DecideAgain(ctx context.Context, r *decisions.Request, _ *decisions.Decision) *decisions.Decision {
	if f.record != nil {
		f.record(r)
	}
	return f.Decide(ctx, r)[0]
}

func (f *rulesOf) set(why string, verdicts map[string]decisions.Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why, f.verdicts = why, verdicts
}

// lookedAt is how often a call of a session was decided again, and recorded how many decisions
// are recorded.
func (f *rulesOf) lookedAt(session string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looked[session]
}

func (f *rulesOf) recorded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made
}

// reconsidered are clients whose questions are decided again.
type reconsidered struct {
	*rulesOf
	*Reconsideration
	heard map[string]<-chan *waitResult
	asks  map[string]*PendingQuestions
	stop  context.CancelFunc
}

func newReconsidered(t *testing.T) *reconsidered {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	f := &rulesOf{}
	r := &reconsidered{
		rulesOf: f, stop: stop, heard: map[string]<-chan *waitResult{}, asks: map[string]*PendingQuestions{},
		Reconsideration: &Reconsideration{Reconsiderer: f, Waiting: new(WaitingQuestions), Persistent: &PersistentSessions{Now: time.Now}},
	}
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	synctest.Wait()
	t.Cleanup(func() { stop(); <-ended })
	return r
}

// waits has a client wait for the answer to a question about a call, which is its id.
func (r *reconsidered) waits(t *testing.T, uid uint32, client, id string) {
	t.Helper()
	asks := r.asks[client]
	if asks == nil {
		asks = new(PendingQuestions)
		r.asks[client] = asks
	}
	req := &decisions.Request{Session: decisions.SessionRef{ID: client}}
	req.Call.ID = id
	asks.Add(&PendingQuestion{
		ID: id, SessionID: client, Decision: &decisions.Decision{ID: id, Verdict: decisions.Ask, By: decisions.ByPolicy}, Request: req, Resolve: selectVerdict,
		Again: new(Shells).decidedNow(client, false),
	})
	r.await(t, uid, asks, id)
}

func (r *reconsidered) await(t *testing.T, uid uint32, asks *PendingQuestions, id string) {
	t.Helper()
	ask, err := asks.watch(id)
	if err != nil {
		t.Fatal(err)
	}
	w := &waitingQuestion{
		h: &handler{Deps: Deps{Decider: r.rulesOf, Waiting: r.Waiting}}, asks: asks, ask: ask, ended: ask.ended, uid: uid, answer: make(chan *waitResult, 1), asked: time.Now(),
	}
	if err := r.Waiting.add(w); err != nil {
		t.Fatal(err)
	}
	got := make(chan *waitResult, 1)
	r.heard[id] = got
	go func() { got <- r.Waiting.await(t.Context(), w, time.Hour) }()
}

// answer is what the client of a question hears within a second.
func (r *reconsidered) answer(id string) string {
	select {
	case a := <-r.heard[id]:
		switch {
		case a == nil:
			return "none"
		case a.err != nil:
			return a.err.Error()
		}
		return a.Answer + " by " + string(a.DecidedBy)
	case <-time.After(time.Second):
		return "it waits"
	}
}

func (r *reconsidered) open() (ids []string) {
	for _, q := range r.Waiting.Questions(nil) {
		ids = append(ids, q.Decision.ID)
	}
	return ids
}

func (r *reconsidered) want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestReconsidered: what rules decide by now is told to who waits, and to nobody else; a question
// that is asked otherwise has another id, under which alone a yes counts.
func TestReconsidered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		mine, others := uint32(1), uint32(2)
		r.waits(t, mine, "a", "yes")
		r.waits(t, mine, "a", "no")
		r.waits(t, mine, "a", "stays")
		r.waits(t, others, "b", "other")
		r.set("", map[string]decisions.Verdict{"yes": decisions.Allow, "no": decisions.Deny, "other": decisions.Allow})
		r.Tell(&mine)
		r.want(t, "allowed", r.answer("yes"), "allow by policy")
		r.want(t, "denied", r.answer("no"), "deny by policy")
		r.want(t, "the same question", r.answer("stays"), "it waits")
		r.want(t, "that of another person", r.answer("other"), "it waits")
		r.want(t, "open", fmt.Sprint(r.open()), "[stays other]")
		r.Tell(nil)
		r.want(t, "for everybody", r.answer("other"), "allow by policy")

		r.set("another reason", nil)
		made := r.recorded()
		r.Tell(nil)
		time.Sleep(time.Second)
		id := fmt.Sprint("m", made+1)
		r.want(t, "open", fmt.Sprint(r.open()), "["+id+"]")
		for _, of := range []struct{ id, want string }{{"stays", "no question"}, {id, "allow by "}} {
			_, err := r.Waiting.Answer(t.Context(), nil, Answer{DecisionID: of.id, Verdict: decisions.Allow})
			if of.id == "stays" {
				if !errors.Is(err, ErrNoQuestion) {
					t.Errorf("a yes to what was asked before: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			r.want(t, "answered", r.answer("stays"), of.want)
		}
	})
}

// TestReconsideredOfClient: the client knows its question by the first id. Its own yes is for what was
// asked under that, its no for the call; and it can wait once more.
func TestReconsideredOfClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			r := newReconsidered(t)
			r.waits(t, 1, "a", "call")
			r.set("another reason", nil)
			r.Tell(nil)
			time.Sleep(time.Second)
			asks := r.asks["a"]
			if len(r.open()) != 1 || r.open()[0] == "call" {
				t.Fatalf("open: %q", r.open())
			}
			if _, err := asks.watch("call"); err == nil || !strings.Contains(err.Error(), "awaited already") {
				t.Errorf("a second wait: %v", err)
			}
			p := chooseParams{DecisionID: "call", Verdict: verdict}
			_, err := p.reserve(asks, author.Identity{}, false)
			if refused := errors.Is(err, errAskedAnew); refused != (verdict == decisions.Allow) || !refused && err != nil {
				t.Errorf("%s to the first id: %v", verdict, err)
			}
			if verdict == decisions.Allow {
				r.want(t, "the wait", r.answer("call"), "none")
			}
			r.stop()
		}
	})
}

// TestReconsiderFails: a call that cannot be decided waits on, is tried again, and no answer is lost.
func TestReconsiderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconsidered(t)
		r.fails = errors.New("the rules do not compile")
		r.waits(t, 1, "a", "call")
		r.set("", map[string]decisions.Verdict{"call": decisions.Allow})
		r.Tell(nil)
		time.Sleep(10 * time.Minute)
		r.want(t, "a failure", r.answer("call"), "it waits")
		if n := r.lookedAt("a"); n < 10 || n > 20 {
			t.Errorf("tried %d times in 10 minutes", n)
		}
		r.rulesOf.mu.Lock()
		r.fails = nil
		r.rulesOf.mu.Unlock()
		time.Sleep(maxReconsiderRetry)
		r.want(t, "after the failure", r.answer("call"), "allow by policy")
		// What is decided for the record fails.
		r.waits(t, 1, "a", "other")
		r.set("", map[string]decisions.Verdict{"other": decisions.Allow})
		r.record = func(*decisions.Request) { r.set("", nil) } // it asks after all
		r.Tell(nil)
		time.Sleep(time.Second)
		if open := r.open(); len(open) != 1 {
			t.Errorf("open: %q", open)
		}
	})
}

// TestReconsiderEnds: the client goes, the session changes, a person answers, and the daemon stops,
// while a call is decided again: nothing is allowed that must not be.
func TestReconsiderEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(r *reconsidered)
		want      string
	}{
		"the client goes": {func(r *reconsidered) { r.asks["a"].RemoveSession("a") }, "none"},
		"a person says no": {func(r *reconsidered) {
			_, _ = r.Waiting.Answer(context.Background(), nil, Answer{DecisionID: "call", Verdict: decisions.Deny})
		}, "deny by "},
		"the daemon stops": {func(r *reconsidered) { r.Waiting.End(); r.stop() }, "none"},
		"the session moves": {func(r *reconsidered) {
			r.asks["a"].list[0].Refresh = func(q *decisions.Request) { q.Call.Cwd = "/elsewhere" }
		}, "it waits"},
	} {
		for when, at := range map[string]func(r *reconsidered, f func()){
			"looked at": func(r *reconsidered, f func()) { r.during = func(string) { f() } },
			"recorded":  func(r *reconsidered, f func()) { r.record = func(*decisions.Request) { f() } },
		} {
			t.Run(name+", "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newReconsidered(t)
					r.waits(t, 1, "a", "call")
					r.set("", map[string]decisions.Verdict{"call": decisions.Allow})
					at(r, sync.OnceFunc(func() { tt.meanwhile(r) }))
					r.Tell(nil)
					want := tt.want
					if when == "recorded" && (name == "a person says no" || name == "the daemon stops") {
						want = "allow by policy" // it is decided; the person is told that nothing waits
					}
					r.want(t, name, r.answer("call"), want)
				})
			})
		}
	}
}
