package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Bounds of how a stream of events is opened again.
const (
	firstRetry   = time.Second // where the server does not say
	leastRetry   = 100 * time.Millisecond
	mostRetry    = time.Minute
	maxFailures  = 5  // in a row that the server cannot be reached, or has an error
	maxFruitless = 20 // streams in a row that end soon and without an event
	soon         = 10 * time.Second
)

const streamEnded = "the stream of events ended without a response " + mayHaveRun

// errNoStream is returned where a server has no stream to open.
var errNoStream = errors.New("the server has no such stream of events")

// resumption opens a stream again.
type resumption struct {
	lastID    string
	wait      time.Duration
	failures  int
	fruitless int
}

// events passes the messages of a stream on until it ends.
func (u *Upstream) events(p *post, body io.Reader, s *resumption) error {
	e := newEventReader(body)
	begun := time.Now()
	s.fruitless++
	for {
		ev, err := e.next()
		if e.lastID != "" && e.lastID != s.lastID {
			s.lastID, s.fruitless = e.lastID, 0
		}
		if e.retry > 0 {
			s.wait = min(max(e.retry, u.least), mostRetry)
		}
		if err != nil {
			if time.Since(begun) > soon {
				s.failures, s.fruitless = 0, 0
			}
			return err
		}
		s.failures, s.fruitless = 0, 0
		switch {
		case ev.name != "" && ev.name != "message":
		case !ev.long && len(bytes.TrimSpace(ev.data)) == 0:
		case ev.long && p != nil:
			u.notTaken(p, unreadResponse+errLong.Error())
		case ev.long:
			u.cfg.Say("an event of the server was left out: " + errLong.Error())
		default:
			u.deliver(p, ev.data)
		}
	}
}

// again opens a stream again after its last event.
func (u *Upstream) again(ctx context.Context, s *resumption) (*http.Response, error) {
	for {
		select {
		case <-time.After(min(s.wait<<s.failures, mostRetry)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		resp, err := u.stream(ctx, s)
		if err == nil || errors.Is(err, errNoStream) || s.failures >= maxFailures || s.fruitless >= maxFruitless {
			return resp, err
		}
		s.failures++
	}
}

// stream opens a stream.
func (u *Upstream) stream(ctx context.Context, s *resumption) (*http.Response, error) {
	resp, err := u.do(ctx, http.MethodGet, nil, s.lastID)
	if err != nil {
		return nil, errors.New(reasonOf(err))
	}
	switch {
	case resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream":
		return resp, nil
	case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
		err = errors.New(statusText(resp))
	default:
		err = fmt.Errorf("%w: %s", errNoStream, statusText(resp))
	}
	resp.Body.Close()
	return nil, err
}

// follow reads the stream of a request, and goes on with it where it broke off, until there is a
// response. It returns why there is none.
func (u *Upstream) follow(ctx context.Context, p *post, body io.ReadCloser) string {
	s := &resumption{wait: firstRetry}
	for {
		err := u.events(p, body, s)
		body.Close()
		switch {
		case !u.waits(p) || ctx.Err() != nil:
			return streamEnded
		case errors.Is(err, errEndless):
			return unreadResponse + err.Error()
		case p.stateless || s.lastID == "" || s.fruitless > maxFruitless:
			return streamEnded
		}
		resp, err := u.again(ctx, s)
		if err != nil {
			return streamEnded + ": " + err.Error()
		}
		body = resp.Body
	}
}

// waits reports whether a request has no response yet.
func (u *Upstream) waits(p *post) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.open[p.message.id] == p
}

// listen reads the server's messages that belong to no request, until the conversation ends.
// A server need not have such a stream.
func (u *Upstream) listen() {
	s := &resumption{wait: firstRetry}
	resp, err := u.stream(u.ctx, s)
	for {
		if err != nil && !errors.Is(err, errNoStream) {
			s.failures++
			resp, err = u.again(u.ctx, s)
		}
		if err != nil {
			if !errors.Is(err, errNoStream) && u.ctx.Err() == nil {
				u.cfg.Say("the server's own messages are not received any more: " + err.Error())
			}
			return
		}
		err = u.events(nil, resp.Body, s)
		resp.Body.Close()
		if errors.Is(err, errEndless) || s.fruitless > maxFruitless {
			u.cfg.Say("the server's own messages are not received any more: its stream ends each time, or an event does not end")
			return
		}
		resp, err = u.again(u.ctx, s)
	}
}
