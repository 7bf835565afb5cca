package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// fakeDecider answers by the tool's name: the verdict is the name.
type fakeDecider struct {
	sockettest.Unchanged

	got []*decisions.Request
}

func (f *fakeDecider) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	var list []*decisions.Decision
	for _, r := range reqs {
		f.got = append(f.got, r)
		list = append(list, &decisions.Decision{
			ID: fmt.Sprintf("d%d", len(f.got)), CallID: r.Call.ID, Verdict: decisions.Verdict(r.Call.Tool.Name),
			Reason: "the test says so", By: decisions.ByPolicy, Needed: decisions.NotNeeded,
			Effects: []decisions.EffectDecision{},
		})
	}
	return list
}

type daemon struct {
	*fakeDecider
	methods  socket.Methods
	sessions *decisions.Sessions
	prepared []string
}

func newDaemon() *daemon {
	d := &daemon{fakeDecider: new(fakeDecider), methods: socket.Methods{}}
	d.sessions = &decisions.Sessions{FindProject: func(_ uint32, cwd string) string { return cwd + "/project" }}
	Register(d.methods, Deps{
		Sessions: d.sessions,
		Decider:  d,
		Users:    func(uid uint32) effects.User { return effects.User{UID: uid, Home: "/home/ana"} },
		Prepare: func(_ context.Context, uid uint32, project string) {
			d.prepared = append(d.prepared, fmt.Sprint(uid, " ", project))
		},
	})
	return d
}

func conn(id uint64) *socket.Conn {
	return &socket.Conn{ID: id, Peer: decisions.Peer{UID: 1000, PID: 7}}
}

func (d *daemon) call(t *testing.T, c *socket.Conn, method, params string) (string, error) {
	t.Helper()
	v, err := sockettest.Call(t.Context(), t, d.methods, c, method, params)
	return string(v), err
}

