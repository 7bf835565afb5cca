package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// persistentDaemon has persistent sessions of harnesses, with a clock that the test
// sets.
type persistentDaemon struct {
	*daemon
	lasting *PersistentSessions
	now     time.Time
	ended   []decisions.Owner
	live    bool
}

func newPersistentDaemon() *persistentDaemon {
	d := &persistentDaemon{daemon: newDaemon(), now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	d.lasting = &PersistentSessions{
		Sessions: d.sessions, Now: func() time.Time { return d.now },
		OnEnd: func(o decisions.Owner) { d.ended = append(d.ended, o) },
	}
	Register(d.methods, Deps{
		Sessions: d.sessions, Decider: d, Persistent: d.lasting,
		Users:     func(uid uint32) effects.User { return effects.User{UID: uid} },
		LiveShell: func(effects.Party) bool { return d.live },
	})
	return d
}

func (d *persistentDaemon) declare(t *testing.T, c *socket.Conn, id, more string) {
	t.Helper()
	d.must(t, c, MethodSession, `{"sessionId":"`+id+`","cwd":"/w","harness":"claude"`+more+`}`)
}

// decide asks for a verdict and returns the request as the engine sees it.
func (d *persistentDaemon) decide(t *testing.T, c *socket.Conn, session, verdict, input string) *decisions.Request {
	t.Helper()
	d.must(t, c, MethodDecide, `{"sessionId":"`+session+`","calls":[{"callId":"1","tool":{"name":"`+verdict+`"},"input":`+input+`}]}`)
	return d.got[len(d.got)-1]
}

func TestPersistentSessions(t *testing.T) {
	d := newPersistentDaemon()
	owner := func(c *socket.Conn, session string) uint64 {
		t.Helper()
		return d.decide(t, c, session, "allow", `{}`).Session.Conn
	}
	first := conn(1)
	d.declare(t, first, "s", "")
	is := owner(first, "s")
	if is < firstPersistentConn {
		t.Fatalf("it belongs to connection %d", is)
	}
	next := conn(2)
	d.refused(t, next, MethodDecide, `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"allow"}}]}`, socket.CodeParams, "not declared")
	d.declare(t, next, "s", "")
	if got := owner(next, "s"); got != is {
		t.Errorf("from the next connection it is %d, not %d", got, is)
	}
	d.declare(t, next, "s/agent", `,"parent":"s"`)
	if got := owner(next, "s/agent"); got != is {
		t.Errorf("its sub-agent's belongs to %d, not %d", got, is)
	}

	others := map[string]func() uint64{
		"another id": func() uint64 { c := conn(3); d.declare(t, c, "s2", ""); return owner(c, "s2") },
		"another harness": func() uint64 {
			c := conn(4)
			d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w","harness":"codex"}`)
			return owner(c, "s")
		},
		"another person": func() uint64 {
			c := &socket.Conn{ID: 5, Peer: decisions.Peer{UID: 1001}}
			d.declare(t, c, "s", "")
			return owner(c, "s")
		},
		"a connection's own": func() uint64 {
			c := conn(6)
			d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w"}`)
			return owner(c, "s")
		},
	}
	for name, other := range others {
		if got := other(); got == is {
			t.Errorf("%s has the same owner", name)
		}
	}

	// The last message counts, not the first.
	for range 3 {
		d.now = d.now.Add(sessionIdle - time.Second)
		c := conn(7)
		d.declare(t, c, "s", "")
		if got := owner(c, "s"); got != is {
			t.Fatal("it ended while it was used")
		}
	}
	d.now = d.now.Add(sessionIdle)
	c := conn(8)
	d.declare(t, c, "s", "")
	if got := owner(c, "s"); got == is {
		t.Error("it did not end")
	}
	if len(d.ended) == 0 || !containsOwner(d.ended, is) {
		t.Errorf("its end is not told: %v", d.ended)
	}
	d.refused(t, first, MethodDecide, `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"allow"}}]}`, socket.CodeParams, "not declared")
}

// TestPersistentSessionsSideBySide: a call has the folder and the mode that its own
// connection named, whatever hooks of the same session, or of its sub-agents, name
// at the same time.
func TestPersistentSessionsSideBySide(t *testing.T) {
	for name, between := range map[string][]string{
		"the same session": {`{"sessionId":"s","cwd":"/b","mode":"acceptEdits","harness":"claude"}`},
		"a sub-agent": {
			`{"sessionId":"s","cwd":"/b","mode":"acceptEdits","harness":"claude"}`,
			`{"sessionId":"s/x","parent":"s","cwd":"/b","mode":"acceptEdits","harness":"claude"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPersistentDaemon()
			first, next := conn(1), conn(2)
			d.must(t, first, MethodSession, `{"sessionId":"s","cwd":"/a","mode":"plan","harness":"claude"}`)
			for _, declaration := range between {
				d.must(t, next, MethodSession, declaration)
			}
			got := d.decide(t, first, "s", "allow", `{}`)
			if got.Call.Cwd != "/a" || got.Session.Mode != "plan" {
				t.Errorf("it is decided in %s, mode %s", got.Call.Cwd, got.Session.Mode)
			}
			if got := d.decide(t, next, "s", "allow", `{}`); got.Call.Cwd != "/b" || got.Session.Mode != "acceptEdits" {
				t.Errorf("the other is decided in %s, mode %s", got.Call.Cwd, got.Session.Mode)
			}
		})
	}
}

func containsOwner(list []decisions.Owner, conn uint64) bool {
	for _, o := range list {
		if o.Conn == conn {
			return true
		}
	}
	return false
}

func TestPersistentSessionsAreBounded(t *testing.T) {
	d := newPersistentDaemon()
	c := conn(1)
	for i := range maxSessionTrees + 1 {
		d.now = d.now.Add(time.Second)
		d.declare(t, c, fmt.Sprint("s", i), "")
	}
	if len(d.ended) != 1 || len(d.lasting.trees) != maxSessionTrees {
		t.Errorf("%d ended, %d are left", len(d.ended), len(d.lasting.trees))
	}
	d.refused(t, c, MethodDecide, `{"sessionId":"s0","calls":[{"callId":"1","tool":{"name":"allow"}}]}`, socket.CodeParams, "not declared")
	d.decide(t, c, "s1", "allow", `{}`)
	// An existing session needs no room.
	d.declare(t, c, "s1", "")
	if len(d.ended) != 1 {
		t.Errorf("%d ended", len(d.ended))
	}
	// Without end on one connection.
	for i := range decisions.MaxSessions {
		if _, err := d.call(t, c, MethodSession, fmt.Sprintf(`{"sessionId":"t%d","cwd":"/w","harness":"claude"}`, i)); err != nil {
			if !strings.Contains(err.Error(), "too many") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a connection declares without end")
}

func TestPersistentRefused(t *testing.T) {
	d := newPersistentDaemon()
	long := strings.Repeat("x", socket.MaxName+1)
	for params, says := range map[string]string{
		`{"sessionId":"","cwd":"/w","harness":"claude"}`:                          "sessionId is missing",
		`{"sessionId":"s","cwd":"/w","harness":"` + long + `"}`:                   "longer than",
		`{"sessionId":"s","cwd":"/w","harness":"claude","parent":"` + long + `"}`: "longer than",
		`{"sessionId":"s","cwd":"/w","harness":"cl\u001baude"}`:                   "letters, digits",
		`{"sessionId":"s","cwd":"/w","harness":"a\nb"}`:                           "letters, digits",
		`{"sessionId":"s","cwd":"/w","harness":7}`:                                "does not fit",
		`{"sessionId":"s","cwd":"/w","harness":"claude","parent":"nobody"}`:       "not declared",
		`{"sessionId":"s","cwd":"/w","harness":"claude","atShell":1}`:             "does not fit",
	} {
		d.refused(t, conn(1), MethodSession, params, socket.CodeParams, says)
	}
	plain := newDaemon()
	plain.refused(t, conn(1), MethodSession, `{"sessionId":"s","cwd":"/w","harness":"claude"}`, socket.CodeParams, "keeps no sessions")
}

// TestPersistentShell: what one call does to a shell that stays alive counts for the
// next one, even on another connection, unless the harness names the shell's
// folder.
func TestPersistentShell(t *testing.T) {
	d := newPersistentDaemon()
	d.live = true
	change := &decisions.Decision{Verdict: decisions.Allow, Effects: []decisions.EffectDecision{{Kind: effects.KindState}}}
	d.declare(t, conn(1), "s", "")
	d.lasting.treeOf(1000, "claude", "s").shells.Record("s", change)
	c := conn(2)
	d.declare(t, c, "s", "")
	if !d.decide(t, c, "s", "allow", `{}`).Call.LiveShell {
		t.Error("the change is forgotten")
	}
	c = conn(3)
	d.declare(t, c, "s", `,"atShell":true`)
	if d.decide(t, c, "s", "allow", `{}`).Call.LiveShell {
		t.Error("the change counts, though the folder is that of the shell")
	}
}

func TestQuestions(t *testing.T) {
	uid, stranger := uint32(1000), uint32(1001)
	d := newPersistentDaemon()
	c := conn(1)
	d.declare(t, c, "s", "")
	asked := func(input string) *decisions.Decision {
		t.Helper()
		d.decide(t, c, "s", "ask", input)
		open := d.lasting.Questions(&uid)
		return open[len(open)-1].Decision
	}
	again := func(input string, change func(*decisions.Request, *decisions.Decision)) bool {
		t.Helper()
		req := d.decide(t, c, "s", "ask", input)
		dec := d.lasting.Questions(&uid)[0].Decision
		copied, of := *dec, *req
		if change != nil {
			change(&of, &copied)
		}
		return d.lasting.TakeGrant(&of, &copied)
	}
	const input = `{"command":"ls","description":"look"}`
	d.decide(t, c, "s", "allow", input)
	d.decide(t, c, "s", "deny", input)
	if open := d.lasting.Questions(nil); len(open) != 0 {
		t.Fatalf("what was answered waits: %+v", open)
	}
	if again(input, nil) {
		t.Fatal("allowed before anybody said so")
	}
	q := asked(input)
	if _, err := d.lasting.AllowOnce(&stranger, q.ID, logged); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("a stranger's answer: %v", err)
	}
	if d.lasting.Questions(&stranger) != nil {
		t.Error("a stranger sees the questions")
	}
	until, err := d.lasting.AllowOnce(&uid, q.ID, logged)
	if err != nil || !until.Equal(d.now.Add(grantTime)) {
		t.Fatalf("until %v, %v", until, err)
	}
	if open := d.lasting.Questions(&uid); len(open) != 0 {
		t.Errorf("the question waits on: %+v", open)
	}
	for name, change := range map[string]func(*decisions.Request, *decisions.Decision){
		"another session":        func(r *decisions.Request, _ *decisions.Decision) { r.Session.ID = "s2" },
		"another owner":          func(r *decisions.Request, _ *decisions.Decision) { r.Session.Conn++ },
		"a connection's session": func(r *decisions.Request, _ *decisions.Decision) { r.Session.Conn = 1 },
		"another mode":           func(r *decisions.Request, _ *decisions.Decision) { r.Session.Mode = "auto" },
		"another folder":         func(r *decisions.Request, _ *decisions.Decision) { r.Call.Cwd = "/v" },
		"another tool":           func(r *decisions.Request, _ *decisions.Decision) { r.Call.Tool.Name = "x" },
		"another server":         func(r *decisions.Request, _ *decisions.Decision) { r.Call.Tool.Server = "x" },
		"another input":          func(r *decisions.Request, _ *decisions.Decision) { r.Call.Input = []byte(`{"command":"ls -a"}`) },
		"more input":             func(r *decisions.Request, _ *decisions.Decision) { r.Call.Input = []byte(`{"command":"ls","cwd":"/"}`) },
		"another description of another kind": func(r *decisions.Request, _ *decisions.Decision) {
			r.Call.Input = []byte(`{"command":"ls","description":{}}`)
		},
		"an effect more": func(_ *decisions.Request, d *decisions.Decision) {
			d.Effects = []decisions.EffectDecision{{Kind: effects.KindWrite, Text: "write /x"}}
		},
		"a tool of a server, with another description": func(r *decisions.Request, d *decisions.Decision) {
			r.Call.Input = []byte(`{"command":"ls","description":"other"}`)
			d.Effects = []decisions.EffectDecision{{Kind: effects.KindUse}}
		},
	} {
		if again(input, change) {
			t.Errorf("%s is allowed", name)
		}
	}
	if !again(`{"description":"the same in other words","command":"ls"}`, nil) {
		t.Error("the call is not allowed")
	}
	if again(input, nil) {
		t.Error("the call is allowed twice")
	}

	for name, later := range map[string]time.Duration{"too late": grantTime, "the clock went back": -time.Second} {
		if _, err := d.lasting.AllowOnce(&uid, asked(input).ID, logged); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(later)
		if again(input, nil) {
			t.Errorf("%s: allowed", name)
		}
		d.now = d.now.Add(-later)
		d.lasting.grants = nil
	}

	d.must(t, c, MethodClose, `{"sessionId":"s"}`)
	if open := d.lasting.Questions(nil); len(open) != 0 {
		t.Errorf("the session is closed, and %d questions wait", len(open))
	}
}

// TestQuestionsNobodyCanAnswer: such questions are not kept.
func TestQuestionsNobodyCanAnswer(t *testing.T) {
	d := newPersistentDaemon()
	f := d.lasting.treeOf(1000, "claude", "s")
	req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
	for _, dec := range []*decisions.Decision{
		{ID: "1", Verdict: decisions.Ask, By: decisions.ByFailure},
		{ID: "2", Verdict: decisions.Ask, Effects: []decisions.EffectDecision{{Kind: effects.KindQuestion}}},
		{ID: "3", Verdict: decisions.Ask, Effects: []decisions.EffectDecision{{Kind: effects.KindRun}, {Kind: effects.KindMode}}},
		{ID: "4", Verdict: decisions.Deny},
	} {
		d.lasting.addQuestion(f, req, dec)
		if open := d.lasting.Questions(nil); len(open) != 0 {
			t.Errorf("%s waits", dec.ID)
		}
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	d := newPersistentDaemon()
	f := d.lasting.treeOf(1000, "claude", "s")
	req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
	for i := range maxOpenQuestions + 1 {
		d.lasting.addQuestion(f, req, &decisions.Decision{ID: fmt.Sprint(i), Verdict: decisions.Ask})
	}
	open := d.lasting.Questions(nil)
	if len(open) != maxOpenQuestions || open[0].Decision.ID != "1" {
		t.Errorf("%d wait, the first is %s", len(open), open[0].Decision.ID)
	}
	big := &decisions.Decision{ID: "big", Verdict: decisions.Ask, Offer: &decisions.Offer{Size: maxOpenQuestionBytes / 2}}
	d.lasting.addQuestion(f, req, big)
	d.lasting.addQuestion(f, req, &decisions.Decision{ID: "new", Verdict: decisions.Ask, Offer: &decisions.Offer{Size: maxOpenQuestionBytes / 2}})
	if open := d.lasting.Questions(nil); len(open) != 1 || open[0].Decision.ID != "new" {
		t.Errorf("%d wait", len(open))
	}
}

// persistentKeeper is a memory that stores everything.
type persistentKeeper struct {
	decisions.Keeper
	got decisions.Answer
	err error
}

func (k *persistentKeeper) Keep(_ context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	k.got = a
	return []decisions.StoredChoice{{ID: "c1"}}, k.err
}

func TestAllowAlways(t *testing.T) {
	uid := uint32(1000)
	d := newPersistentDaemon()
	f := d.lasting.treeOf(uid, "claude", "s")
	offer := &decisions.Offer{}
	req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
	d.lasting.addQuestion(f, req, &decisions.Decision{ID: "d1", Verdict: decisions.Ask, Offer: offer})
	k := &persistentKeeper{err: decisions.ErrNotKept}
	if _, err := d.lasting.AllowAlways(t.Context(), &uid, k, decisions.Answer{DecisionID: "d1", Width: "w9"}); !errors.Is(err, decisions.ErrNotKept) {
		t.Errorf("what cannot be kept: %v", err)
	}
	k.err = nil
	kept, err := d.lasting.AllowAlways(t.Context(), &uid, k, decisions.Answer{DecisionID: "d1", Width: "w1", Verdict: decisions.Deny})
	if err != nil || len(kept) != 1 || k.got.Offer != offer || k.got.Verdict != decisions.Allow || k.got.Width != "w1" {
		t.Errorf("kept %v of %+v, %v", kept, k.got, err)
	}
	if _, err := d.lasting.AllowAlways(t.Context(), &uid, k, decisions.Answer{DecisionID: "d1", Width: "w1"}); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("answered twice: %v", err)
	}
}
