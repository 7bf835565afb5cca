package socket

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
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

// TestLongRequestsOneAtATime: of the requests of a connection that need much memory while
// they are decided, the next one begins when one has ended, so that none is refused for what
// the others use. Short ones begin at once.
func TestLongRequestsOneAtATime(t *testing.T) {
	const requests = 8
	for what, size := range map[string]int{"long": 8 << 10, "short": 8} {
		t.Run(what, func(t *testing.T) {
			var running, most atomic.Int32
			gate := make(chan struct{})
			r := serve(t, Methods{"m": later(func(ctx context.Context) (any, error) {
				most.Store(max(most.Load(), running.Add(1)))
				fairshare.TurnOf(ctx).Await(ctx, func() { <-gate }) // as for a disk: others have the slot
				running.Add(-1)
				return "done", nil
			})}, Options{Share: fairshare.New(fairshare.Options{Slots: 1, Max: 64, Work: 4 * workBytes * 10 << 10})})
			c := r.dial()
			for id := range requests {
				c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"%s"}}`+"\n", id, strings.Repeat("x", size)))
			}
			if size < 1<<10 {
				eventually.Holds(t, "all have begun", func() bool { return running.Load() == requests })
			}
			close(gate)
			for range requests {
				if got := c.line(); !strings.HasSuffix(got, `"result":"done"}`) {
					t.Error(got)
				}
			}
			if n := most.Load(); size > 1<<10 && n != 1 {
				t.Errorf("%d at the same time", n)
			}
		})
	}
}
