package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/socket/client"
)

// connectTimeout bounds the wait for a connection to permd, for each call.
const connectTimeout = time.Minute

var errConnect = errors.New("it did not answer in time")

// daemon is the connection to permd. It is made when it is needed, again if it has
// ended.
type daemon struct {
	dial    func(context.Context) (*client.Client, error)
	declare func() *client.Session

	turn chan struct{} // holds one while conn is used; whoever waits for that can give up
	conn *connection
}

// connection is a connection on which the session was declared.
type connection struct {
	client  *client.Client
	session string // the session's id
	harness bool   // questions are answered with permd allow
}

func newDaemon(dial func(context.Context) (*client.Client, error), declare func() *client.Session) *daemon {
	return &daemon{dial: dial, declare: declare, turn: make(chan struct{}, 1)}
}

func (d *daemon) connection(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, errConnect)
	defer cancel()
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if d.conn != nil {
		select {
		case <-d.conn.client.Done():
			d.conn = nil
		default:
			return d.conn, nil
		}
	}
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := d.declare()
	if _, err := client.DeclareSession(ctx, c, s); err != nil {
		c.Close()
		return nil, err
	}
	d.conn = &connection{c, s.ID, s.Harness != ""}
	return d.conn, nil
}

// close closes the connection. Nobody may wait for one any more.
func (d *daemon) close() {
	if d.conn != nil {
		d.conn.client.Close()
	}
}