func (d *daemon) must(t *testing.T, c *socket.Conn, method, params string) string {
	t.Helper()
	s, err := d.call(t, c, method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return s
}

// refused checks that params are refused with a code and a text.
func (d *daemon) refused(t *testing.T, c *socket.Conn, method, params string, code int, says string) {
	t.Helper()
	res, err := d.call(t, c, method, params)
	e, ok := errors.AsType[*socket.Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("%s %s: %s, error %v; want %d with %q", method, params, res, err, code, says)
	}
}

func TestSession(t *testing.T) {
	d, c := newDaemon(), conn(1)
	got := d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w","roots":["/x"],"mode":"plan","future":1,
		"agent":{"name":"a","version":"1"},"client":{"name":"c"}}`)
	if want := `{"protocol":1,"version":"","features":["decide"]}`; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	d.must(t, c, MethodSession, `{"sessionId":"child","cwd":"/w/child","parent":"s"}`)
	if diff := cmp.Diff([]string{"1000 /w/project", "1000 /w/child/project"}, d.prepared); diff != "" {
		t.Errorf("prepared (-want +got):\n%s", diff)
	}
	want := decisions.Declaration{
		ID: "s", Cwd: "/w", Roots: []string{"/x"}, Mode: "plan",
		Agent: effects.Party{Name: "a", Version: "1"}, Client: effects.Party{Name: "c"},
	}
	if diff := cmp.Diff(want, d.sessions.Get(c.Owner(), "s").Declaration); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
	if got := d.sessions.Get(c.Owner(), "child").Ancestors; len(got) != 1 || got[0] != "s" {
		t.Errorf("ancestors %v", got)
	}
	if d.sessions.Get(conn(2).Owner(), "s") != nil {
		t.Error("another connection has the session")
	}
}

func TestSessionRefused(t *testing.T) {
	d, c := newDaemon(), conn(1)
	for params, says := range map[string]string{
		`null`:                               "params must be an object",
		`[]`:                                 "params must be an object",
		`{}`:                                 "cwd is missing",
		`{"cwd":"/w"}`:                       "sessionId is empty",
		`{"sessionId":"s"}`:                  "cwd is missing",
		`{"sessionId":"s","cwd":null}`:       `"cwd" must not be null`,
		`{"sessionId":"s","cwd":"w"}`:        "absolute",
		`{"sessionId":"s","cwd":"/w\u0000"}`: "absolute",
		`{"sessionId":"s","cwd":"/w","roots":[""]}`:                                    "absolute",
		`{"sessionId":"s","cwd":"/w","roots":[1]}`:                                     "does not fit",
		`{"sessionId":"s","cwd":"/w","roots":null}`:                                    `"roots" must not be null`,
		`{"sessionId":"s","cwd":"/w","agent":null}`:                                    `"agent" must not be null`,
		`{"sessionId":1,"cwd":"/w"}`:                                                   "does not fit",
		`{"sessionId":"s","cwd":"/w","Cwd":"/v"}`:                                      "only by case",
		`{"sessionId":"s","cwd":"/w","agent":{"Name":"x"}}`:                            "only by case",
		`{"sessionId":"s","cwd":"/w","parent":"none"}`:                                 "not declared",
		`{"sessionId":"` + strings.Repeat("s", 2000) + `","cwd":"/w"}`:                 "longer than",
		`{"sessionId":"s","cwd":"/` + strings.Repeat("w", 5000) + `"}`:                 "at most",
		`{"sessionId":"s","cwd":"/w","roots":["/` + strings.Repeat(`","/`, 64) + `"]}`: "more than",
	} {
		d.refused(t, c, MethodSession, params, socket.CodeParams, says)
	}
	for i := range decisions.MaxSessions {
		d.must(t, c, MethodSession, fmt.Sprintf(`{"sessionId":"s%d","cwd":"/w"}`, i))
	}
	d.refused(t, c, MethodSession, `{"sessionId":"more","cwd":"/w"}`, socket.CodeBusy, "too many sessions")
}

func TestClose(t *testing.T) {
	d, c := newDaemon(), conn(1)
	d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w"}`)
	var ended []string
	StateOf(c).OnEnd(func(id string) { ended = append(ended, id) })
	d.must(t, c, MethodDecide, `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"ask"}}]}`)
	for _, step := range []struct {
		conn *socket.Conn
		want string
	}{
		{conn(2), `{"closed":false}`},
		{c, `{"closed":true}`},
		{c, `{"closed":false}`},
	} {
		if got := d.must(t, step.conn, MethodClose, `{"sessionId":"s"}`); got != step.want {
			t.Errorf("connection %d: %s, want %s", step.conn.ID, got, step.want)
		}
	}
	if len(ended) != 2 || ended[0] != "s" {
		t.Errorf("ended %v", ended)
	}
	d.refused(t, c, MethodChoose, `{"decisionId":"d1","verdict":"allow"}`, socket.CodeParams, "no question")
	d.refused(t, c, MethodClose, `{}`, socket.CodeParams, "sessionId is missing")
	d.refused(t, c, MethodClose, `{"sessionid":"s"}`, socket.CodeParams, "only by case")
}

