package client

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

// Post sends a call and returns once it is written, so that the order of messages is
// known. done is called once with the answer or the error, mostly on the goroutine that
// reads all answers, which it holds up: it must neither block nor use the client. If Post
// returns an error, it is not called; with os.ErrDeadlineExceeded the call was not written
// in time, and perhaps partly: the caller must call Close.
//
// params must be valid JSON on one line, or nil for none. Without done the message is a
// notification. ID is the id to withdraw the call with $/cancel_request.
func (c *Client) Post(until time.Time, method string, params strictjson.Value, done func(result strictjson.Value, err error)) (id uint64, err error) {
	w := &pendingCall{done: done}
	number := ""
	if done != nil {
		if id, err = c.register(w); err != nil {
			return 0, err
		}
		number = strconv.FormatUint(id, 10)
	}
	name, err := jsontext.AppendQuote(make([]byte, 0, 64), method)
	if err != nil {
		c.forget(id)
		return 0, err
	}
	line := appendHead(make([]byte, 0, len(`{"jsonrpc":"2.0","method":,"id":,"params":}`)+len(name)+len(number)+len(params)+1), number, name)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	err = c.writeUntil(until, append(line, "}\n"...))
	if done == nil {
		return 0, err
	}
	c.mu.Lock()
	w.sent = true
	early := w.early
	if err != nil {
		delete(c.pending, id)
	}
	c.mu.Unlock()
	if err == nil && early != nil {
		done(early.result, early.err)
	}
	return id, err
}

// writeUntil writes a line.
func (c *Client) writeUntil(until time.Time, line []byte) error {
	c.writeMu.Lock()
	err := c.conn.SetWriteDeadline(until)
	if err == nil {
		_, err = c.out.Write(line)
	}
	c.writeMu.Unlock()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return c.whyEnded()
}
