package review

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/permd/permd/socket/client"
)

// connection calls the daemon over one connection, which it makes anew when it has broken.
type connection struct {
	ctx     context.Context
	explain Explain

	mu   sync.Mutex
	conn *client.Client
}

// Call calls a method. It never calls one twice: an answer that was sent may have been taken.
func (d *connection) Call(method string, params, result any) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	return d.checked(c, c.Call(d.ctx, method, params, result))
}

// Explain returns why a decision was made.
func (d *connection) Explain(id string) (string, error) {
	c, err := d.connect()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = d.checked(c, d.explain(d.ctx, c, id, &b))
	return b.String(), err
}

func (d *connection) connect() (*client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		return d.conn, nil
	}
	c, err := client.Connect(d.ctx, client.Options{Admin: true})
	if err == nil {
		d.conn = c
	}
	return c, err
}

// checked ends the connection if an error says that it has broken.
func (d *connection) checked(c *client.Client, err error) error {
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == c {
		d.conn.Close()
		d.conn = nil
	}
	return err
}

func (d *connection) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
}
