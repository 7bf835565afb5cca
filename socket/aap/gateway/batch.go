package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/client"
)

// result is the result of aap/permissions and of aap/answer.
type result struct {
	BatchID  string             `json:"batchId"`
	Calls    []aap.Call         `json:"calls"`
	Messages []strictjson.Value `json:"messages"`
	Needs    struct {
		Answers []string `json:"answers"`
		Results []string `json:"results"`
	} `json:"needs"`
}

// batch is the calls of one stop, as permd has decided them.
type batch struct {
	result
	// shown are the calls that the client was shown without a result, so that it answers.
	shown   map[string]bool
	denials map[string]bool // calls whose denial the client has been shown
	late    []part          // calls that the server may run, which the client has not been shown
}

// unanswered returns the calls that have no result.
func (b *batch) unanswered() (list []*aap.Call) {
	for i := range b.Calls {
		if b.Calls[i].Outcome != aap.Skip {
			list = append(list, &b.Calls[i])
		}
	}
	return list
}

// granted returns the calls that the server may run. b may be nil.
func (b *batch) granted() (list []*aap.Call) {
	if b == nil {
		return nil
	}
	for _, c := range b.unanswered() {
		if c.Outcome == aap.Granted {
			list = append(list, c)
		}
	}
	return list
}

func (b *batch) call(id string) *aap.Call {
	i := slices.IndexFunc(b.Calls, func(c aap.Call) bool { return c.ToolCallID == id })
	if i < 0 {
		return nil
	}
	return &b.Calls[i]
}

// hasWaiting reports whether exactly these calls wait.
func (b *batch) hasWaiting(ids []string) bool {
	var mine []string
	for _, c := range b.unanswered() {
		mine = append(mine, c.ToolCallID)
	}
	slices.Sort(mine)
	return slices.Equal(mine, slices.Compact(slices.Sorted(slices.Values(ids))))
}

func isClients(c *aap.Call) bool { return string(c.Side) == "client" }

// asksClient reports whether the client asks its person about a call that nobody has allowed:
// that is what it does with a call of a tool of the server.
func (g *Gateway) asksClient(c *aap.Call) bool {
	return c.Outcome == aap.Ask && !isClients(c) && !g.cfg.NoClientAnswers
}

// goesToClient reports whether the client has to answer a call.
func (g *Gateway) goesToClient(c *aap.Call) bool { return c.Outcome == aap.Execute || g.asksClient(c) }

// errPermd is the error for a client while permd cannot decide.
func errPermd(err error) *fault {
	if _, ok := errors.AsType[*client.Error](err); ok {
		return &fault{http.StatusBadGateway, "permd does not decide this turn: " + err.Error()}
	}
	return &fault{http.StatusServiceUnavailable, "permd does not answer, so no call runs"}
}

// params are what permd's methods are told of a session.
func (g *Gateway) params(s *session, more map[string]any) map[string]any {
	agent := map[string]any{"name": s.agent}
	if s.server != nil {
		agent["tools"] = s.server
	}
	tools := make([]tool, len(s.client))
	for i, t := range s.client {
		tools[i].Name = t.Name
	}
	p := map[string]any{"sessionId": s.id, "endpoint": g.endpoint, "agent": agent, "tools": tools}
	maps.Copy(p, more)
	return p
}

// decide has the calls of a stop decided: those of a turn, or those of a history.
func (g *Gateway) decide(ctx context.Context, s *session, form string, value any) (*batch, *fault) {
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	b := &batch{shown: map[string]bool{}, denials: map[string]bool{}}
	c, err := s.permd(ctx)
	if err == nil {
		err = c.Call(ctx, aap.MethodPermissions, g.params(s, map[string]any{form: value}), &b.result)
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, errPermd(err)
	}
	return b, nil
}

// answer sends the person's answers and the client's results.
func (g *Gateway) answer(ctx context.Context, s *session, b *batch, answers, results []any) error {
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	p := map[string]any{"sessionId": s.id, "batchId": b.BatchID}
	if len(answers) > 0 {
		p["answers"] = answers
	}
	if len(results) > 0 {
		p["results"] = results
	}
	c, err := s.permd(ctx)
	if err != nil {
		return err
	}
	if s.pending != b {
		return errLost
	}
	var r result
	if err := c.Call(ctx, aap.MethodAnswer, p, &r); err != nil {
		return err
	}
	if len(r.Calls) != len(b.Calls) {
		return errors.New("reading permd's answer: it is about other calls")
	}
	b.result = r
	return b.check()
}

var errLost = errors.New("the connection to permd broke: the calls are decided again when the session is resumed")

