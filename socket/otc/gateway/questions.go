package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/otc"
)

// connectTimeout bounds the wait for a connection to permd.
const connectTimeout = 20 * time.Second

// Bounds of questions. permd ends them with the connection.
const (
	askedFor     = 30 * time.Minute // a person has so long to answer
	maxQuestions = 1024             // whose state is known
	maxWaits     = 12               // that permd allow lists at a time: permd takes no more of one connection
)

// pendingAnswer is a question about a call that permd waits for.
type pendingAnswer struct {
	id   string
	done chan struct{} // closed when permd waits no longer

	mu     sync.Mutex
	status string // pending, approved, denied or expired
}

func (q *pendingAnswer) state() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status
}

// ask asks permd about a call. The end of the caller does not end it: an answer that lets
// the call run once would be lost.
func (g *Gateway) ask(ctx context.Context, params strictjson.Value) (*client.Client, *otc.Answer, error) {
	ctx = context.WithoutCancel(ctx)
	conn, _, err := g.daemon.Connection(ctx)
	if err != nil {
		return nil, nil, err
	}
	a := new(otc.Answer)
	if err := conn.Call(ctx, otc.MethodCall, params, a); err != nil {
		return nil, nil, err
	}
	return conn, a, nil
}

// await has a question answered with permd allow, from now on. It does not depend on the
// request that caused it: whoever repeats the call gets the answer.
func (g *Gateway) await(conn *client.Client, d *decisions.Decision) *pendingAnswer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.questions[d.ID]; q != nil && q.state() == statusPending {
		return q
	}
	q := &pendingAnswer{id: d.ID, done: make(chan struct{}), status: statusPending}
	if len(g.order) >= maxQuestions {
		delete(g.questions, g.order[0])
		g.order = g.order[1:]
	}
	g.questions[d.ID] = q
	g.order = append(g.order, d.ID)
	until := time.Now().Add(askedFor)
	g.background.Go(func() {
		defer close(q.done)
		r, err := g.wait(conn, d.ID, until)
		status := statusExpired
		if err == nil {
			status = map[decisions.Verdict]string{decisions.Allow: statusApproved, decisions.Deny: statusDenied, decisions.Ask: statusExpired}[r.Verdict()]
		}
		q.mu.Lock()
		q.status = status
		q.mu.Unlock()
	})
	return q
}

// wait waits for the answer to a question, once permd takes another one of this connection.
func (g *Gateway) wait(conn *client.Client, question string, until time.Time) (*client.WaitResult, error) {
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case g.waits <- struct{}{}:
		defer func() { <-g.waits }()
	case <-late.C:
		return nil, context.DeadlineExceeded
	case <-g.ctx.Done():
		return nil, g.ctx.Err()
	}
	return client.Wait(g.ctx, conn, question, max(time.Until(until), time.Second))
}

const (
	statusPending  = "pending"
	statusApproved = "approved"
	statusDenied   = "denied"
	statusExpired  = "expired"
)
