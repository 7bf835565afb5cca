package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/gatehttp"
)

// turns serves POST /sessions/ID/turns: a message of the user, or the answers to all calls
// that the client was shown.
func (g *Gateway) turns(w http.ResponseWriter, r *http.Request, id string) *fault {
	body, f := readBody(w, r)
	if f != nil {
		return f
	}
	mode := "none"
	if v, ok := body.Get("stream"); ok && strictjson.Kind(v) != 'n' {
		if mode = text(body, "stream"); !slices.Contains([]string{"delta", "message", "none"}, mode) {
			return &fault{http.StatusBadRequest, "stream must be delta, message or none"}
		}
	}
	if f := checkMembers(body, "agent", "tools", "messages", "stream"); f != nil {
		return f
	}
	said, f := readSaid(body)
	if f != nil {
		return f
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	s, release, f := g.find(ctx, id, r)
	if f != nil {
		return f
	}
	defer release()
	if f := s.configure(body); f != nil {
		return f
	}
	if body, f = g.withTrust(body); f != nil {
		return f
	}
	t := &conversation{g: g, s: s, from: r, out: newOutput(w, mode), memory: g.memory.Begin(id)}
	defer t.memory.Free()
	// The results of calls that may have run already may come at any time.
	t.held = held{out: t.out, expected: maps.Clone(s.posted)}
	if said != nil {
		if body, f = t.reply(ctx, body, said); f != nil {
			t.out.failTurn(f)
			return nil
		}
	} else {
		s.pending = nil // the user goes on without the calls
	}
	if f := t.run(ctx, body); f != nil {
		t.out.failTurn(f)
	}
	return nil
}

// conversation is one turn of the client, which may be several of the server.
type conversation struct {
	g    *Gateway
	s    *session
	from *http.Request
	out  *output
	held held
	// memory is for what the server has answered and is not passed on yet.
	memory *gatehttp.Held
}

// errDisconnected ends a turn whose client is gone. What has been decided is kept.
var errDisconnected = &fault{http.StatusServiceUnavailable, "the client is gone"}

// run posts a turn, and goes on as long as no call needs the client.
func (t *conversation) run(ctx context.Context, body strictjson.Object) *fault {
	denied := 0 // turns in a row in which nothing may run
	for n := 1; ; n++ {
		if ctx.Err() != nil || t.out.writeError() != nil {
			return errDisconnected
		}
		b := t.s.pending
		t.out.nextTurn()
		if f := t.noteSent(b); f != nil {
			return f
		}
		t.memory.Free() // what came before is decided, and the next turn may need all there is for one
		server, end := t.server(ctx)
		turn, arrived, f := t.g.postTurn(server, t.memory, t.s, body, t.out.isStream(), t.from, t.held.add)
		end()
		if arrived || f == nil {
			t.noteArrived(b, f)
		} else {
			t.forgetSent(b)
		}
		if f != nil {
			return f
		}
		t.recordRan(ctx, turn)
		if turn.stop != stopToolUse || len(turn.calls) == 0 {
			t.finish(turn)
			return nil
		}
		server, end = t.server(ctx)
		b, f = t.g.decide(server, t.s, "turn", map[string]any{"events": turn.events()})
		end()
		if f != nil {
			return f
		}
		if len(b.unanswered()) == 0 {
			t.finish(turn)
			return nil
		}
		t.s.pending = b
		if err := t.g.settle(ctx, t.s, b, t.out, false); err != nil {
			return t.broken(ctx, err)
		}
		if t.show(b) {
			return nil
		}
		if denied++; slices.ContainsFunc(b.unanswered(), func(c *aap.Call) bool { return c.Outcome == aap.Granted }) {
			denied = 0
		}
		if n == maxTurns || denied == maxDenied {
			t.out.notice(fmt.Sprintf("permd: the server goes on without end: %d turns for one message", n))
			t.out.stop("error")
			return nil
		}
		if f := t.ready(ctx, b); f != nil {
			return f
		}
		body = t.next(body, b)
	}
}

// server returns the context of a request for a turn. It ends with the gateway, and some time after
// the client has gone away: the server would go on, and nobody would know how far it came.
func (t *conversation) server(ctx context.Context) (context.Context, context.CancelFunc) {
	server, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(goneTimeout):
		case <-t.g.ended.Done():
		case <-server.Done():
		}
		cancel()
	})
	return server, func() { stop(); cancel() }
}

// granted stands for a permission of a call of the server in what was sent.
var granted = sha256.Sum256([]byte("granted"))

