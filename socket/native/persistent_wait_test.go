package native

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// waitingHooks are the hooks of persons, each with a connection of its own.
type waitingHooks struct {
	*persistentDaemon
	t       *testing.T
	waiting *WaitingQuestions
	logged  []string
	conns   uint64
}

// hookWait is a hook that waits.
type hookWait struct {
	c   *socket.Conn
	id  string // the decision's
	got chan string
}

func newWaitingHooks(t *testing.T) *waitingHooks {
	t.Helper()
	d := &waitingHooks{persistentDaemon: newPersistentDaemon(), t: t, waiting: new(WaitingQuestions)}
	d.lasting.Now = time.Now
	Register(d.methods, Deps{
		Sessions: d.sessions, Decider: d, Persistent: d.lasting, Waiting: d.waiting,
		Users: func(uid uint32) effects.User { return effects.User{UID: uid} },
		RecordAnswer: func(_ context.Context, id string, v decisions.Verdict, _ author.Identity, _ []decisions.StoredChoice) error {
			d.logged = append(d.logged, id+" "+string(v))
			return nil
		},
	})
	return d
}

// asks asks about a call as a hook does, and returns its connection and the decision's id.
func (d *waitingHooks) asks(session, input, more string) *hookWait {
	d.t.Helper()
	d.conns++
	c := conn(d.conns)
	d.declare(d.t, c, session, more)
	d.decide(d.t, c, session, "ask", input)
	return &hookWait{c: c, id: fmt.Sprintf("d%d", len(d.got))}
}

// waits has a hook wait for the answer for a minute.
func (d *waitingHooks) waits(h *hookWait) *hookWait {
	d.t.Helper()
	h.got = make(chan string, 1)
	go func() {
		got, err := d.call(d.t, h.c, MethodWait, `{"decisionId":"`+h.id+`","seconds":60}`)
		if err != nil {
			got = err.Error()
		}
		h.got <- got
	}()
	synctest.Wait()
	return h
}

func (h *hookWait) hears(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-h.got:
		if !strings.Contains(got, want) {
			t.Errorf("the hook hears %s, want %s", got, want)
		}
	default:
		t.Errorf("the hook waits on, want %s", want)
	}
}

// open returns the ids of the questions that wait for harnesses, and of those whose hooks wait.
func (d *waitingHooks) open() string {
	var ids []string
	for _, q := range d.lasting.Questions(nil) {
		ids = append(ids, q.Decision.ID)
	}
	for _, q := range d.waiting.Questions(nil) {
		ids = append(ids, q.Decision.ID+" of "+q.Harness)
	}
	return strings.Join(ids, ", ")
}

func (d *waitingHooks) wantOpen(want string) {
	d.t.Helper()
	synctest.Wait()
	if got := d.open(); got != want {
		d.t.Errorf("open are %q, want %q", got, want)
	}
}

func (d *waitingHooks) says(v decisions.Verdict, id string) error {
	uid := uint32(1000)
	_, err := d.waiting.Answer(d.t.Context(), &uid, Answer{DecisionID: id, Verdict: v})
	return err
}

// allowsOnce is a yes to a question that no hook waits for.
func (d *waitingHooks) allowsOnce(id string) error {
	uid := uint32(1000)
	_, err := d.lasting.AllowOnce(&uid, id, func() error { return nil })
	return err
}

// grants counts the approvals that wait for a call.
func (d *waitingHooks) grants() int {
	d.lasting.mu.Lock()
	defer d.lasting.mu.Unlock()
	return len(d.lasting.grants)
}

func inBubble(t *testing.T, f func(t *testing.T, d *waitingHooks)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWaitingHooks(t)) })
}

// TestHookWaits: an answer is handed to the hook, counts for its call and no other, and is logged once.
func TestHookWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, d *waitingHooks) {
		for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			h := d.waits(d.asks("s", `{"command":"make"}`, ""))
			d.wantOpen(h.id + " of claude")
			if err := d.says(v, h.id); err != nil {
				t.Fatal(err)
			}
			h.hears(t, `"answer":"`+string(v)+`"`)
			d.wantOpen("")
			if d.grants() != 0 {
				t.Error("the answer counts for another call as well")
			}
			if d.says(v, h.id) == nil || d.allowsOnce(h.id) == nil {
				t.Error("it was answered twice")
			}
		}
		if len(d.logged) != 2 {
			t.Errorf("logged are %q", d.logged)
		}
	})
}

// TestHookWaitsInVain: if nobody answers, the question waits for its agent to try again, as if no hook had
// waited.
func TestHookWaitsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWaitingHooks(t)
		h := d.waits(d.asks("s", `{"command":"make"}`, ""))
		time.Sleep(time.Minute)
		h.hears(t, `{"answer":"none"}`)
		d.wantOpen(h.id)
		if d.says(decisions.Allow, h.id) == nil {
			t.Error("it was answered to a hook that waits no longer")
		}
		// Its client can wait once more.
		d.waits(h)
		d.wantOpen(h.id + " of claude")
		time.Sleep(time.Minute)
		h.hears(t, "none")
		if err := d.allowsOnce(h.id); err != nil || d.grants() != 1 {
			t.Errorf("it cannot be allowed afterwards: %v", err)
		}
		d.wantOpen("")
	})
}

