// Package client calls a running permd over its Unix socket. permd's own
// commands and hooks use it: it finds the socket, makes sure that nobody else
// can have put it there, and calls methods.
//
// It decides nothing. A caller that gets an error has no decision and must ask
// the person.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

// defaultMaxAnswer is how long an answer may be, in bytes.
const defaultMaxAnswer = 64 << 20

// defaultTimeout is how long a call waits. permd answers at once, but for
// reading many rules again, and for following the journal, which it answers
// after 25 seconds with nothing.
const defaultTimeout = time.Minute

// ErrUnreachable is wrapped by every error that means that no permd answered:
// none listens, its socket is not to be trusted, it went away, or is silent.
var ErrUnreachable = errors.New("permd is not reachable")

// Error is the error that permd answered with. Code is one of the codes of
// package socket; at CodeAsk, Data is the decision.
type Error struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Data    strictjson.Value `json:"data"`
}

// Error returns permd's message.
func (e *Error) Error() string { return e.Message }

// Client is a connection to permd. It is safe for concurrent use.
type Client struct {
	conn    net.Conn
	path    string
	max     int
	timeout time.Duration

	writing sync.Mutex
	done    chan struct{} // closed when the reading has ended

	mu      sync.Mutex
	last    uint64 // id of the newest call
	waiting map[uint64]chan reply
	fault   *Error // an error that named no call
	err     error  // why the reading has ended
}

type reply struct {
	result strictjson.Value
	err    error
}

func newClient(conn net.Conn, path string, o Options) *Client {
	c := &Client{
		conn: conn, path: path, max: cmp.Or(o.maxAnswer, defaultMaxAnswer), timeout: cmp.Or(o.Timeout, defaultTimeout),
		done: make(chan struct{}), waiting: map[uint64]chan reply{},
	}
	go c.read()
	return c
}

// Path is the socket that answered.
func (c *Client) Path() string { return c.path }

// Close ends the connection. Calls that wait fail.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// Call calls a method and reads its result into result, which is a pointer, a
// *strictjson.Value for the raw result, or nil. Params are marshalled; nil means
// none. It fails with an *Error that permd answered, an error that wraps
// ErrUnreachable, or ctx's.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Start(ctx, method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// PendingCall is a call that was sent.
type PendingCall struct {
	// ID is the call's id, by which $/cancel_request withdraws it.
	ID     uint64
	client *Client
	answer chan reply
}

// Start sends a call, so that what is sent after it comes after it. Its answer
// is waited for with Wait, which must be called.
func (c *Client) Start(ctx context.Context, method string, params any) (*PendingCall, error) {
	id, answer, err := c.register()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	if err := c.send(ctx, strconv.FormatUint(id, 10), method, params); err != nil {
		c.forget(id)
		return nil, err
	}
	return &PendingCall{id, c, answer}, nil
}

// limited bounds how long is waited for permd.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("%w: %s did not answer within %s", ErrUnreachable, c.path, c.timeout))
}

// Wait waits for the answer, once; results and errors are those of Call.
func (p *PendingCall) Wait(ctx context.Context, result any) error {
	c := p.client
	defer c.forget(p.ID)
	ctx, cancel := c.limited(ctx)
	defer cancel()
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting for permd: %w", context.Cause(ctx))
	case r := <-p.answer:
		if r.err != nil {
			return r.err
		}
		return into(r.result, result)
	}
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Notify sends a notification, which is not answered.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, "", method, params)
}

func into(raw strictjson.Value, result any) error {
	switch r := result.(type) {
	case nil:
		return nil
	case *strictjson.Value:
		*r = raw
		return nil
	}
	if err := strictjson.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("reading permd's answer: %w", err)
	}
	return nil
}

func (c *Client) register() (uint64, chan reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.last++
	answer := make(chan reply, 1)
	c.waiting[c.last] = answer
	return c.last, answer, nil
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// send writes one message; id is "" for a notification.
func (c *Client) send(ctx context.Context, id, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("asking permd: %w", context.Cause(ctx))
	}
	line, err := message(id, method, params)
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	if err := c.write(ctx, line); err != nil {
		// Half a message may have gone out.
		if ctx.Err() != nil {
			_ = c.conn.Close()
			return fmt.Errorf("asking permd: %w", context.Cause(ctx))
		}
		// permd closes a connection that it refuses, after a word of why: let
		// the reading find that.
		select {
		case <-c.done:
		case <-time.After(time.Second):
			_ = c.conn.Close()
			<-c.done
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	}
	return nil
}

func message(id, method string, params any) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"jsonrpc":"2.0"`), `,"method":`...)
	b = append(b, name...)
	if id != "" {
		b = append(append(b, `,"id":`...), id...)
	}
	if params != nil {
		raw, err := json.Marshal(params, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"params":`...), raw...)
	}
	return append(b, "}\n"...), nil
}

// write writes the line, until ctx ends.
func (c *Client) write(ctx context.Context, line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err := c.conn.Write(line)
	if !stop() {
		<-ended // so that it does not hit the next write
	}
	return err
}

// read hands answers to those who wait for them, until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	r := bufio.NewReaderSize(c.conn, 16<<10)
	for {
		line, err := readLine(r, c.max)
		if err == nil {
			err = c.deliver(line)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

var errLong = errors.New("the answer is too long")

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > limit {
			return nil, errLong
		}
		switch {
		case err == nil && long == nil:
			return part, nil
		case err == nil:
			return append(long, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		long = append(long, part...)
	}
}

// answer is a JSON-RPC response.
type answer struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      strictjson.Value `json:"id"`
	Method  strictjson.Value `json:"method"`
	Result  strictjson.Value `json:"result"`
	Error   *Error           `json:"error"`
}

// deliver reads one line. An answer that cannot be read in one way only ends
// the connection, because it might have been a decision.
func (c *Client) deliver(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var a answer
	if err := strictjson.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("reading permd's answer: %w", err)
	}
	switch {
	case a.Method != nil:
		return nil // a notification of permd's that this client does not know
	case a.JSONRPC != "2.0" || (a.Result == nil) == (a.Error == nil):
		return errors.New("reading permd's answer: neither a result nor an error")
	}
	r := reply{result: a.Result}
	if a.Error != nil {
		r = reply{err: a.Error}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strictjson.Kind(a.ID) == 'n' && a.Error != nil {
		// It is about one of the messages, or about the connection. None of
		// those who wait can be sure that it is not about them.
		c.fault = a.Error
		for id, w := range c.waiting {
			delete(c.waiting, id)
			w <- r
		}
		return nil
	}
	id, err := strconv.ParseUint(string(a.ID), 10, 64)
	if err != nil {
		return nil
	}
	if w, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		w <- r
	}
	return nil
}

// end fails all who wait.
func (c *Client) end(why error) {
	_ = c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("%w: the connection to %s ended: %w", ErrUnreachable, c.path, why)
	if c.fault != nil {
		c.err = fmt.Errorf("%w: %w", ErrUnreachable, c.fault)
	}
	for id, w := range c.waiting {
		delete(c.waiting, id)
		w <- reply{err: c.err}
	}
}
