package reviewweb

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/socket/client"
)

// callLimit is how long a page waits for the daemon.
const callLimit = 10 * time.Second

// daemonLink is the connection to the daemon. It connects again after the daemon was restarted.
type daemonLink struct {
	mu sync.Mutex
	c  *client.Client
}

// client returns a connection.
func (d *daemonLink) client(ctx context.Context) (*client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c != nil {
		select {
		case <-d.c.Done():
			d.c.Close()
			d.c = nil
		default:
			return d.c, nil
		}
	}
	c, err := client.Connect(ctx, client.Options{Admin: true, Timeout: callLimit})
	if err != nil {
		return nil, err
	}
	d.c = c
	return c, nil
}

func (d *daemonLink) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c != nil {
		d.c.Close()
		d.c = nil
	}
}

// call calls a method. What only reads is tried once more on a new connection, since the
// daemon may have been restarted meanwhile.
func (d *daemonLink) call(ctx context.Context, method string, params, result any) error {
	c, err := d.client(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, method, params, result)
}

// log returns the journal: the daemon's or, while none runs, its file. done must be called.
func (s *Server) log(ctx context.Context) (log *records.Log, done func(), err error) {
	c, err := s.daemon.client(ctx)
	if err == nil {
		return records.Through(c), func() {}, nil
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return nil, nil, err
	}
	log, fileErr := records.OpenFile(s.o.Root)
	if fileErr != nil {
		return nil, nil, err
	}
	return log, log.Close, nil
}
