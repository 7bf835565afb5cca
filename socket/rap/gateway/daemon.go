package gateway

import (
	"context"
	"time"

	"github.com/permd/permd/socket/client"
)

// connectTimeout bounds the wait for a connection to permd, for each call.
const connectTimeout = 10 * time.Second

// daemon is the connection to permd. It is made when it is needed, again if it has ended.
// What is allowed for threads ends with it.
type daemon struct {
	dial    func(context.Context) (*client.Client, error)
	session *client.Session

	turn chan struct{} // holds one while conn is used; whoever waits for that can give up
	conn *client.Client
}

func newDaemon(dial func(context.Context) (*client.Client, error), s *client.Session) *daemon {
	return &daemon{dial: dial, session: s, turn: make(chan struct{}, 1)}
}

func (d *daemon) connection(ctx context.Context) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if d.conn != nil {
		select {
		case <-d.conn.Done():
			d.conn = nil
		default:
			return d.conn, nil
		}
	}
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := client.DeclareSession(ctx, c, d.session); err != nil {
		c.Close()
		return nil, err
	}
	d.conn = c
	return c, nil
}

// disconnect closes the connection. Calls that still use it fail.
func (d *daemon) disconnect() {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
}
