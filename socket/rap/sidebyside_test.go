package rap

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// steadyKeeper remembers for whom something was stored, and what of it ended.
type steadyKeeper struct {
	sockettest.Unchanged

	mu    sync.Mutex
	n     int
	holds map[string]string // session by choice
}

func (k *steadyKeeper) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	var list []*decisions.Decision
	for _, r := range reqs {
		k.mu.Lock()
		k.n++
		id := fmt.Sprint("d", k.n)
		k.mu.Unlock()
		w := decisions.Width{ID: "w1", Rule: "use it"}
		list = append(list, &decisions.Decision{ID: id, CallID: r.Call.ID, Verdict: decisions.Ask, Widths: []decisions.Width{w}, Offer: &decisions.Offer{
			Sets: []decisions.OfferSet{{Width: w, Items: []decisions.OfferItem{{Query: &decisions.MemoryQuery{Session: r.Session, Effect: new(effects.Effect)}}}}},
		}})
	}
	return list
}

func (k *steadyKeeper) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := "c" + a.DecisionID
	k.holds[id] = a.Offer.Sets[0].Items[0].Query.Session.ID
	return []decisions.StoredChoice{{ID: id, Verdict: a.Verdict, Scope: a.Scope}}, nil
}

func (k *steadyKeeper) Drop(_ context.Context, ids ...string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		delete(k.holds, id)
	}
	return nil
}

func (k *steadyKeeper) EndSession(_ decisions.Owner, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for choice, session := range k.holds {
		if session == id {
			delete(k.holds, choice)
		}
	}
}

func (*steadyKeeper) EndConnection(decisions.Owner) {}

// TestSideBySide: in whatever order a connection's requests are interleaved, a
// thread that stays closed has no choices.
func TestSideBySide(t *testing.T) {
	keeper := &steadyKeeper{holds: map[string]string{}}
	methods := socket.Methods{}
	deps := native.Deps{Sessions: new(decisions.Sessions), Decider: keeper, Keeper: keeper, Users: func(uint32) effects.User { return effects.User{} }}
	native.Register(methods, deps)
	Register(methods, deps)
	conn := &socket.Conn{ID: 1}
	var reading sync.Mutex // the first phases are never side by side
	say := func(method, params string) (any, error) {
		reading.Lock()
		r, err := methods[method](conn, strictjson.Value(params))
		reading.Unlock()
		if err != nil {
			return nil, err
		}
		return r(t.Context())
	}
	var work sync.WaitGroup
	for n := range 8 {
		work.Go(func() {
			for i := range 100 {
				path := fmt.Sprintf("root/t%d", (n+i)%3)
				id := fmt.Sprintf("c%d_%d", n, i)
				r, err := say(MethodInvoke, invoked(id, path, "move", ""))
				if err != nil {
					continue // its thread was closed meanwhile
				}
				question := r.(*invokeResult).Decision.ID
				switch i % 5 {
				case 0:
					_, _ = say(MethodCloseThread, fmt.Sprintf(`{"thread_id":"t%d"}`, (n+i)%3))
				case 1:
					_, _ = say(MethodCancel, fmt.Sprintf(`{"thread_id":"t%d","tool_call_id":%q}`, (n+i)%3, id))
				case 2:
					_, _ = say(MethodCloseThread, `{"thread_id":"root"}`)
				}
				_, _ = say(MethodChoice, chosen(question, i%4))
			}
		})
	}
	work.Wait()
	for _, thread := range []string{"root", "t0", "t1", "t2"} {
		if _, err := say(MethodCloseThread, fmt.Sprintf(`{"thread_id":%q}`, thread)); err != nil {
			t.Error(err)
		}
	}
	if len(keeper.holds) != 0 {
		t.Errorf("closed threads hold %v", keeper.holds)
	}
	if s := stateOf(conn); len(s.pending) != 0 || len(s.threads) != 0 || len(s.known) != 0 || len(s.order) != 0 {
		t.Errorf("%d calls, %d threads, %d ids are left", len(s.pending), len(s.threads), len(s.known))
	}
}
