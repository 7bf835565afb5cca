package review

import (
	"context"
	"errors"
	"sync"

	"github.com/permd/permd/socket/client"
)

// daemon calls the daemon over one connection, which it makes anew when it has broken.
type daemon struct {
	Options
	ctx context.Context

	mu    sync.Mutex
	conn  client.Caller
	close func()
}

// Call calls a method. It never calls one twice: an answer that was sent may have been taken.
func (d *daemon) Call(method string, params, result any) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	return d.checked(c, c.Call(d.ctx, method, params, result))
}

func (d *daemon) connect() (client.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		return d.conn, nil
	}
	c, end, err := d.Dial(d.ctx)
	if err != nil {
		return nil, err
	}
	d.conn, d.close = c, end
	return c, nil
}

// checked ends the connection if an error says that it has broken.
func (d *daemon) checked(c client.Caller, err error) error {
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == c {
		d.close()
		d.conn = nil
	}
	return err
}

func (d *daemon) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		d.close()
		d.conn = nil
	}
}
