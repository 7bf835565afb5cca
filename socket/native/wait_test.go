package native

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
)

// waitDaemon is a waiting question without a connection.
type waitDaemon struct {
	waiting  *WaitingQuestions
	asks     *PendingQuestions
	question *waitingQuestion
	keeper   *persistentKeeper
}

func newWaitDaemon(t *testing.T) *waitDaemon {
	t.Helper()
	d := &waitDaemon{waiting: new(WaitingQuestions), asks: new(PendingQuestions), keeper: new(persistentKeeper)}
	h := &handler{Deps: Deps{Keeper: d.keeper, Waiting: d.waiting, Decider: new(fakeDecider)}}
	d.asks.Add(&PendingQuestion{
		ID: "d1", SessionID: "s", Offer: &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}},
		Decision: &decisions.Decision{ID: "d1", Verdict: decisions.Ask}, Request: new(decisions.Request), Resolve: selectVerdict,
	})
	ask, err := d.asks.watch("d1")
	if err != nil {
		t.Fatal(err)
	}
	d.question = &waitingQuestion{h: h, asks: d.asks, ask: ask, uid: 1000, answer: make(chan *waitResult, 1)}
	if err := d.waiting.add(d.question); err != nil {
		t.Fatal(err)
	}
	return d
}

// await starts to wait for the answer.
func (d *waitDaemon) await(ctx context.Context) <-chan *waitResult {
	got := make(chan *waitResult, 1)
	go func() { got <- d.waiting.await(ctx, d.question, time.Minute) }()
	return got
}

func (d *waitDaemon) answer(t *testing.T, v decisions.Verdict, width string) error {
	t.Helper()
	uid := uint32(1000)
	_, err := d.waiting.Answer(t.Context(), &uid, Answer{DecisionID: "d1", Verdict: v, Width: width})
	return err
}

// TestWaitAfterFailure: an answer that could not be stored leaves the question waiting, and
// the next one is heard.
func TestWaitAfterFailure(t *testing.T) {
	d := newWaitDaemon(t)
	got := d.await(t.Context())
	d.keeper.err = errors.New("the disk is full")
	if err := d.answer(t, decisions.Allow, "w1"); err == nil {
		t.Fatal("it was stored")
	}
	if len(d.waiting.Questions(nil)) != 1 || len(got) != 0 {
		t.Fatal("the question waits no longer")
	}
	if err := d.answer(t, decisions.Allow, "w9"); err == nil {
		t.Fatal("a width that was not offered was stored")
	}
	d.keeper.err = nil
	if err := d.answer(t, decisions.Allow, "w1"); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r == nil || r.Answer != "allow" || len(r.Stored) != 1 {
		t.Errorf("the client hears %+v", r)
	}
	if err := d.answer(t, decisions.Deny, ""); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("a second answer: %v", err)
	}
}

// TestWaitOfAnother: nobody answers the questions of another person.
func TestWaitOfAnother(t *testing.T) {
	d := newWaitDaemon(t)
	other := uint32(1001)
	if len(d.waiting.Questions(&other)) != 0 {
		t.Error("they are listed")
	}
	if _, err := d.waiting.Answer(t.Context(), &other, Answer{DecisionID: "d1", Verdict: decisions.Allow}); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("they are answered: %v", err)
	}
}

// TestWaitEnds: a wait ends with its time, its request, its question and the daemon, while
// no answer is being stored; one that is being stored is heard.
func TestWaitEnds(t *testing.T) {
	for name, end := range map[string]func(d *waitDaemon, cancel func()){
		"time":     func(*waitDaemon, func()) { time.Sleep(time.Minute + time.Second) },
		"request":  func(_ *waitDaemon, cancel func()) { cancel() },
		"question": func(d *waitDaemon, _ func()) { d.asks.RemoveSession("s") },
		"daemon":   func(d *waitDaemon, _ func()) { d.waiting.End() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newWaitDaemon(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := d.await(ctx)
				end(d, cancel)
				if r := <-got; r != nil {
					t.Errorf("it ends with %+v", r)
				}
				if len(d.waiting.Questions(nil)) != 0 || !errors.Is(d.answer(t, decisions.Allow, ""), ErrNoQuestion) {
					t.Error("it can be answered")
				}
			})
		})
		t.Run(name+", while an answer is stored", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newWaitDaemon(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := d.await(ctx)
				storing := &meanwhile{happens: func() {
					end(d, cancel)
					synctest.Wait()
					if len(got) != 0 {
						t.Error("the client hears before the answer is stored")
					}
				}}
				d.question.h.Keeper = storing
				err := d.answer(t, decisions.Allow, "w1")
				r := <-got
				if ended := name == "question"; (err != nil) != ended || r == nil || (r.err != nil) != ended || len(storing.dropped) > 0 != ended {
					t.Errorf("the person hears %v, the client %+v, revoked %v", err, r, storing.dropped)
				}
			})
		})
	}
	d := newWaitDaemon(t)
	d.waiting.End()
	if err := d.waiting.add(d.question); err == nil {
		t.Error("a daemon that ends lets clients wait")
	}
}

// TestWaitBounds: one person's questions do not take the place of another's.
func TestWaitBounds(t *testing.T) {
	d := newWaitDaemon(t)
	for range maxWaits - 1 {
		if err := d.waiting.add(&waitingQuestion{uid: 1000, ask: d.question.ask}); err != nil {
			t.Fatal(err)
		}
	}
	if d.waiting.add(&waitingQuestion{uid: 1000}) == nil {
		t.Error("more wait than may")
	}
	if err := d.waiting.add(&waitingQuestion{uid: 1001}); err != nil {
		t.Errorf("another person's: %v", err)
	}
}
