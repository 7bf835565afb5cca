package acp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// titled allows calls whose title is known to the request or before it.
type titled struct{ sockettest.Unchanged }

func (titled) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	d := &decisions.Decision{ID: "d-" + reqs[0].Call.ID, CallID: reqs[0].Call.ID, Verdict: decisions.Ask, Reason: "no title"}
	if reqs[0].Call.Claims.Title != "" && reqs[0].Call.Cwd != "" {
		d.Verdict, d.Reason = decisions.Allow, "title"
	}
	return []*decisions.Decision{d}
}

// wire is a served socket.
type wire struct {
	path     string
	sessions *decisions.Sessions
}

func serve(t *testing.T) *wire {
	t.Helper()
	return serveWith(t, titled{})
}

func serveWith(t *testing.T, d native.Decider) *wire {
	t.Helper()
	w := &wire{sessions: new(decisions.Sessions)}
	users := func(uid uint32) effects.User { return effects.User{UID: uid} }
	methods := socket.Methods{}
	deps := native.Deps{Sessions: w.sessions, Decider: d, Users: users}
	acp.Register(methods, deps)
	native.Register(methods, deps)
	w.path = sockettest.Serve(t, methods)
	return w
}

// client is a connection that sends lines and reads answers by their ids.
type client struct {
	net.Conn
	r *bufio.Reader
}

func (w *wire) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	return &client{c, bufio.NewReader(c)}
}

// send sends lines that have no answer, or whose answers are read with line.
func (c *client) send(t *testing.T, lines ...string) {
	t.Helper()
	if _, err := fmt.Fprint(c, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

// line reads one answer.
func (c *client) line(t *testing.T) string {
	t.Helper()
	got, err := c.r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(got, "\n")
}

// exchange sends all lines at once and returns the answers by their ids; each
// line with an id has one.
func (c *client) exchange(t *testing.T, lines ...string) map[string]string {
	t.Helper()
	c.send(t, lines...)
	answers := map[string]string{}
	for _, l := range lines {
		if !strings.Contains(l, `"id":`) {
			continue
		}
		got, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(got, `"id":`)
		answers[id[:strings.IndexAny(id, ",}")]] = got
	}
	return answers
}

const (
	declare = `{"jsonrpc":"2.0","id":1,"method":"permd/session","params":{"sessionId":"s","cwd":"/w"}}`
	update  = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}}}`
	request = `{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},` +
		`"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}`
	choose = `{"jsonrpc":"2.0","id":3,"method":"permd/choose","params":{"decisionId":"d-c","verdict":"allow"}}`
)

// TestOverTheSocket pipelines all that a client has to say: what precedes
// a request holds for it, without waiting for any answer.
func TestOverTheSocket(t *testing.T) {
	w := serve(t)
	a, b := w.dial(t), w.dial(t)
	got := a.exchange(t, declare, update, request)
	if !strings.Contains(got["1"], `"result":{"protocol":1,`) {
		t.Errorf("permd/session: %s", got["1"])
	}
	if !strings.Contains(got["2"], `"result":{"outcome":{"outcome":"selected","optionId":"y"},"_meta":{"permd":{"decisionId":"d-c"`) {
		t.Errorf("request: %s", got["2"])
	}
	// Another connection has neither the session nor what was said in it.
	got = b.exchange(t, request)
	if !strings.Contains(got["2"], `"code":-32050,"message":"ask the person: no title","data":{"decisionId":"d-c"`) {
		t.Errorf("request on another connection: %s", got["2"])
	}
	if got := a.exchange(t, choose); !strings.Contains(got["3"], `"code":-32602`) {
		t.Errorf("another connection's question was answered: %s", got["3"])
	}
	if got := b.exchange(t, choose); !strings.Contains(got["3"], `"result":{"stored":[],"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`) {
		t.Errorf("choose: %s", got["3"])
	}
}

