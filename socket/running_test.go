package socket

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
)

// TestStopRefusesWhatWaits: a server with more requests than may run at once
// finishes those that run, refuses the others, and stops without an error.
func TestStopRefusesWhatWaits(t *testing.T) {
	const running, asked = 2, 40
	gate := make(chan struct{})
	var taken, began atomic.Int32
	r := serve(t, Methods{"slow": func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) {
		taken.Add(1)
		return func(context.Context) (any, error) {
			began.Add(1)
			<-gate
			return "done", nil
		}, nil
	}}, Options{Share: fairshare.New(fairshare.Options{Slots: running}), Grace: 20 * time.Second})
	c := r.dial()
	for id := range asked {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`+"\n", id))
	}
	eventually.Holds(t, "all are read, and as many run as may", func() bool {
		return taken.Load() == asked && began.Load() == running
	})
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	for range asked - running {
		if got := c.line(); !strings.HasSuffix(got, `"error":{"code":-32051,"message":"shutting down; ask the person"}}`) {
			t.Fatalf("answer %s", got)
		}
	}
	close(gate)
	for range running {
		if got := c.line(); !strings.HasSuffix(got, `"result":"done"}`) {
			t.Errorf("answer %s", got)
		}
	}
	c.want("")
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if n := began.Load(); n != running {
		t.Errorf("%d were begun, want %d", n, running)
	}
}

// TestSlowReaderHoldsNobodyUp: a request whose answer cannot be written yet does
// not count as running.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	r := serve(t, Methods{"big": now(body, nil), "small": now("small", nil)}, Options{Share: fairshare.New(fairshare.Options{Slots: 1}), WriteTimeout: 20 * time.Second})
	deaf, c := r.dial(), r.dial()
	for id := range 8 {
		deaf.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"big"}`+"\n", id))
	}
	for id := range 20 {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"small"}`+"\n", id))
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"small"}`, id))
	}
	_ = deaf.Close()
}

// TestPanicEndsRunning: a method that panics no longer counts as running.
func TestPanicEndsRunning(t *testing.T) {
	r := serve(t, Methods{
		"bad": later(func(context.Context) (any, error) { panic("bad") }), "small": now("small", nil),
	}, Options{Share: fairshare.New(fairshare.Options{Slots: 1})})
	c := r.dial()
	for range 3 {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"bad"}` + "\n")
		if got := c.line(); !strings.Contains(got, "-32603") {
			t.Fatalf("answer %s", got)
		}
	}
	c.write(`{"jsonrpc":"2.0","id":2,"method":"small"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":2,"result":"small"}`)
}
