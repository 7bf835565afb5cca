package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// TestMissedMessages: whatever keeps a message from its method, methods are notified of
// it; what was meant for no method, or was refused by its method, is not missed.
func TestMissedMessages(t *testing.T) {
	long := `{"jsonrpc":"2.0","method":"does","params":{"x":"` + strings.Repeat("x", keepBuffer) + `"}}`
	tests := map[string]struct {
		line   string
		before func(c *connection)
		missed bool
	}{
		"handed over":           {line: `{"jsonrpc":"2.0","id":1,"method":"does"}`},
		"refused by its method": {line: `{"jsonrpc":"2.0","id":1,"method":"refuses"}`},
		"of no method":          {line: `{"jsonrpc":"2.0","id":1,"method":"nobody's"}`},
		"a response":            {line: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"an empty line":         {line: ` `},
		"a withdrawal":          {line: `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`},
		"the server stops":      {line: `{"jsonrpc":"2.0","id":1,"method":"does"}`, before: func(c *connection) { c.stopping.Store(true) }},
		"long, with room":       {line: long},
		"long, without room": {line: long, before: func(c *connection) {
			for c.member.Reserve(1 << 10) {
			}
		}, missed: true},
		"not JSON":               {line: `{`, missed: true},
		"no object":              {line: `{"jsonrpc":"2.0","id":1,"method":"does","params":[1]}`, missed: true},
		"a notification of none": {line: `{"jsonrpc":"2.0","method":"does","params":[1]}`, missed: true},
		"an id in use":           {line: `{"jsonrpc":"2.0","id":7,"method":"does"}`, missed: true},
		"the connection ends":    {line: `{"jsonrpc":"2.0","id":1,"method":"does"}`, before: func(c *connection) { c.cancel(errDisconnected) }, missed: true},
		"a panic":                {line: `{"jsonrpc":"2.0","id":1,"method":"panics"}`, missed: true},
		"an ended goroutine":     {line: `{"jsonrpc":"2.0","id":1,"method":"exits"}`, missed: true},
	}
	type phase2 = func(context.Context) (any, error)
	methods := Methods{
		"does":    now(nil, nil),
		"refuses": func(*Conn, strictjson.Value) (phase2, error) { return nil, errors.New("no") },
		"panics":  func(*Conn, strictjson.Value) (phase2, error) { panic("x") },
		"exits":   func(*Conn, strictjson.Value) (phase2, error) { runtime.Goexit(); return nil, nil },
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			defer there.Close()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			o := Options{}.withDefaults()
			o.WriteTimeout = time.Minute
			s := &server{Options: o, methods: methods, limits: o.limits(), ctx: t.Context()}
			c := newConnection(s, here, 1, decisions.Peer{})
			c.requests = []*request{{id: strictjson.Value(`7`)}}
			missed := 0
			c.OnUnread(func() { missed++ })
			if tt.before != nil {
				tt.before(c)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if req := c.handle([]byte(tt.line)); req != nil {
					c.finish(req, nil, nil)
				}
			}()
			<-done
			if want := map[bool]int{true: 1}[tt.missed]; missed != want || c.Missed() != tt.missed {
				t.Errorf("missed %d messages, %t; want %d", missed, c.Missed(), want)
			}
			if len(c.requests) != 1 {
				t.Errorf("%d requests in flight", len(c.requests))
			}
			if used := s.Share.Used(); tt.before == nil && used != 0 {
				t.Errorf("%d bytes stay reserved", used)
			}
		})
	}
}
