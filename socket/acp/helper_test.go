package acp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// fakeDecider answers every request alike and keeps what it was asked.
type fakeDecider struct {
	sockettest.Unchanged

	verdict   decisions.Verdict
	permanent bool
	kind      effects.Kind              // of the only effect
	during    func(ctx context.Context) // called while deciding
	got       []*decisions.Request
}

func (f *fakeDecider) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	if f.during != nil {
		f.during(ctx)
	}
	var list []*decisions.Decision
	for _, r := range reqs {
		f.got = append(f.got, r)
		list = append(list, &decisions.Decision{
			ID: fmt.Sprintf("d%d", len(f.got)), CallID: r.Call.ID, Verdict: f.verdict, Permanent: f.permanent,
			Reason: "the test says so", By: decisions.ByPolicy,
			Effects: []decisions.EffectDecision{{Kind: f.kind, Text: "x", Rules: []decisions.RuleRef{}}},
		})
	}
	return list
}

// last is the request that was decided last.
func (f *fakeDecider) last(t *testing.T) *decisions.Request {
	t.Helper()
	if len(f.got) == 0 {
		t.Fatal("nothing was decided")
	}
	return f.got[len(f.got)-1]
}

// daemon returns the methods with a fake decider.
type daemon struct {
	*fakeDecider
	methods  socket.Methods
	sessions *decisions.Sessions
}

func newDaemon(v decisions.Verdict) *daemon {
	d := &daemon{&fakeDecider{verdict: v, kind: effects.KindRun}, socket.Methods{}, new(decisions.Sessions)}
	users := func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} }
	deps := native.Deps{Sessions: d.sessions, Decider: d, Users: users, PlainOption: func(a effects.Party) string {
		return map[string]string{"OpenHands CLI ACP Agent": "accept"}[a.Name]
	}}
	Register(d.methods, deps)
	native.Register(d.methods, deps)
	return d
}

func conn(id uint64) *socket.Conn {
	return &socket.Conn{ID: id, Peer: decisions.Peer{UID: 1000, PID: 7}}
}

// start hands a message to its method and returns what is left to run.
func (d *daemon) start(t *testing.T, c *socket.Conn, method, params string) (run, error) {
	t.Helper()
	if err := strictjson.Check([]byte(params)); err != nil {
		t.Fatalf("the test's params are not valid: %v", err)
	}
	m, ok := d.methods[method]
	if !ok {
		return nil, &socket.Error{Code: socket.CodeMethod}
	}
	return m(c, strictjson.Value(params))
}

// call hands a message to its method and runs it to its end.
func (d *daemon) call(t *testing.T, c *socket.Conn, method, params string) (any, error) {
	t.Helper()
	r, err := d.start(t, c, method, params)
	if r == nil || err != nil {
		return nil, err
	}
	return r(t.Context())
}

// must is call for a message that has to succeed.
func (d *daemon) must(t *testing.T, c *socket.Conn, method, params string) any {
	t.Helper()
	res, err := d.call(t, c, method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return res
}

// declare opens a session of an agent.
func (d *daemon) declare(t *testing.T, c *socket.Conn, id, agent string) {
	t.Helper()
	d.must(t, c, native.MethodSession, fmt.Sprintf(
		`{"sessionId":%q,"cwd":"/home/ana/src/shop","agent":{"name":%q,"version":"1"}}`, id, agent))
}

// code is the code of a method's error, 0 for none.
func code(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*socket.Error](err); ok {
		return e.Code
	}
	return socket.CodeInternal
}

// encode is a result as it goes over the wire.
func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return string(b)
}

// onceOptions are plain options.
const onceOptions = `"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`

// permission is a request about a call in session s.
func permission(toolCall string) string {
	return `{"sessionId":"s","toolCall":` + toolCall + `,` + onceOptions + `}`
}

// sessionUpdate is an update in session s.
func sessionUpdate(update string) string { return `{"sessionId":"s","update":` + update + `}` }