// noteSent notes the permissions that are posted now: the server may run the calls, and a
// gateway that is started anew has to know.
func (t *conversation) noteSent(b *batch) *fault {
	for _, c := range b.granted() {
		if err := t.g.cfg.Sent.Note(granted, t.g.endpoint, t.s.id, c.ToolCallID); err != nil {
			t.g.cfg.Say(err.Error())
			return &fault{http.StatusServiceUnavailable, "what is sent to the server cannot be noted, so no call runs"}
		}
	}
	return nil
}

// forgetSent notes that permissions have not arrived.
func (t *conversation) forgetSent(b *batch) {
	for _, c := range b.granted() {
		if err := t.g.cfg.Sent.Forget(t.g.endpoint, t.s.id, c.ToolCallID); err != nil {
			t.g.cfg.Say(err.Error())
		}
	}
}

// noteArrived notes that the answers to a batch have arrived, or may have: it is not posted
// again.
func (t *conversation) noteArrived(b *batch, f *fault) {
	t.s.pending = nil
	if b == nil || f == nil {
		return
	}
	for _, c := range b.granted() {
		t.s.posted[c.ToolCallID] = true
	}
}

// recordRan records what the server ran without asking, and of which calls it has shown results.
func (t *conversation) recordRan(ctx context.Context, turn *turn) {
	if len(turn.results) == 0 {
		return
	}
	ctx, end := t.server(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	var r aap.RanResult
	c, err := t.s.permd(ctx)
	if err == nil {
		err = c.Call(ctx, aap.MethodRan, t.g.params(t.s, map[string]any{"turn": map[string]any{"events": turn.events()}}), &r)
	}
	if err != nil {
		t.g.cfg.Say("what the server ran without asking could not be recorded: " + err.Error())
		return
	}
	for _, c := range r.Calls {
		if c.Decision != nil && c.Decision.Verdict == decisions.Deny {
			t.g.cfg.Say(fmt.Sprintf("the server has run %s without asking, which your rules deny: permd log list --unasked shows it", c.Name))
		}
	}
}

// finish ends a turn in which no call waits. Calls that will not run are not shown.
func (t *conversation) finish(turn *turn) {
	t.held.endLate()
	t.held.queue = slices.DeleteFunc(t.held.queue, func(p part) bool { return p.kind == partCall && slices.Contains(t.held.unresolved, p.id) })
	t.held.flush()
	t.held.unresolved = nil
	t.out.stop(turn.stop)
}

// show shows the client the calls of a stop by what was decided, and reports whether the turn
// ends with it because it has to answer some.
func (t *conversation) show(b *batch) bool {
	t.held.endLate()
	h := &t.held
	seen := map[string]bool{}
	for i := range h.queue {
		p := &h.queue[i]
		if p.kind != partCall || !slices.Contains(h.unresolved, p.id) {
			t.out.part(p)
			continue
		}
		c := b.call(p.id)
		if seen[p.id] || c == nil {
			continue
		}
		seen[p.id] = true
		switch {
		case t.g.goesToClient(c):
			t.out.part(p)
			b.shown[p.id] = true
		case c.Outcome == aap.Denied:
			t.out.part(p)
			t.out.result(p.id, denialText(c))
			b.denials[p.id] = true
		case c.Outcome == aap.Granted:
			b.late = append(b.late, *p)
		}
	}
	h.queue, h.unresolved = nil, nil
	if len(b.shown) > 0 {
		t.out.stop(stopToolUse)
		return true
	}
	h.expect(b)
	return false
}

// denialText is what the model is told, in the protocol's words.
func denialText(c *aap.Call) string {
	if c.Reason == "" {
		return "Tool call denied"
	}
	return "Tool call denied: " + c.Reason
}

// ready makes sure that all is decided and the messages are there.
func (t *conversation) ready(ctx context.Context, b *batch) *fault {
	if b.Messages == nil || len(b.Needs.Answers)+len(b.Needs.Results) > 0 || len(b.Messages) == 0 {
		return &fault{http.StatusBadGateway, "the calls are not all answered"}
	}
	return nil
}

// next returns the request that answers a batch.
func (t *conversation) next(body strictjson.Object, b *batch) strictjson.Object {
	return set(set(strictjson.Object{}, "messages", joined('[', b.Messages, ']')), "stream", strictjson.Value(quote(t.out.mode)))
}

// broken is the error when a batch could not be decided to its end.
func (t *conversation) broken(ctx context.Context, err error) *fault {
	switch {
	case ctx.Err() != nil:
		return errDisconnected
	case errors.Is(err, errLost):
		t.s.pending = nil
		return &fault{http.StatusServiceUnavailable, err.Error()}
	}
	return errPermd(err)
}
