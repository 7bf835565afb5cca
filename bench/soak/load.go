package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/socket/client"
)

// How often a connection does what, in calls.
const (
	callsPerSession    = 200   // after so many it closes its session and declares another
	callsPerConnection = 20000 // after so many it connects again
	answeredOf         = 3     // one question of so many is answered
	rememberedOf       = 10    // one answer of so many is remembered
	maxRemembered      = 2000  // above it the oldest choices are forgotten
)

// load is the work of all clients, with what they measured.
type load struct {
	daemon *daemon
	o      options

	started atomic.Int64 // time of the first request, in nanoseconds
	asked   atomic.Int64
	done    atomic.Int64
	allow   atomic.Int64
	ask     atomic.Int64
	deny    atomic.Int64
	stored  atomic.Int64
	reloads atomic.Int64

	mu   sync.Mutex
	took []time.Duration // a random sample of the requests' durations
}

func newLoad(d *daemon, o options) *load { return &load{daemon: d, o: o} }

// run sends requests until all are sent, or ctx ends. It returns an error if an
// answer is wrong or missing.
func (l *load) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l.started.Store(time.Now().UnixNano())
	var workers, manager sync.WaitGroup
	for number := range l.o.conns {
		workers.Go(func() {
			w := &worker{load: l, number: number, rand: rand.New(rand.NewPCG(1, uint64(number)))}
			if err := w.run(ctx); err != nil && ctx.Err() == nil {
				fail(err)
			}
		})
	}
	around, stop := context.WithCancel(ctx)
	manager.Go(func() {
		if err := l.manage(around); err != nil && around.Err() == nil {
			fail(err)
		}
	})
	workers.Wait()
	stop()
	manager.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// manage does what people do while agents work: it changes rules, reads the status
// and the journal, and forgets choices.
func (l *load) manage(ctx context.Context) error {
	c, err := client.Dial(ctx, l.daemon.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	for edition := 1; ; edition++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
		if edition%3 == 0 {
			if err := l.daemon.editRules(edition); err != nil {
				return err
			}
			l.reloads.Add(1)
		}
		var state struct {
			Degraded bool `json:"degraded"`
		}
		if err := c.Call(ctx, "permd/status", struct{}{}, &state); err != nil {
			return err
		}
		if state.Degraded {
			return errors.New("the daemon is degraded")
		}
		if err := c.Call(ctx, "permd/decisions.list", map[string]int{"limit": 100}, nil); err != nil {
			return err
		}
		if err := forgetOldest(ctx, c); err != nil {
			return err
		}
	}
}

