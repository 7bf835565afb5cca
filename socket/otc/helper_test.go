package otc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
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

// daemon is the methods with a fake decider, on one connection at a time.
type daemon struct {
	*fakeDecider
	methods socket.Methods
	conn    *socket.Conn
}

// newDaemon declares session s on the first connection.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{fakeDecider: &fakeDecider{verdicts: map[string]decisions.Verdict{}}, methods: socket.Methods{}}
	users := func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} }
	sessions := new(decisions.Sessions)
	deps := native.Deps{Sessions: sessions, Decider: d, Users: users, Rules: func(uint32, string) string { return d.digest }}
	native.Register(d.methods, deps)
	Register(d.methods, deps)
	d.connect(t, 1)
	return d
}

func (d *daemon) connect(t testing.TB, id uint64) {
	t.Helper()
	d.conn = &socket.Conn{ID: id, Peer: decisions.Peer{UID: 1000, PID: 7}}
	d.must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop","agent":{"name":"runtime"}}`)
}

// say sends a message, as the socket would.
func (d *daemon) say(t testing.TB, method, params string) (strictjson.Value, error) {
	t.Helper()
	return sockettest.Call(t.Context(), t, d.methods, d.conn, method, params)
}

func (d *daemon) must(t testing.TB, method, params string) string {
	t.Helper()
	v, err := d.say(t, method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return string(v)
}

// call asks about a call.
func (d *daemon) call(t testing.TB, params string) (a Answer) {
	t.Helper()
	decode(t, d.must(t, MethodCall, params), &a)
	return a
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// with adds members to an object.
func with(object, members string) string {
	return strings.TrimSuffix(strings.TrimSpace(object), "}") + "," + members + "}"
}
