package socket

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

const inUse = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id is in use by a request that is not answered yet"}}`

// TestIDsThatAreOne: ids that a client reads as the same must not be in flight at
// the same time, or it takes the answer to one request for the other's.
func TestIDsThatAreOne(t *testing.T) {
	tests := []struct{ name, first, second, want string }{
		{"string with an escape", `"a"`, `"\u0061"`, inUse},
		{"two ways to escape", `"\u002F"`, `"\/"`, inUse},
		{"null", `null`, `null`, inUse},
		{"negative zero", `0`, `-0`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be an integer, null or a string of at most 1024 bytes"}}`},
		{"string and number", `1`, `"1"`, `{"jsonrpc":"2.0","id":"1","result":null}`},
		{"another escape", `"a"`, `"\u0062"`, `{"jsonrpc":"2.0","id":"\u0062","result":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gate := make(chan struct{})
			wait := later(func(context.Context) (any, error) { <-gate; return nil, nil })
			r := serve(t, Methods{"wait": wait, "m": now(nil, nil)}, Options{})
			c := r.dial()
			c.write(`{"jsonrpc":"2.0","id":` + tt.first + `,"method":"wait"}` + "\n" +
				`{"jsonrpc":"2.0","method":"wait"}` + "\n" +
				`{"jsonrpc":"2.0","id":` + tt.second + `,"method":"m"}` + "\n")
			c.want(tt.want)
			close(gate)
			c.want(`{"jsonrpc":"2.0","id":` + tt.first + `,"result":null}`)
		})
	}
}

// TestUnreadMessages: a method that builds state from messages is notified of
// each one that did not reach it.
func TestUnreadMessages(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	var unread atomic.Int32
	r := serve(t, Methods{
		"watch": func(c *Conn, _ strictjson.Value) (func(context.Context) (any, error), error) {
			c.OnUnread(func() { unread.Add(1) })
			return nil, nil
		},
		"count": func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) {
			return func(context.Context) (any, error) { return unread.Load(), nil }, nil
		},
		"wait": later(func(context.Context) (any, error) { <-gate; return nil, nil }),
	}, Options{})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"watch"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"wait"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	// A response is for no method.
	c.write(`{"jsonrpc":"2.0","id":5,"result":{}}` + "\n")
	c.write(`{"jsonrpc":"2.0","id":2,"method":"count"}` + "\n")
	c.want(inUse)
	c.write(`{"jsonrpc":"2.0","method":"count","params":[1]}` + "\n")
	c.write(`{"jsonrpc":"2.0","id":3,"method":"count"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":3,"result":2}`)
}

// TestCancelledQuestion: a client that withdraws a request is not asked to ask the
// person.
func TestCancelledQuestion(t *testing.T) {
	started := make(chan struct{}, 1)
	r := serve(t, Methods{"ask": later(func(ctx context.Context) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, &Error{Code: CodeAsk, Message: "ask the person"}
	})}, Options{})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"ask"}` + "\n")
	<-started
	c.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"request cancelled"}}`)
}