// forgetOldest keeps the number of choices within maxRemembered.
func forgetOldest(ctx context.Context, c *client.Client) error {
	var ids []string
	for after := ""; ; {
		var page struct {
			Choices []struct {
				ID string `json:"choiceId"`
			} `json:"choices"`
			Next string `json:"next"`
		}
		if err := c.Call(ctx, "permd/choices.list", map[string]string{"after": after}, &page); err != nil {
			return err
		}
		for _, choice := range page.Choices {
			ids = append(ids, choice.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(ids) <= maxRemembered {
		return nil
	}
	ids = ids[:min(len(ids)-maxRemembered, 1000)]
	return c.Call(ctx, "permd/choices.forget", map[string]any{"choiceIds": ids}, nil)
}

// worker is a client with one connection at a time.
type worker struct {
	load    *load
	number  int
	rand    *rand.Rand
	session string
	conn    net.Conn
	lines   *bufio.Reader
	calls   int // calls on this connection
	id      int
}

func (w *worker) run(ctx context.Context) error {
	defer func() {
		if w.conn != nil {
			w.conn.Close()
		}
	}()
	for ctx.Err() == nil {
		n := w.load.asked.Add(int64(w.load.o.inFlight))
		if n > int64(w.load.o.calls) {
			return nil
		}
		if err := w.prepare(); err != nil {
			return err
		}
		if err := w.batch(int(n)); err != nil {
			return err
		}
	}
	return nil
}

// prepare connects and declares a session if it is time.
func (w *worker) prepare() error {
	if w.calls >= callsPerConnection && w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
	if w.conn == nil {
		conn, err := net.Dial("unix", w.load.daemon.socket())
		if err != nil {
			return err
		}
		w.conn, w.lines, w.calls, w.session = conn, bufio.NewReaderSize(conn, 256<<10), 0, ""
	}
	if w.session != "" && w.calls%callsPerSession >= w.load.o.inFlight {
		return nil
	}
	if w.session != "" {
		if _, err := w.call("permd/close", map[string]string{"sessionId": w.session}); err != nil {
			return err
		}
	}
	w.session = fmt.Sprintf("s-%d-%d", w.number, w.calls)
	_, err := w.call("permd/session", map[string]any{
		"sessionId": w.session, "cwd": w.load.daemon.project,
		"agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}, "client": map[string]string{"name": "soak", "version": "1"},
	})
	return err
}

// call sends one request and waits for its result.
func (w *worker) call(method string, params any) (*reply, error) {
	w.id++
	if _, err := io.WriteString(w.conn, message(w.id, method, params)); err != nil {
		return nil, err
	}
	r, err := w.read()
	if err == nil && r.Error != nil {
		err = fmt.Errorf("%s: %s", method, r.Error.Message)
	}
	return r, err
}

// batch sends several requests at once, and answers some of the questions.
func (w *worker) batch(n int) error {
	var lines []byte
	wants := map[int]string{}
	for i := range w.load.o.inFlight {
		c := w.draw(n + i)
		for _, update := range c.updates {
			lines = append(lines, update...)
		}
		w.id++
		wants[w.id] = c.want
		lines = append(lines, message(w.id, c.method, c.params)...)
	}
	start := time.Now()
	if _, err := w.conn.Write(lines); err != nil {
		return err
	}
	var questions []*decision
	for range w.load.o.inFlight {
		r, err := w.read()
		if err != nil {
			return err
		}
		d, err := r.decision()
		if err != nil {
			return err
		}
		if want := wants[r.ID]; want != "" && want != d.Verdict && d.DecidedBy != "memory" {
			return fmt.Errorf("the verdict is %s, want %s: %s", d.Verdict, want, d.Reason)
		}
		w.count(d)
		if d.Verdict == "ask" {
			questions = append(questions, d)
		}
	}
	w.calls += w.load.o.inFlight
	if w.rand.IntN(100) == 0 {
		w.load.note(time.Since(start) / time.Duration(w.load.o.inFlight))
	}
	for _, d := range questions {
		if w.rand.IntN(answeredOf) == 0 {
			if err := w.answer(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) count(d *decision) {
	w.load.done.Add(1)
	switch d.Verdict {
	case "allow":
		w.load.allow.Add(1)
	case "deny":
		w.load.deny.Add(1)
	default:
		w.load.ask.Add(1)
	}
}

// answer sends the person's answer to a question.
func (w *worker) answer(d *decision) error {
	params := map[string]any{"decisionId": d.DecisionID, "verdict": "allow"}
	if len(d.Widths) > 0 && w.rand.IntN(rememberedOf) == 0 {
		params["width"] = d.Widths[w.rand.IntN(len(d.Widths))].ID
		if w.rand.IntN(4) == 0 {
			params["scope"] = "session"
		}
		if w.rand.IntN(4) == 0 {
			params["expiresIn"] = 60
		}
		w.load.stored.Add(1)
	}
	_, err := w.call("permd/choose", params)
	return err
}

// reply is a reply of the daemon.
type reply struct {
	ID     int
	Result *struct {
		Decisions []decision
		Meta      struct{ Permd decision } `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    decision
	}
}

type decision struct {
	DecisionID, Verdict, DecidedBy, Reason string
	Widths                                 []struct{ ID string }
}

func (w *worker) read() (*reply, error) {
	line, err := w.lines.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("waiting for an answer: %w", err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", line, err)
	}
	return &r, nil
}

func (r *reply) decision() (*decision, error) {
	switch {
	case r.Error != nil && r.Error.Code == -32050:
		return &r.Error.Data, nil
	case r.Error != nil:
		return nil, fmt.Errorf("error %d: %s", r.Error.Code, r.Error.Message)
	case r.Result != nil && len(r.Result.Decisions) == 1:
		return &r.Result.Decisions[0], nil
	case r.Result != nil && r.Result.Meta.Permd.Verdict != "":
		return &r.Result.Meta.Permd, nil
	}
	return nil, errors.New("an answer without a decision")
}

func (l *load) note(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, took)
}
