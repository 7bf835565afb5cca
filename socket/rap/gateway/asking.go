package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/rap"
)

// askPerson asks the person by way of the runtime, and returns what permd makes of the answer.
func (g *Gateway) askPerson(c *call, d *decided) []byte {
	secret := rand.Text()
	if !g.beginAsking(c, secret) {
		g.withdraw(c)
		return c.failure(textManyAsk)
	}
	defer g.endAsking(c, secret)
	if !g.post(c, question(d.Choice, g.base+choicePath+secret)) {
		g.withdraw(c)
		return c.failure(textChoice)
	}
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	elsewhere := g.waitElsewhere(ctx, c.conn, d.Decision.ID)
	for {
		select {
		case <-c.ctx.Done():
			g.withdraw(c)
			g.ended(c, rap.Cancelled)
			return c.failure(textCancelled)
		case answer, ok := <-elsewhere:
			if !ok {
				elsewhere = nil // only the runtime can answer
				continue
			}
			_, result := g.outcome(c, answer, nil)
			return result
		case s := <-c.answers:
			if s.index < 0 || s.index >= len(d.Choice.Choices) {
				g.withdraw(c)
				s.counts <- true
				return c.failure(textSelection)
			}
			answer, err := g.choose(c, d.Decision.ID, s, elsewhere)
			_, result := g.outcome(c, answer, err)
			return result
		}
	}
}

// selection is an answer of the runtime's person.
type selection struct {
	index  int
	counts chan<- bool // takes whether it does; it has room
}

// choose takes the answer of the runtime's person to permd, and says whether it counts. If permd
// does not take it, that of permd allow came first, perhaps.
func (g *Gateway) choose(c *call, question string, s selection, elsewhere <-chan *decided) (*decided, error) {
	a := new(decided)
	params := map[string]any{"decisionId": question, "selected": s.index}
	// The person has answered, so a cancellation that comes now does not undo what is
	// remembered.
	err := c.conn.Call(context.WithoutCancel(c.ctx), rap.MethodChoice, params, a)
	s.counts <- err == nil && c.ctx.Err() == nil
	if err == nil && a.Outcome == rap.Ask {
		return nil, errors.New("a choice that asks")
	}
	if err == nil {
		return a, nil
	}
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case other, ok := <-elsewhere:
		if ok {
			return other, nil
		}
	case <-late.C:
	}
	g.withdraw(c) // nobody waits for it any more
	return nil, err
}

// waitElsewhere has a question of permd answered with permd allow as well. The channel receives
// the answer. It is closed without one when the question has ended or ctx has.
func (g *Gateway) waitElsewhere(ctx context.Context, conn *client.Client, question string) <-chan *decided {
	answers := make(chan *decided, 1)
	g.runs.Go(func() {
		defer close(answers)
		select {
		case g.waits <- struct{}{}:
			defer func() { <-g.waits }()
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			// Not ended by ctx, as the call itself. What ends ctx ends the question.
			r, err := client.Wait(context.WithoutCancel(ctx), conn, question, waitLimit)
			if err != nil {
				return
			}
			if r.Verdict() == decisions.Ask {
				continue // a question that has ended is refused now
			}
			answer := new(decided)
			want := rap.Denied
			if r.Verdict() == decisions.Allow {
				want = rap.Run
			}
			if strictjson.Unmarshal(r.Result, answer) != nil || answer.Outcome != want {
				answer = new(decided) // nothing runs
			}
			answers <- answer
			return
		}
	})
	return answers
}

// withdraw ends the question of a call in permd.
func (g *Gateway) withdraw(c *call) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := c.conn.Call(ctx, rap.MethodCancel, callRef{c.thread, c.id}, nil); err != nil {
		g.say("a question could not be withdrawn: " + err.Error())
	}
}

// choice takes the answer of the person, once.
func (g *Gateway) choice(secret string, body strictjson.Value) (any, *gatehttp.Refusal) {
	var said struct {
		ID       string `json:"id"`
		Selected *int   `json:"selected"`
	}
	if strictjson.Unmarshal(body, &said) != nil || said.Selected == nil {
		return nil, bad("an answer has the id of its call, and the index of a choice as selected")
	}
	c, f := g.questionOf(secret, said.ID)
	if f != nil {
		return nil, f
	}
	// What it says to the runtime is known only once permd has taken it: permd allow, or the end
	// of the thread, may come first.
	counts := make(chan bool, 1)
	select {
	case c.answers <- selection{*said.Selected, counts}:
		if <-counts {
			return struct{}{}, nil
		}
	case <-c.asked:
	}
	return nil, errNoQuestion
}

var errNoQuestion = &gatehttp.Refusal{Status: http.StatusNotFound, Code: "question", Message: "no question waits here"}

// questionOf returns the call whose question has an address with the secret. It is given once.
func (g *Gateway) questionOf(secret, id string) (*call, *gatehttp.Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.questions[secret]
	switch {
	case c == nil:
		return nil, errNoQuestion
	case c.id != id:
		return nil, bad("the id is that of another call")
	}
	delete(g.questions, secret)
	return c, nil
}

// beginAsking has a call wait for a person, who answers with the secret. It reports whether
// there is a place for it. If so, endAsking must follow.
func (g *Gateway) beginAsking(c *call, secret string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.allAsking >= maxAsking || g.asking[c.thread] >= maxThreadAsking {
		return false
	}
	g.allAsking++
	g.asking[c.thread]++
	g.questions[secret] = c
	return true
}

func (g *Gateway) endAsking(c *call, secret string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(c.asked)
	delete(g.questions, secret)
	g.allAsking--
	if g.asking[c.thread]--; g.asking[c.thread] == 0 {
		delete(g.asking, c.thread)
	}
}
