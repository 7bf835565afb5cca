package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
)

// meanwhile is a memory in which something happens while a choice is being stored.
type meanwhile struct {
	dropper
	happens func()
	stored  bool
}

func (k *meanwhile) Keep(ctx context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	k.stored = true
	k.happens()
	return []decisions.StoredChoice{{ID: "c1", Scope: a.Scope}}, nil
}

// TestEndedWhileStored: a question that ends while the answer is stored has ended. An allow
// of it is revoked, however wide, and the client is not told that it counts.
func TestEndedWhileStored(t *testing.T) {
	offer := &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}, Reject: &decisions.Rejection{}}
	for _, tc := range []struct {
		name    string
		answer  Answer
		ends    bool
		dropped []string
	}{
		{"allow for the session", Answer{Verdict: decisions.Allow, Width: "w1", Scope: "session"}, true, []string{"c1"}},
		{"allow for everything", Answer{Verdict: decisions.Allow, Width: "w1", Scope: "user"}, true, []string{"c1"}},
		{"reject for the session", Answer{Verdict: decisions.Deny, Scope: "session"}, true, []string{"c1"}},
		{"reject for everything, which allows nothing", Answer{Verdict: decisions.Deny, Scope: "user"}, true, nil},
		{"allow, and nothing ends", Answer{Verdict: decisions.Allow, Width: "w1", Scope: "user"}, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asks PendingQuestions
			memory := &meanwhile{happens: func() {
				if tc.ends {
					asks.RemoveSession("s")
				}
			}}
			recorded := 0
			deps := Deps{Keeper: memory, RecordAnswer: func(context.Context, string, decisions.Verdict, author.Identity, []decisions.StoredChoice) error {
				recorded++
				return nil
			}}
			asks.Add(&PendingQuestion{ID: "d1", SessionID: "s", Offer: offer})
			tc.answer.DecisionID = "d1"
			_, err := AnswerQuestion(t.Context(), deps, &asks, tc.answer)
			if (err != nil) != tc.ends || (recorded == 1) == tc.ends {
				t.Errorf("error %v, recorded %d times", err, recorded)
			}
			if !slices.Equal(memory.dropped, tc.dropped) {
				t.Errorf("revoked %v, want %v", memory.dropped, tc.dropped)
			}
		})
	}
}

// TestAnsweredOutOfBandOnce: while an answer of permd allow is stored, no other counts, and
// none is stored for a question that ends meanwhile.
func TestAnsweredOutOfBandOnce(t *testing.T) {
	for name, ends := range map[string]bool{"it stays open": false, "it ends": true} {
		t.Run(name, func(t *testing.T) {
			d := newPersistentDaemon()
			tree := d.lasting.treeOf(1000, "claude", "s")
			req := &decisions.Request{Session: decisions.SessionRef{Conn: tree.owner.Conn, ID: "s"}}
			d.lasting.addQuestion(tree, req, &decisions.Decision{ID: "1", Verdict: decisions.Ask})
			memory := &meanwhile{}
			memory.happens = func() {
				if _, err := d.lasting.AllowOnce(nil, "1", logged); !errors.Is(err, ErrNoQuestion) {
					t.Errorf("another answer meanwhile: %v", err)
				}
				if _, err := d.lasting.AllowAlways(t.Context(), nil, memory, decisions.Answer{DecisionID: "1"}); !errors.Is(err, ErrNoQuestion) {
					t.Errorf("the same answer meanwhile: %v", err)
				}
				if ends {
					d.lasting.removeQuestions(tree.owner, "s")
				}
			}
			_, err := d.lasting.AllowAlways(t.Context(), nil, memory, decisions.Answer{DecisionID: "1"})
			if errors.Is(err, ErrNoQuestion) != ends || slices.Equal(memory.dropped, []string{"c1"}) != ends {
				t.Errorf("error %v, revoked %v", err, memory.dropped)
			}
			if open := d.lasting.Questions(nil); len(open) != 0 {
				t.Errorf("%d are open", len(open))
			}
		})
	}
}

// logged logs an answer.
func logged() error { return nil }

// TestAllowOnceLogged: the answer is logged when nothing can refuse it any more, once, and
// does not count if that fails; then the question is still open.
func TestAllowOnceLogged(t *testing.T) {
	d := newPersistentDaemon()
	tree := d.lasting.treeOf(1000, "claude", "s")
	req := &decisions.Request{Session: decisions.SessionRef{Conn: tree.owner.Conn, ID: "s"}}
	d.lasting.addQuestion(tree, req, &decisions.Decision{ID: "1", Verdict: decisions.Ask})
	full := errors.New("the disk is full")
	if _, err := d.lasting.AllowOnce(nil, "1", func() error { return full }); !errors.Is(err, full) {
		t.Errorf("not logged: %v", err)
	}
	if len(d.lasting.Questions(nil)) != 1 || len(d.lasting.grants) != 0 {
		t.Fatalf("not logged: %d questions, %d approvals", len(d.lasting.Questions(nil)), len(d.lasting.grants))
	}
	times := 0
	_, err := d.lasting.AllowOnce(nil, "1", func() error {
		times++
		if _, err := d.lasting.AllowOnce(nil, "1", func() error { times++; return nil }); !errors.Is(err, ErrNoQuestion) {
			t.Errorf("another answer meanwhile: %v", err)
		}
		if len(d.lasting.grants) != 0 {
			t.Error("it counts before it is logged")
		}
		d.lasting.removeQuestions(tree.owner, "s")
		return nil
	})
	if err != nil || times != 1 || len(d.lasting.grants) != 1 {
		t.Errorf("%v; logged %d times, %d approvals", err, times, len(d.lasting.grants))
	}
	if _, err := d.lasting.AllowOnce(nil, "1", func() error { times++; return nil }); !errors.Is(err, ErrNoQuestion) || times != 1 {
		t.Errorf("an ended question: %v, logged %d times", err, times)
	}
}