// TestHookWaitsAgain: while a hook waits, what was asked about the same call before is not listed beside it.
// A yes to that which was given before the hook began to wait has it ask again.
func TestHookWaitsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, d *waitingHooks) {
		earlier := d.asks("s", `{"command":"make"}`, "")
		other := d.asks("s", `{"command":"make install"}`, "")
		h := d.waits(d.asks("s", `{"command":"make"}`, ""))
		d.wantOpen(other.id + ", " + h.id + " of claude")
		if d.allowsOnce(earlier.id) == nil {
			t.Error("the question of before was answered")
		}
		if err := d.says(decisions.Deny, h.id); err != nil {
			t.Fatal(err)
		}
		h.hears(t, "deny")

		// An answer that is being stored is not taken from its question.
		earlier = d.asks("s", `{"command":"make"}`, "")
		uid, logging, stored := uint32(1000), make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := d.lasting.AllowOnce(&uid, earlier.id, func() error { <-logging; return nil })
			stored <- err
		}()
		synctest.Wait()
		d.waits(earlier).hears(t, errNotOpen.Error())
		h = d.waits(d.asks("s", `{"command":"make"}`, ""))
		second := d.waits(d.asks("s", `{"command":"make"}`, ""))
		close(logging)
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
		h.hears(t, errAllowedMeanwhile.Error())
		d.wantOpen(other.id + ", " + second.id + " of claude") // one answer counts once
		if d.grants() != 1 {
			t.Errorf("%d approvals wait for the call", d.grants())
		}
	})
}

// TestHookWaitEnds: a question ends with the hook, the turn and the session.
func TestHookWaitEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, d *waitingHooks, h *hookWait){
		"the turn": func(t *testing.T, d *waitingHooks, _ *hookWait) {
			t.Helper()
			d.must(t, conn(99), methodFinished, `{"sessionId":"s","harness":"claude","turnEnded":true}`)
		},
		"the session": func(t *testing.T, d *waitingHooks, _ *hookWait) {
			t.Helper()
			c := conn(99)
			d.declare(t, c, "s", "")
			d.must(t, c, MethodClose, `{"sessionId":"s"}`)
		},
		"the tree": func(_ *testing.T, d *waitingHooks, _ *hookWait) {
			d.lasting.mu.Lock()
			defer d.lasting.mu.Unlock()
			d.lasting.removeTree(sessionTreeKey{uid: 1000, harness: "claude", id: "s"})
		},
		"the client": func(_ *testing.T, _ *waitingHooks, h *hookWait) { close(StateOf(h.c).eof) },
	} {
		inBubble(t, func(t *testing.T, d *waitingHooks) {
			h := d.waits(d.asks("s", `{"command":"make"}`, ""))
			end(t, d, h)
			h.hears(t, `{"answer":"none"}`)
			if open := d.open(); open != "" || len(d.lasting.waited) != 0 {
				t.Errorf("%s has ended, and open is %q", name, open)
			}
			if d.says(decisions.Allow, h.id) == nil || d.allowsOnce(h.id) == nil {
				t.Errorf("%s has ended, and a yes was taken", name)
			}
		})
	}
	// What other sessions and calls do ends nothing.
	inBubble(t, func(t *testing.T, d *waitingHooks) {
		h := d.waits(d.asks("s", `{"command":"make"}`, ""))
		d.must(t, conn(98), methodFinished, `{"sessionId":"s2","harness":"claude","turnEnded":true}`)
		d.must(t, conn(99), methodFinished, `{"sessionId":"s","harness":"claude","call":{"tool":"ask","input":{"command":"make"}}}`)
		d.wantOpen(h.id + " of claude")
		// Another hook of the session, in another folder and mode.
		c := conn(97)
		d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/elsewhere","harness":"claude","mode":"plan"}`)
		if err := d.says(decisions.Allow, h.id); err != nil {
			t.Errorf("the answer is not taken: %v", err)
		}
		h.hears(t, "allow")
	})
}

// TestHookWaitsElsewhere: nobody waits for a question that was asked on another connection, or twice.
func TestHookWaitsElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, d *waitingHooks) {
		h := d.asks("s", `{"command":"make"}`, "")
		c := conn(99)
		d.declare(t, c, "s", "")
		d.refused(t, c, MethodWait, `{"decisionId":"`+h.id+`","seconds":60}`, socket.CodeParams, "no question")
		d.wantOpen(h.id)
		d.waits(h)
		d.refused(t, h.c, MethodWait, `{"decisionId":"`+h.id+`","seconds":60}`, socket.CodeParams, "awaited already")
		d.wantOpen(h.id + " of claude")
	})
}

// TestHookWaitsAreBounded: many hooks of one session that wait hold up only hooks of that session, and all of
// a person's leave connections for others.
func TestHookWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWaitingHooks(t)
		n := 0
		ask := func(session string) *hookWait {
			n++
			more := ""
			if parent, _, ok := strings.Cut(session, "/"); ok {
				more = `,"parent":"` + parent + `"`
			}
			return d.asks(session, fmt.Sprintf(`{"command":"make %d"}`, n), more)
		}
		full := func(h *hookWait, says string) {
			t.Helper()
			d.refused(t, h.c, MethodWait, `{"decisionId":"`+h.id+`","seconds":60}`, socket.CodeBusy, says)
		}
		d.asks("s", `{}`, "")
		for i := range maxTreeWaits {
			d.waits(ask([]string{"s", "s/agent"}[i%2]))
		}
		over := ask("s")
		full(over, "of this session")
		full(ask("s/agent"), "of this session")
		if !strings.Contains(d.open(), over.id) {
			t.Error("what is not waited for cannot be allowed")
		}
		for i := maxTreeWaits; i < maxPersistentWaits; i++ {
			d.waits(ask(fmt.Sprint("t", i)))
		}
		full(ask("u"), "of this person")
		time.Sleep(time.Minute)
		synctest.Wait() // the waits end at this very moment
		d.waits(over)
		if !strings.Contains(d.open(), over.id+" of claude") {
			t.Error("the others have ended, and it cannot be waited for")
		}
	})
}
