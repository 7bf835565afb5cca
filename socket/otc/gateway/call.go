package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/otc"
)

// How long a call that permd has let run may be sent later, if its upstream was not there;
// how often that is tried at once, and the pause between.
const (
	clearedFor = time.Minute
	sendTries  = 3
	sendPause  = 200 * time.Millisecond
)

// Texts for callers. None holds anything of an upstream or a credential.
const (
	sayUnreachable = "The tool server is temporarily unavailable"
	sayUnknown     = "The tool server gave no valid answer: whether the tool has run is not known"
	sayEcho        = "The tool has run, and its answer is withheld since it holds a credential"
	sayUndecided   = "This tool call could not be decided, and has not run"
	sayNoTool      = "The tool was not found"
	sayOther       = "The call_id was used for another call"
	sayRan         = "The call was sent before, and its answer is kept no longer"
	sayBusy        = "Too many calls are under way"
	sayGone        = "The caller is gone"
)

// call answers a call. wait is how long the caller waits for a person.
func (g *Gateway) call(ctx context.Context, held *gatehttp.Held, c *call, wait time.Duration) *response {
	id := c.id
	if id == "" {
		id = "permd-" + rand.Text()
	}
	r, other, full := g.records.recordOf(id, c.sum())
	switch {
	case other:
		return refusal(sayOther, "")
	case full:
		return refusal(sayBusy, "")
	}
	defer g.records.leave(r)
	until := time.Now().Add(wait)
	for range 4 {
		answer, q := g.turn(ctx, held, r, c)
		if q != nil {
			held.Free() // the list of tools is read again
		}
		// Callers of one call wait for the person together, each its own time.
		if q == nil || !q.answered(ctx, time.Until(until)) || q.state() == statusExpired {
			return answer
		}
	}
	return refusal(sayUndecided, "")
}

// turn finds out what becomes of a call now. A repetition of a call waits for its turn: it
// gets the same answer. If a person must be asked, it returns the question too.
func (g *Gateway) turn(ctx context.Context, held *gatehttp.Held, r *record, c *call) (*response, *pendingAnswer) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return refusal(sayGone, ""), nil
	}
	if n := g.records.sizeOf(r); held.Wait(ctx, n) != nil {
		return refusal(sayBusy, ""), nil
	}
	if answer := g.records.answerOf(r); answer != nil {
		return answer, nil
	}
	if r.sent {
		return refusal(sayRan, ""), nil
	}
	u := g.config.upstreamOf(c.toolkit)
	if u == nil {
		return refusal(sayNoTool, "no upstream has this toolkit"), nil
	}
	switch sent, same := g.sent.Find(r.sum, u.Address(), r.id); {
	case sent && same:
		return refusal(sayRan, ""), nil
	case sent:
		return refusal(sayOther, ""), nil
	}
	return g.decide(ctx, held, r, c, u)
}

// decide asks permd about a call. The definition is asked for each time: a tool that changes
// while a person answers is another tool.
func (g *Gateway) decide(ctx context.Context, held *gatehttp.Held, r *record, c *call, u *upstream) (*response, *pendingAnswer) {
	have, err := u.credentials()
	if err != nil {
		g.say("credentials of a tool server cannot be read: " + err.Error())
		return refusal(sayUnreachable, ""), nil
	}
	tools, err := u.list(ctx, held, have)
	if err != nil {
		g.say("the tools of an upstream cannot be read: " + err.Error())
		return refusal(sayUnreachable, ""), nil
	}
	t := find(tools, c)
	if t == nil {
		return refusal(sayNoTool, ""), nil
	}
	grants, secrets, why := t.meet(c, have)
	if why != "" {
		return refusal(why, ""), nil
	}
	user := c.user
	if u.userID != "" {
		user = u.userID
	}
	send := func() *response {
		// A tool of which it is not known what it was could change without a question.
		if err := g.note(t); err != nil {
			g.say("what a tool is could not be noted: " + err.Error())
			if !r.person {
				return refusal(sayUndecided, "") // it stays cleared
			}
		}
		return g.send(ctx, held, r, t, have, c.forwarded(t, r.id, grants, secrets, user))
	}
	if time.Now().Before(r.cleared) && r.tool == t.id+" "+t.digest {
		return send(), nil
	}
	r.cleared = time.Time{}
	// An answer to a question about a tool is none about what the tool has become.
	asked := r.id
	if r.first = cmp.Or(r.first, t.digest); r.first != t.digest {
		asked += "@" + t.digest
	}
	known, err := g.pins.Known(t.key)
	if err != nil {
		g.say(err.Error())
	}
	changed := err != nil || len(known) > 0 && !slices.Contains(known, t.digest)
	conn, a, err := g.ask(ctx, c.params(g, t, asked, grants, secrets, user, changed))
	if err != nil {
		g.say("permd did not decide a call: " + err.Error())
		return refusal(sayUndecided, ""), nil
	}
	switch a.Outcome {
	case otc.Run:
		r.person = a.Decision == nil || a.Decision.Verdict != decisions.Allow
		r.cleared, r.tool = time.Now().Add(clearedFor), t.id+" "+t.digest
		return send(), nil
	case otc.Ask:
		return answered(a), g.await(conn, a.Decision)
	case otc.Denied:
		fallthrough
	default:
		return answered(a), nil
	}
}