// TestTakenBackWhileLogged: a yes for once that is taken back while it is being logged, by its id
// or with all of its person, allows nothing and is named as taken back. Those of others count.
func TestTakenBackWhileLogged(t *testing.T) {
	me, other := uint32(1000), uint32(1001)
	for _, tc := range []struct {
		name  string
		uid   *uint32
		id    string
		taken bool
	}{
		{"all of the person", &me, "", true},
		{"the question", &me, "1", true},
		{"all of all", nil, "", true},
		{"all of another person", &other, "", false},
		{"another question", &me, "2", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newPersistentDaemon()
			tree := d.lasting.treeOf(1000, "claude", "s")
			req := &decisions.Request{Session: decisions.SessionRef{Conn: tree.owner.Conn, ID: "s"}}
			dec := &decisions.Decision{ID: "1", Verdict: decisions.Ask}
			d.lasting.addQuestion(tree, req, dec)
			var answered []string
			_, err := d.lasting.AllowOnce(&me, "1", func() error {
				answered = d.lasting.TakeBack(tc.uid, tc.id)
				return nil
			})
			if (err != nil) != tc.taken || slices.Equal(answered, []string{"1"}) != tc.taken {
				t.Errorf("%v; taken back: %v", err, answered)
			}
			if d.lasting.TakeGrant(req, dec) == tc.taken || len(d.lasting.Questions(nil)) != 0 || len(d.lasting.granting) != 0 {
				t.Errorf("%d questions, %d grants", len(d.lasting.Questions(nil)), len(d.lasting.grants))
			}
			d.lasting.addQuestion(tree, req, dec)
			full := errors.New("the disk is full")
			_, err = d.lasting.AllowOnce(&me, "1", func() error { d.lasting.TakeBack(tc.uid, tc.id); return full })
			if open := len(d.lasting.Questions(nil)) != 0; !errors.Is(err, full) || open == tc.taken {
				t.Errorf("not logged: %v, open %v", err, open)
			}
			d.lasting.questions = nil
			d.lasting.addQuestion(tree, req, dec)
			if _, err := d.lasting.AllowOnce(&me, "1", logged); err != nil || !d.lasting.TakeGrant(req, dec) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestEndWhileAnswered: a session may be closed, or declared otherwise, at any point of an
// answer that is given elsewhere. The person, the client that waits and the decision log are
// told the same, and a choice is kept only if the answer counts.
func TestEndWhileAnswered(t *testing.T) {
	points := []string{"never", "rules", "holds", "stored", "logged"}
	for _, width := range []string{"", "w1"} {
		for _, point := range points {
			for _, closes := range []bool{true, false} { // the session alone is another one, or the question has ended too
				t.Run(fmt.Sprintf("%q at %s, %v", width, point, closes), func(t *testing.T) {
					var asks PendingQuestions
					ended, logged := false, 0
					at := func(p string) {
						if p != point || ended {
							return
						}
						if ended = true; closes {
							asks.RemoveSession("s")
						}
					}
					memory := &meanwhile{happens: func() { at("stored") }}
					waiting := new(WaitingQuestions)
					h := &handler{Deps: Deps{
						Keeper: memory, Waiting: waiting, Decider: &slowDecider{holds: func() { at("holds") }},
						Rules: func(uint32, string) string { at("rules"); return "" },
						RecordAnswer: func(context.Context, string, decisions.Verdict, author.Identity, []decisions.StoredChoice) error {
							logged++
							at("logged")
							return nil
						},
					}}
					asks.Add(&PendingQuestion{
						ID: "d1", SessionID: "s", Offer: &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}},
						Decision: &decisions.Decision{ID: "d1", Verdict: decisions.Ask}, Request: new(decisions.Request), Resolve: selectVerdict,
						Refresh: func(r *decisions.Request) {
							if ended {
								r.Session.Mode = "another"
							}
						},
					})
					ask, err := asks.watch("d1")
					if err != nil {
						t.Fatal(err)
					}
					w := &waitingQuestion{h: h, asks: &asks, ask: ask, uid: 1000, answer: make(chan *waitResult, 1)}
					if err := waiting.add(w); err != nil {
						t.Fatal(err)
					}
					got := make(chan *waitResult, 1)
					go func() { got <- waiting.await(t.Context(), w, time.Minute) }()
					_, err = waiting.Answer(t.Context(), nil, Answer{DecisionID: "d1", Verdict: decisions.Allow, Width: width})
					r := <-got
					client := r != nil && r.err == nil && r.Answer == "allow"
					counts := err == nil
					if client != counts || (logged == 1) != counts {
						t.Errorf("the person is told %v, the client %+v, logged %d times", err, r, logged)
					}
					if width != "" && memory.stored != (len(memory.dropped) > 0) && !counts {
						t.Errorf("stored %v, revoked %v", memory.stored, memory.dropped)
					}
					if want := point == "never" || point == "logged" || point == "stored" && width == ""; counts != want {
						t.Errorf("it counts: %v", counts)
					}
				})
			}
		}
	}
}

// slowDecider is a decider during whose look at the call something happens.
type slowDecider struct {
	fakeDecider
	holds func()
}

func (d *slowDecider) Holds(context.Context, *decisions.Request, *decisions.Decision) error {
	d.holds()
	return nil
}