func TestDecide(t *testing.T) {
	d, c := newDaemon(), conn(1)
	d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w","roots":["/x"],"agent":{"name":"a"},"client":{"name":"c"}}`)
	got := d.must(t, c, MethodDecide, `{"sessionId":"s","calls":[
		{"callId":"1","tool":{"name":"allow","server":"gh"},"input":{"n":9007199254740993},"kind":"execute","title":"t"},
		{"callId":"2","tool":{"name":"ask"},"input":null},
		{"callId":"3","tool":{"name":"deny"},"input":"x"}]}`)
	var verdicts []string
	items, err := strictjson.ParseArray(strictjson.Value(strings.TrimSuffix(strings.TrimPrefix(got, `{"decisions":`), "}")))
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		o, err := strictjson.ParseObject(item)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := o.Get("callId")
		v, _ := o.Get("verdict")
		verdicts = append(verdicts, string(id)+string(v))
	}
	if diff := cmp.Diff([]string{`"1""allow"`, `"2""ask"`, `"3""deny"`}, verdicts); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	want := decisions.Request{
		Peer:    c.Peer,
		Session: decisions.SessionRef{Conn: 1, ID: "s"},
		Call: effects.Call{
			ID: "1", Protocol: Protocol, Tool: effects.Tool{Name: "allow", Server: "gh"},
			Input:  strictjson.Value(`{"n":9007199254740993}`),
			Claims: effects.Claims{Kind: "execute", Title: "t"},
			Agent:  effects.Party{Name: "a"}, Client: effects.Party{Name: "c"},
			Cwd: "/w", Roots: []string{"/x"}, User: effects.User{UID: 1000, Home: "/home/ana"},
		},
	}
	if diff := cmp.Diff(&want, d.got[0], cmp.AllowUnexported(effects.Disturbance{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if d.got[1].Call.Input != nil || string(d.got[2].Call.Input) != `"x"` {
		t.Errorf("inputs %s, %s", d.got[1].Call.Input, d.got[2].Call.Input)
	}
	// Without a session the folder is unknown.
	d.must(t, c, MethodDecide, `{"calls":[{"callId":"1","tool":{"name":"allow"}}]}`)
	if r := d.got[len(d.got)-1]; r.Call.Cwd != "" || r.Session.ID != "" {
		t.Errorf("without a session: %+v", r)
	}
}

func TestDecideRefused(t *testing.T) {
	d, c := newDaemon(), conn(1)
	d.must(t, conn(2), MethodSession, `{"sessionId":"theirs","cwd":"/w"}`)
	calls := func(s string) string { return `{"calls":[` + s + `]}` }
	many := strings.TrimSuffix(strings.Repeat(`{"callId":"1","tool":{"name":"x"}},`, maxCalls+1), ",")
	for params, says := range map[string]string{
		`{}`:                    "1 to 64",
		`{"calls":{}}`:          "does not fit",
		`{"calls":[]}`:          "1 to 64",
		calls(many):             "1 to 64",
		calls(`{}`):             "callId is missing",
		calls(`null`):           "an item of a list must not be null",
		calls(`{"callId":"1"}`): "tool.name is missing",
		calls(`{"callId":"1","tool":{"name":""}}`):                                                    "tool.name is missing",
		calls(`{"callId":1,"tool":{"name":"x"}}`):                                                     "does not fit",
		calls(`{"callId":"1","tool":"x"}`):                                                            "does not fit",
		calls(`{"callId":"1","tool":{"name":"x"},"Input":{}}`):                                        "only by case",
		calls(`{"callId":"1","tool":{"name":"x","NAME":"y"}}`):                                        "only by case",
		calls(`{"callId":"1","tool":{"name":"x"},"title":[]}`):                                        "does not fit",
		calls(`{"callId":"1","tool":{"name":"` + strings.Repeat("x", socket.MaxName+1) + `"}}`):       "longer than",
		calls(`{"callId":"1","tool":{"name":"x"},"title":"` + strings.Repeat("x", maxTitle+1) + `"}`): "longer than",
		calls(`{"callId":"1","tool":{"name":"x"}},{"callId":"1","tool":{"name":"y"}}`):                "repeats",
		`{"sessionId":"none","calls":[{"callId":"1","tool":{"name":"x"}}]}`:                           "not declared",
		`{"sessionId":"theirs","calls":[{"callId":"1","tool":{"name":"x"}}]}`:                         "not declared",
	} {
		d.refused(t, c, MethodDecide, params, socket.CodeParams, says)
	}
	if len(d.got) > 0 {
		t.Errorf("%d calls were decided nevertheless", len(d.got))
	}
}

// broken is a decider that returns no valid decision.
type broken struct {
	sockettest.Unchanged

	list []*decisions.Decision
}

func (b broken) Decide(context.Context, ...*decisions.Request) []*decisions.Decision { return b.list }

func TestBrokenDecider(t *testing.T) {
	for name, list := range map[string][]*decisions.Decision{"none": nil, "nil": {nil}, "two": {{}, {}}} {
		d := newDaemon()
		Register(d.methods, Deps{Sessions: d.sessions, Decider: broken{list: list}, Users: func(uint32) effects.User { return effects.User{} }})
		if res, err := d.call(t, conn(1), MethodDecide, `{"calls":[{"callId":"1","tool":{"name":"x"}}]}`); err == nil {
			t.Errorf("%s: %s", name, res)
		}
	}
}

func TestChoose(t *testing.T) {
	d, c := newDaemon(), conn(1)
	ask := func() string {
		d.must(t, c, MethodDecide, `{"calls":[{"callId":"1","tool":{"name":"ask"}}]}`)
		return fmt.Sprintf(`"decisionId":"d%d"`, len(d.got))
	}
	id := ask()
	for params, says := range map[string]string{
		`{"verdict":"allow"}`:                             "decisionId is missing",
		`{"decisionId":"none","verdict":"allow"}`:         "no question",
		`{` + id + `}`:                                    "exactly one",
		`{` + id + `,"verdict":"allow","optionId":"y"}`:   "exactly one",
		`{` + id + `,"verdict":"ask"}`:                    "allow or deny",
		`{` + id + `,"verdict":"ALLOW"}`:                  "allow or deny",
		`{` + id + `,"optionId":"y"}`:                     "had no options",
		`{` + id + `,"verdict":"allow","width":"w"}`:      "no width of that id was offered",
		`{` + id + `,"verdict":"allow","scope":"user"}`:   "belong to a width",
		`{` + id + `,"verdict":"allow","expiresIn":60}`:   "belong to a width",
		`{` + id + `,"verdict":"allow","expiresIn":null}`: `"expiresIn" must not be null`,
		`{` + id + `,"verdict":"allow","Verdict":"deny"}`: "only by case",
	} {
		d.refused(t, c, MethodChoose, params, socket.CodeParams, says)
	}
	d.refused(t, conn(2), MethodChoose, `{`+id+`,"verdict":"allow"}`, socket.CodeParams, "no question")
	if got := d.must(t, c, MethodChoose, `{`+id+`,"verdict":"allow"}`); got != `{"stored":[]}` {
		t.Errorf("result %s", got)
	}
	d.refused(t, c, MethodChoose, `{`+id+`,"verdict":"allow"}`, socket.CodeParams, "no question")
	d.must(t, c, MethodChoose, `{`+ask()+`,"verdict":"deny"}`)
	for _, name := range []string{"allow", "deny"} { // no questions
		d.must(t, c, MethodDecide, `{"calls":[{"callId":"1","tool":{"name":"`+name+`"}}]}`)
		d.refused(t, c, MethodChoose, fmt.Sprintf(`{"decisionId":"d%d","verdict":"allow"}`, len(d.got)), socket.CodeParams, "no question")
	}
}

func TestAsksAreBounded(t *testing.T) {
	answers := func(Selection) (Resolution, error) { return Resolution{}, nil }
	t.Run("number", func(t *testing.T) {
		var a PendingQuestions
		for i := range maxPending + 1 {
			a.Add(&PendingQuestion{ID: fmt.Sprint(i), Size: 1, Resolve: answers})
		}
		if _, err := a.reserve("0"); err == nil {
			t.Error("the oldest is still open")
		}
		second, err := a.reserve("1")
		if err != nil {
			t.Fatalf("the second: %v", err)
		}
		if _, err := a.reserve("1"); err == nil {
			t.Error("two answers are taken for one question")
		}
		if !a.finish(second) || a.finish(second) {
			t.Error("the second is not answered once")
		}
		if a.size != maxPending-1 || len(a.list) != maxPending-1 {
			t.Errorf("%d open, size %d", len(a.list), a.size)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		var a PendingQuestions
		for i := range 3 {
			a.Add(&PendingQuestion{ID: fmt.Sprint(i), SessionID: "s", Size: maxPendingBytes / 2, Resolve: answers})
		}
		if _, err := a.reserve("0"); err == nil {
			t.Error("the oldest is still open")
		}
		a.Remove("1")
		a.RemoveSession("s")
		if a.size != 0 || len(a.list) != 0 {
			t.Errorf("%d open, size %d", len(a.list), a.size)
		}
	})
}