// maxKnown is how many definitions of a tool are known, of its versions.
const maxKnown = 15

// note notes what a tool is that is called now.
func (g *Gateway) note(t *tool) error {
	known, err := g.pins.Known(t.key)
	if err != nil || slices.Contains(known, t.digest) {
		return err
	}
	return g.pins.Set(t.key, known, append(slices.Clone(known[max(0, len(known)-maxKnown):]), t.digest))
}

// answered reports whether a question is answered in time.
func (q *pendingAnswer) answered(ctx context.Context, limit time.Duration) bool {
	late := time.NewTimer(max(limit, 0))
	defer late.Stop()
	select {
	case <-q.done:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// answered returns the response to a call that permd does not let run.
func answered(a *otc.Answer) *response {
	if a.Response == nil {
		return refusal(sayUndecided, "")
	}
	body := a.Response.Body
	body.Schema = "" // it is added in the form in which the call came
	return &response{status: a.Response.Status, body: marshal(body)}
}

// params are those of otc/call. permd gets no credential, only which there are.
func (c *call) params(g *Gateway, t *tool, id string, grants, secrets []credential, user string, changed bool) strictjson.Value {
	named := func(list []credential, member string) (out []map[string]string) {
		for _, one := range list {
			text := ""
			if one.value != "" {
				text = "given"
			}
			out = append(out, map[string]string{"id": one.id, member: text})
		}
		return out
	}
	at := g.approvals + "{decisionId}"
	o := map[string]any{
		"sessionId": g.session.ID, "endpoint": t.upstream.Address(), "tool": t.raw, "changed": changed,
		"approval": map[string]string{"url": at, "checkUrl": at},
		"tool_id":  t.id, "call_id": id, "trace_id": c.trace,
		"context": map[string]any{"authorization": named(grants, "token"), "secrets": named(secrets, "value"), "user_id": user},
	}
	if c.input != nil {
		o["input"] = c.input
	}
	return marshal(o)
}

// send sends a call to its upstream and keeps the answer. Once it may have been sent, the
// caller's end does not stop it, and it is not sent again.
func (g *Gateway) send(ctx context.Context, held *gatehttp.Held, r *record, t *tool, have *credentials, body []byte) *response {
	if ctx.Err() != nil {
		return refusal(sayGone, "") // it stays cleared
	}
	if err := g.sent.Note(r.sum, t.upstream.Address(), r.id); err != nil {
		g.say(err.Error())
		return refusal(sayUndecided, "") // it stays cleared
	}
	var a *gatehttp.Answer
	var err error
	for try := range sendTries {
		if try > 0 {
			time.Sleep(sendPause)
		}
		r.sent = true
		a, err = t.upstream.Do(context.WithoutCancel(ctx), held, http.MethodPost, "/tools/call", have.headers(), body)
		if e, ok := errors.AsType[*gatehttp.UpstreamError](err); !ok || e.Sent {
			break
		}
		r.sent = false
	}
	if !r.sent {
		if err := g.sent.Forget(t.upstream.Address(), r.id); err != nil {
			g.say(err.Error())
		}
		g.say("a tool server cannot be called: " + err.Error())
		return refusal(sayUnreachable, "")
	}
	var answer *response
	held.Work(func() { answer = g.read(r, a, err, have) })
	g.records.finish(r, answer)
	return answer
}

// read reads the answer of an upstream to a call.
func (g *Gateway) read(r *record, a *gatehttp.Answer, err error, have *credentials) *response {
	if err != nil {
		g.say("a tool server gave no answer: " + err.Error())
		return failure(r.id, sayUnknown, "")
	}
	answer, ok := (*response)(nil), false
	if gatehttp.IsJSON(a.Header) {
		if a.Status == http.StatusOK {
			answer, ok = readResult(a.Body, r.id)
		} else {
			answer, ok = readRefusal(a.Status, a.Body)
		}
	}
	switch {
	case !ok:
		g.say("a tool server gave an answer that the protocol does not have")
		return failure(r.id, sayUnknown, "")
	case gatehttp.Echoes(answer.body, have.all()):
		g.say("a tool server gave an answer that holds a credential")
		return failure(r.id, sayEcho, "")
	}
	return answer
}
