package client

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/permd/permd/internal/strictjson"
)

// pendingCall is a call without an answer yet.
type pendingCall struct {
	answer chan reply                    // for Call; holds one
	done   func(strictjson.Value, error) // for Post
	sent   bool                          // the call of Post has been written
	early  *reply                        // what came before that
}

// accept takes a reply, or reports that done must be called with it. The caller holds the
// client's lock.
func (w *pendingCall) accept(r reply) (call bool) {
	switch {
	case w.done == nil:
		w.answer <- r
	case w.sent:
		return true
	default:
		w.early = &r
	}
	return false
}

// deliver handles one line. An answer that is not strict JSON ends the connection,
// because it may have been a decision.
func (c *Client) deliver(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	id, r, err := readAnswer(line)
	if err != nil {
		return fmt.Errorf("reading permd's answer: %w", err)
	}
	if fault, ok := errors.AsType[*Error](r.err); ok && strictjson.Kind(id) == 'n' {
		// The error is about one of the messages or about the connection. It may concern
		// any pending call, so all of them fail.
		c.settleAll(func() reply {
			c.unaddressed = fault
			return r
		})
		return nil
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil //nolint:nilerr // a notification, or an answer to nothing that was asked
	}
	c.mu.Lock()
	w := c.pending[n]
	delete(c.pending, n)
	call := w != nil && w.accept(r)
	c.mu.Unlock()
	if call {
		w.done(r.result, r.err)
	}
	return nil
}

// readAnswer reads a JSON-RPC response. A notification has no id, and may be ignored.
func readAnswer(line []byte) (id strictjson.Value, r reply, err error) {
	if err := strictjson.Check(line); err != nil {
		return nil, r, err
	}
	o, err := strictjson.ParseObject(line)
	if err != nil {
		return nil, r, err
	}
	if name := o.NearMiss("jsonrpc", "id", "method", "result", "error"); name != "" {
		return nil, r, fmt.Errorf("member %q differs from a known one only by case", name)
	}
	version, isNotification := "", false
	for _, m := range o {
		switch m.Name {
		case "jsonrpc":
			version, _ = strictjson.ParseString(m.Value)
		case "id":
			id = m.Value
		case "method":
			isNotification = true
		case "result":
			r.result = m.Value
		case "error":
			if strictjson.Kind(m.Value) == 'n' {
				continue
			}
			fault := new(Error)
			if err := strictjson.Unmarshal(m.Value, fault); err != nil {
				return nil, r, err
			}
			r.err = fault
		}
	}
	switch {
	case isNotification:
		return nil, reply{}, nil
	case version != "2.0" || (r.result == nil) == (r.err == nil):
		return nil, r, errors.New("neither a result nor an error")
	}
	r.result = slices.Clone(r.result) // the line's memory is used again
	return id, r, nil
}

// failAll closes the connection and fails all pending calls.
func (c *Client) failAll(why error) {
	_ = c.conn.Close()
	c.settleAll(func() reply {
		c.err = fmt.Errorf("%w: the connection to %s ended: %w", ErrUnreachable, c.path, why)
		if c.unaddressed != nil {
			c.err = fmt.Errorf("%w: %w", ErrUnreachable, c.unaddressed)
		}
		return reply{err: c.err}
	})
}

// settleAll answers all pending calls alike. with is called with the client's lock.
func (c *Client) settleAll(with func() reply) {
	var calls []*pendingCall
	c.mu.Lock()
	r := with()
	for id, w := range c.pending {
		delete(c.pending, id)
		if w.accept(r) {
			calls = append(calls, w)
		}
	}
	c.mu.Unlock()
	for _, w := range calls {
		w.done(r.result, r.err)
	}
}