// check makes sure that each call has a known outcome: one that is not known could count as
// an allow.
func (b *batch) check() error {
	for i := range b.Calls {
		switch b.Calls[i].Outcome {
		case aap.Granted, aap.Execute, aap.Denied, aap.Ask, aap.Skip:
		default:
			return errors.New("reading permd's answer: a call without a known outcome")
		}
	}
	return nil
}

// How often, and after which pause, a refused wait is tried again.
const (
	waitTries = 20
	waitPause = 100 * time.Millisecond
)

// rounds is how often questions are put that come up only once others are answered.
const rounds = 4

// settle waits until nothing is left to ask that the client is not asked about itself. What
// nobody answers in time is denied. The batch must be that of the session.
func (g *Gateway) settle(ctx context.Context, s *session, b *batch, out *output, all bool) error {
	for range rounds {
		var asked []*aap.Call
		for _, c := range b.unanswered() {
			if c.Outcome == aap.Ask && (all || !g.asksClient(c)) {
				asked = append(asked, c)
			}
		}
		if asked == nil {
			return nil
		}
		reasons, late := g.ask(ctx, s, asked, out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Answers that came elsewhere are applied first: a call may have been answered
		// although its wait failed.
		if err := g.answer(ctx, s, b, nil, nil); err != nil {
			return err
		}
		var denials []any
		var open []string // the questions that stay open
		for _, c := range b.unanswered() {
			if reason := reasons[c.ToolCallID]; reason != "" && c.Outcome == aap.Ask {
				d := denial(c, reason)
				if late[c.ToolCallID] {
					d["later"], open = true, append(open, c.Decision.ID)
				}
				denials = append(denials, d)
			}
		}
		if denials != nil {
			if err := g.answer(ctx, s, b, denials, nil); err != nil {
				return err
			}
			g.awaitLate(s, open)
		}
	}
	var left []any
	for _, c := range b.unanswered() {
		if c.Outcome == aap.Ask && (all || !g.asksClient(c)) {
			left = append(left, denial(c, "another question came up each time"))
		}
	}
	if left == nil {
		return nil
	}
	return g.answer(ctx, s, b, left, nil)
}

func denial(c *aap.Call, reason string) map[string]any {
	return map[string]any{"toolCallId": c.ToolCallID, "verdict": decisions.Deny, "reason": reason}
}

// ask waits for permd allow, and returns why calls are denied that nobody has answered, and of
// which of them the person can still answer the question, by their ids.
func (g *Gateway) ask(ctx context.Context, s *session, asked []*aap.Call, out *output) (reasons map[string]string, late map[string]bool) {
	var mu sync.Mutex
	reasons, late = map[string]string{}, map[string]bool{}
	deny := func(c *aap.Call, reason string) {
		mu.Lock()
		defer mu.Unlock()
		reasons[c.ToolCallID] = reason
	}
	conn := s.conn
	places := make(chan struct{}, maxWaits)
	var wg sync.WaitGroup
	for _, c := range asked {
		switch {
		case c.Decision == nil || conn == nil:
			deny(c, "a person must allow this call, and it is not known what to ask")
			continue
		case g.cfg.Wait < time.Second:
			deny(c, "a person must allow this call, and nobody can be asked here")
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			note := fmt.Sprintf("permd: %s waits for you: permd allow %s", c.Name, c.Decision.ID)
			if out != nil {
				out.notice(note)
			}
			g.cfg.Say(note[len("permd: "):])
			r, err := wait(ctx, conn, c.Decision.ID, g.cfg.Wait)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				deny(c, "a person must allow this call, and could not be asked: "+reasonOf(c, err))
			case r.Verdict() == decisions.Ask:
				deny(c, "a person must allow this call, and nobody did in time; an answer that comes later counts once, when the same call is made again")
				mu.Lock()
				late[c.ToolCallID] = true
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	tick := time.NewTicker(aliveInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return reasons, late
		case <-tick.C:
			if out != nil {
				out.alive()
			}
		}
	}
}

// wait waits for a person. An earlier wait for the same question that was withdrawn may not
// have ended yet, so what is refused is tried again.
func wait(ctx context.Context, conn *client.Client, decision string, limit time.Duration) (r *client.WaitResult, err error) {
	for range waitTries {
		r, err = client.Wait(ctx, conn, decision, limit)
		if _, refused := errors.AsType[*client.Error](err); !refused {
			return r, err
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r, err
}

// reasonOf returns why a question cannot be waited for.
func reasonOf(c *aap.Call, err error) string {
	if c.Problem != "" {
		return c.Problem
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Message
	}
	return "permd does not answer"
}
