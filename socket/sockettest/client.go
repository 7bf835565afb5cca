package sockettest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Client calls methods as one client, on one connection at a time.
type Client struct {
	Methods socket.Methods
	Conn    *socket.Conn
}

// Connect begins a connection.
func (c *Client) Connect(id uint64) {
	c.Conn = &socket.Conn{ID: id, Peer: decisions.Peer{UID: 1000, PID: 7}}
}

// Call calls a method on the connection.
func (c *Client) Call(t testing.TB, method, params string) (strictjson.Value, error) {
	t.Helper()
	return c.CallWith(t.Context(), t, method, params)
}

// CallWith is Call with the context of the second phase.
func (c *Client) CallWith(ctx context.Context, t testing.TB, method, params string) (strictjson.Value, error) {
	t.Helper()
	return Call(ctx, t, c.Methods, c.Conn, method, params)
}

// Must is Call for what has to succeed.
func (c *Client) Must(t testing.TB, method, params string) string {
	t.Helper()
	v, err := c.Call(t, method, params)
	if err != nil {
		t.Fatalf("%s %.300s: %v", method, params, err)
	}
	return string(v)
}

// Refused wants params to be refused with a text.
func (c *Client) Refused(t testing.TB, method, params, says string) {
	t.Helper()
	res, err := c.Call(t, method, params)
	e, ok := errors.AsType[*socket.Error](err)
	if !ok || e.Code != socket.CodeParams || !strings.Contains(e.Message, says) {
		t.Errorf("%s %.300s: %s, error %v; want one with %q", method, params, res, err, says)
	}
}

// Diff compares what a test got with what it wants.
func Diff(t testing.TB, what string, want, got any, how ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, how...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