// TestDisconnect ends the sessions of a connection with it.
func TestDisconnect(t *testing.T) {
	w := serve(t)
	c := w.dial(t)
	c.exchange(t, declare, strings.NewReplacer(`"s"`, `"t"`, `"id":1`, `"id":2`).Replace(declare))
	if n := w.sessions.Len(); n != 2 {
		t.Fatalf("%d sessions, want 2", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "no sessions are left", func() bool { return w.sessions.Len() == 0 })
}

// TestUnreadBeforeAll: also a message that came before all others of ACP may
// have been about the call. What is declared after it is new.
func TestUnreadBeforeAll(t *testing.T) {
	c := serve(t).dial(t)
	c.exchange(t, declare)
	c.send(t, strings.Replace(update, `"title":"ls"`, `"title":"ls","title":"rm"`, 1))
	if got := c.line(t); !strings.Contains(got, `"id":null`) {
		t.Fatalf("the refusal: %s", got)
	}
	whole := strings.Replace(request, `"toolCallId":"c"`, `"toolCallId":"c","title":"ls","rawInput":{"command":"ls"}`, 1)
	if got := c.exchange(t, whole); !strings.Contains(got["2"], "-32050") {
		t.Errorf("a call whose announcement may be lost: %s", got["2"])
	}
	other := strings.NewReplacer(`"s"`, `"new"`)
	c.exchange(t, other.Replace(declare))
	if got := c.exchange(t, other.Replace(whole)); !strings.Contains(got["2"], `"optionId":"y"`) {
		t.Errorf("a session that was declared after that: %s", got["2"])
	}
	// To declare the old one again does not bring back what was lost.
	c.exchange(t, declare)
	if got := c.exchange(t, whole); !strings.Contains(got["2"], "-32050") {
		t.Errorf("the old session: %s", got["2"])
	}
}

// TestUnreadThenDeclaredAgain: a session that was declared before is not new when
// it is declared again, also where nothing was said about it in between.
func TestUnreadThenDeclaredAgain(t *testing.T) {
	c := serve(t).dial(t)
	whole := strings.Replace(request, `"toolCallId":"c"`, `"toolCallId":"c","title":"ls","rawInput":{"command":"ls"}`, 1)
	other := strings.NewReplacer(`"s"`, `"other"`)
	c.exchange(t, declare)
	c.exchange(t, other.Replace(declare))
	c.exchange(t, other.Replace(whole))
	c.send(t, strings.Replace(update, `"title":"ls"`, `"title":"ls","title":"rm"`, 1))
	if got := c.line(t); !strings.Contains(got, `"id":null`) {
		t.Fatalf("the refusal: %s", got)
	}
	c.exchange(t, declare)
	if got := c.exchange(t, whole); !strings.Contains(got["2"], "-32050") {
		t.Errorf("a call whose announcement may be lost: %s", got["2"])
	}
}

// TestUnreadUpdateIsNotForgotten: an update that the framing refuses might have
// changed the call, so what was known of it before must not be decided on.
func TestUnreadUpdateIsNotForgotten(t *testing.T) {
	refused := map[string]string{
		"duplicate names": strings.Replace(update, `"title":"ls"`, `"title":"ls","title":"rm"`, 1),
		"invalid UTF-8":   strings.Replace(update, `"ls"`, "\"\xff\"", 1),
		"too long":        strings.Replace(update, `"ls"`, `"`+strings.Repeat("x", socket.DefaultMaxMessage)+`"`, 1),
		"case":            strings.Replace(update, `"params"`, `"PARAMS"`, 1),
		"batch":           "[" + update + "]",
		"half a value":    update[:len(update)-4],
	}
	for name, line := range refused {
		t.Run(name, func(t *testing.T) {
			c := serve(t).dial(t)
			c.exchange(t, declare)
			if got := c.exchange(t, update, request); !strings.Contains(got["2"], `"optionId":"y"`) {
				t.Fatalf("before: %s", got["2"])
			}
			if _, err := fmt.Fprint(c, line+"\n"); err != nil {
				t.Fatal(err)
			}
			if got, err := c.r.ReadString('\n'); err != nil || !strings.Contains(got, `"id":null`) {
				t.Fatalf("the refusal: %s %v", got, err)
			}
			if got := c.exchange(t, request); !strings.Contains(got["2"], `"code":-32050`) {
				t.Errorf("after: %s", got["2"])
			}
		})
	}
}
