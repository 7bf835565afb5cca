package otc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// fakeDecider answers by the tool's name; what it does not know is ask. Like the
// engine, it allows nothing that is defective.
type fakeDecider struct {
	sockettest.Unchanged

	verdicts map[string]decisions.Verdict
	message  string // of denies
	changed  bool   // deciding again would give another answer
	gone     bool   // a yes no longer fits the call
	digest   string
	got      []*decisions.Request
	again    int
	lost     bool // it returns no valid decision
}

func (f *fakeDecider) Decide(_ context.Context, reqs ...*decisions.Request) (list []*decisions.Decision) {
	for _, r := range reqs {
		f.got = append(f.got, r)
		v := f.verdicts[r.Call.Tool.Name]
		if v == "" || v == decisions.Allow && (r.Call.Incomplete != "" || r.Call.Defects != nil) {
			v = decisions.Ask
		}
		d := &decisions.Decision{
			ID: fmt.Sprint("d", len(f.got)), CallID: r.Call.ID, Verdict: v, By: decisions.ByPolicy, Reason: "internal: rules.rego:7",
			Policy: decisions.PolicyRef{Digest: f.digest}, Defects: r.Call.Defects,
			Effects: []decisions.EffectDecision{{Kind: effects.KindUse, Verdict: v, Rules: []decisions.RuleRef{{ID: "org.limit"}}}},
		}
		if v == decisions.Deny {
			d.Message = f.message
		}
		list = append(list, d)
	}
	if f.lost {
		return nil
	}
	return list
}

func (f *fakeDecider) StillHolds(context.Context, *decisions.Request, *decisions.Decision) bool {
	f.again++
	return !f.changed
}

func (f *fakeDecider) Holds(context.Context, *decisions.Request, *decisions.Decision) error {
	if f.gone {
		return decisions.ErrChanged
	}
	return nil
}

// daemon is the methods with a fake decider, on one connection at a time.
type daemon struct {
	*fakeDecider
	sockettest.Client
}

// newDaemon declares session s on the first connection.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{fakeDecider: &fakeDecider{verdicts: map[string]decisions.Verdict{}}, Client: sockettest.Client{Methods: socket.Methods{}}}
	users := func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} }
	sessions := new(decisions.Sessions)
	deps := native.Deps{Sessions: sessions, Decider: d, Users: users, Rules: func(uint32, string) string { return d.digest }}
	native.Register(d.Methods, deps)
	Register(d.Methods, deps)
	d.connect(t, 1)
	return d
}

func (d *daemon) connect(t testing.TB, id uint64) {
	t.Helper()
	d.Connect(id)
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop","agent":{"name":"runtime"}}`)
}

// call asks about a call.
func (d *daemon) call(t testing.TB, params string) (a Answer) {
	t.Helper()
	decode(t, d.Must(t, MethodCall, params), &a)
	return a
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// with adds members to an object.
func with(object, members string) string {
	return strings.TrimSuffix(strings.TrimSpace(object), "}") + "," + members + "}"
}
