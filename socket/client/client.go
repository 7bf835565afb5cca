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
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/quickio"
	"github.com/permd/permd/internal/strictjson"
)

// defaultMaxAnswer bounds the length of an answer, in bytes.
const defaultMaxAnswer = 64 << 20

// defaultTimeout bounds the wait for an answer. permd answers at once, except while it
// reloads many rules, and when following the journal: without new records, it answers
// that after 25 seconds.
const defaultTimeout = time.Minute

// withdrawTimeout bounds the writing of a withdrawal.
const withdrawTimeout = time.Second

// ErrUnreachable is wrapped by all errors that mean that permd did not answer: nothing
// is listening, the socket is not trusted, the connection broke, or the call timed out.
var ErrUnreachable = errors.New("permd is not reachable")

// Error is an error response from permd. Code is one of the codes of package socket;
// with CodeAsk, Data is the decision.
type Error struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Data    strictjson.Value `json:"data"`
}

// Error returns permd's message.
func (e *Error) Error() string { return e.Message }

// Client is a connection to permd. It is safe for concurrent use.
type Client struct {
	conn      net.Conn
	out       io.Writer // to conn
	path      string
	maxAnswer int
	timeout   time.Duration
	late      error // there was no answer within the timeout

	writeMu sync.Mutex
	done    chan struct{} // closed when the reading goroutine has ended

	mu          sync.Mutex
	lastID      uint64 // id of the newest call
	pending     map[uint64]*pendingCall
	unaddressed *Error // an error response without an id
	err         error  // why the reading goroutine has ended
}

type reply struct {
	result strictjson.Value
	err    error
}

func newClient(conn net.Conn, path string, o Options) *Client {
	c := &Client{
		conn: conn, out: quickio.Writer(conn), path: path, maxAnswer: cmp.Or(o.maxAnswer, defaultMaxAnswer), timeout: cmp.Or(o.Timeout, defaultTimeout),
		done: make(chan struct{}), pending: map[uint64]*pendingCall{},
	}
	c.late = &unreachableError{
		tried: []string{fmt.Sprintf("%s did not answer within %s", path, c.timeout)},
		hint:  "the daemon is there but hangs, or has too much to do: permd doctor says more",
	}
	go c.read()
	return c
}

// Path returns the path of the socket.
func (c *Client) Path() string { return c.path }

// Close closes the connection. Pending calls fail.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// Call calls a method and stores its result in result: a pointer, a *strictjson.Value
// for the raw result, or nil. params is marshalled; nil means none. The error is an
// *Error from permd, wraps ErrUnreachable, or is that of ctx.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	w := &pendingCall{answer: make(chan reply, 1)}
	id, err := c.register(w)
	if err != nil {
		return err
	}
	defer c.forget(id)
	if err := c.send(ctx, strconv.FormatUint(id, 10), method, params); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		if ctx.Value(waitKey{}) != nil {
			c.withdraw(ctx, id)
		}
		return fmt.Errorf("waiting for permd: %w", context.Cause(ctx))
	case r := <-w.answer:
		if r.err != nil {
			return r.err
		}
		return decodeResult(r.result, result)
	}
}

// withdraw tells permd that nobody waits for the answer to a call any more: otherwise a person
// could still give one, and nobody would hear it.
func (c *Client) withdraw(ctx context.Context, id uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	_ = c.Notify(ctx, "$/cancel_request", map[string]uint64{"requestId": id})
}

// withTimeout adds the client's timeout to ctx, unless that ends before.
func (c *Client) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	if own, waits := ctx.Value(waitKey{}).(time.Duration); waits {
		return context.WithTimeoutCause(ctx, own+c.timeout, c.late)
	}
	if ok && time.Until(at) < c.timeout {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.timeout, c.late)
}

// Done returns a channel that is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Notify sends a notification, to which there is no answer.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, "", method, params)
}

func decodeResult(raw strictjson.Value, result any) error {
	switch r := result.(type) {
	case nil:
		return nil
	case *strictjson.Value:
		*r = raw
		return nil
	}
	if err := strictjson.UnmarshalChecked(raw, result); err != nil { // readAnswer has checked it
		return fmt.Errorf("reading permd's answer: %w", err)
	}
	return nil
}

func (c *Client) register(w *pendingCall) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.lastID++
	c.pending[c.lastID] = w
	return c.lastID, nil
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// send sends one message; id is "" for a notification.
func (c *Client) send(ctx context.Context, id, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("asking permd: %w", context.Cause(ctx))
	}
	line, err := message(id, method, params)
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	if err := c.write(ctx, line); err != nil {
		// The message may have been sent partly.
		if ctx.Err() != nil {
			_ = c.conn.Close()
			return fmt.Errorf("asking permd: %w", context.Cause(ctx))
		}
		return c.whyEnded()
	}
	return nil
}

// whyEnded returns why a connection has ended that could not be written to. If permd
// refuses a connection, it says why and closes it: the reading goroutine finds that
// message.
func (c *Client) whyEnded() error {
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

func message(id, method string, params any) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	b := appendHead(nil, id, name)
	if raw, ok := params.(strictjson.Value); ok && len(raw) > 0 && bytes.IndexByte(raw, '\n') < 0 && raw.IsValid() {
		b = slices.Grow(b, len(`,"params":}`)+len(raw)+1)
		b = append(append(b, `,"params":`...), raw...)
	} else if params != nil {
		raw, err := json.Marshal(params, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"params":`...), raw...)
	}
	return append(b, "}\n"...), nil
}

// appendHead appends a message up to its params.
func appendHead(b []byte, id string, name []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","method":`...)
	b = append(b, name...)
	if id != "" {
		b = append(append(b, `,"id":`...), id...)
	}
	return b
}

// write writes a line; ctx bounds it.
func (c *Client) write(ctx context.Context, line []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err := c.out.Write(line)
	if !stop() {
		<-ended // so that it does not affect the next write
	}
	return err
}

// read delivers answers until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	r := bufio.NewReaderSize(quickio.Reader(c.conn), 16<<10)
	for {
		line, err := readLine(r, c.maxAnswer)
		if err == nil {
			err = c.deliver(line)
		}
		if err != nil {
			c.failAll(err)
			return
		}
	}
}

var errAnswerTooLong = errors.New("the answer is too long")

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > limit {
			return nil, errAnswerTooLong
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
