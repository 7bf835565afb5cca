package socket

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
)

// TestAnsweredRequestKeepsNoMessage: once a request is answered, its bytes are returned to
// the budget, so nothing of the connection may keep the message alive, such as the id of the
// last request.
func TestAnsweredRequestKeepsNoMessage(t *testing.T) {
	const requests = 2 * maxIdleWorkers
	kept := make(chan weak.Pointer[byte], requests)
	gate := make(chan struct{})
	r := serve(t, Methods{"m": func(c *Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		kept <- weak.Make(&params[0])
		return func(context.Context) (any, error) {
			<-gate // so that each request has a worker
			return len(params), nil
		}, nil
	}}, Options{})
	c := r.dial()
	var all strings.Builder
	for id := range requests {
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","id":"%d","method":"m","params":{"x":"%s"}}`+"\n", id, strings.Repeat("x", 1<<10))
	}
	c.write(all.String())
	var messages []weak.Pointer[byte]
	for range requests {
		messages = append(messages, <-kept)
	}
	close(gate)
	for range requests {
		c.line()
	}
	for n, message := range messages {
		eventually.Holds(t, fmt.Sprintf("message %d is garbage", n), func() bool {
			runtime.GC()
			return message.Value() == nil
		})
	}
}
