package client

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// sessions is a fake permd that counts connections and declarations.
type sessions struct {
	path           string
	dials, sayings atomic.Int32
	broken         atomic.Bool // it closes the connection instead of an answer
}

func newSessions(t *testing.T) *sessions {
	s := &sessions{path: filepath.Join(shortDir(t), "permd.sock")}
	daemon(t, s.path, func(line string) string {
		switch {
		case s.broken.Load(), strings.Contains(line, `"end"`):
			return "close"
		case strings.Contains(line, `"permd/session"`):
			s.sayings.Add(1)
		}
		return `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	})
	return s
}

func (s *sessions) dial(ctx context.Context) (*Client, error) {
	s.dials.Add(1)
	return Dial(ctx, s.path, Options{})
}

func TestSessionConn(t *testing.T) {
	t.Parallel()
	fake := newSessions(t)
	n := 0
	s := NewSessionConn(fake.dial, time.Minute, func() *Session {
		n++
		return &Session{ID: strings.Repeat("s", n), Cwd: "/"}
	})
	defer s.Close()

	// Many at once get one connection, on which the session was declared once.
	var wg sync.WaitGroup
	var first sync.Map
	for range 32 {
		wg.Go(func() {
			c, declared, err := s.Connection(t.Context())
			if err != nil || declared.ID != "s" {
				t.Errorf("session %v, error %v", declared, err)
			}
			first.Store(c, true)
		})
	}
	wg.Wait()
	conns := 0
	first.Range(func(any, any) bool { conns++; return true })
	if conns != 1 || fake.dials.Load() != 1 || fake.sayings.Load() != 1 {
		t.Fatalf("%d connections, dialled %d times, declared %d times", conns, fake.dials.Load(), fake.sayings.Load())
	}

	// One that is there needs no time.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c, _, err := s.Connection(gone)
	if err != nil {
		t.Fatal(err)
	}
	// After its end there is another one, with a declaration of its own.
	if err := c.Notify(t.Context(), "end", nil); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if _, _, err := s.Connection(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v for one who has gone", err)
	}
	again, declared, err := s.Connection(t.Context())
	if err != nil || again == c || declared.ID != "ss" || fake.sayings.Load() != 2 {
		t.Fatalf("session %v, declared %d times, error %v", declared, fake.sayings.Load(), err)
	}

	// A connection on which the session was not declared is not used.
	fake.broken.Store(true)
	again.Close()
	if _, _, err := s.Connection(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v", err)
	}
	fake.broken.Store(false)
	c, _, err = s.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	s.Close()
	select {
	case <-c.Done():
	default:
		t.Error("the connection outlives Close")
	}
	dials := fake.dials.Load()
	if _, _, err := s.Connection(t.Context()); !errors.Is(err, net.ErrClosed) || fake.dials.Load() != dials {
		t.Errorf("error %v after Close", err)
	}
}

// TestSessionConnWaits: while one connects, others wait for their own time, and Close ends
// all of it.
func TestSessionConnWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (*Client, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		s := NewSessionConn(hang, time.Minute, func() *Session { return &Session{} })
		start := time.Now()
		if _, _, err := s.Connection(t.Context()); !errors.Is(err, ErrConnectTimeout) || time.Since(start) != time.Minute {
			t.Errorf("error %v after %v", err, time.Since(start))
		}

		ended := make(chan error)
		go func() {
			_, _, err := s.Connection(t.Context())
			ended <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, _, err := s.Connection(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		waiting := make(chan error)
		go func() {
			_, _, err := s.Connection(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		start = time.Now()
		go s.Close()
		for _, c := range []chan error{ended, waiting} {
			if err := <-c; !errors.Is(err, net.ErrClosed) || time.Since(start) != 0 {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		}
	})
}

// TestSessionConnCloseRaces: whatever is dialled while Close runs is closed.
func TestSessionConnCloseRaces(t *testing.T) {
	t.Parallel()
	fake := newSessions(t)
	for range 20 {
		var made sync.Map
		s := NewSessionConn(func(ctx context.Context) (*Client, error) {
			c, err := fake.dial(ctx)
			if err == nil {
				made.Store(c, true)
			}
			return c, err
		}, time.Minute, func() *Session { return &Session{ID: "s", Cwd: "/"} })
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _, _ = s.Connection(t.Context()) })
		}
		wg.Go(s.Close)
		wg.Wait()
		made.Range(func(c, _ any) bool {
			eventually.Holds(t, "the end of every connection", func() bool {
				select {
				case <-c.(*Client).Done():
					return true
				default:
					return false
				}
			})
			return true
		})
	}
}
