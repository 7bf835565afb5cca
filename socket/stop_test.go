package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
)

func TestNeverReadingClientIsDropped(t *testing.T) {
	body := strings.Repeat("x", 4096)
	var cancelled atomic.Int32
	started := make(chan struct{}, 1)
	r := serve(t, Methods{
		"big": now(body, nil),
		"wait": later(func(ctx context.Context) (any, error) {
			started <- struct{}{}
			<-ctx.Done()
			cancelled.Add(1)
			return nil, ctx.Err()
		}),
	}, Options{WriteTimeout: 200 * time.Millisecond})
	before := runtime.NumGoroutine()
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":"w","method":"wait"}` + "\n")
	<-started
	line := []byte(`{"jsonrpc":"2.0","id":null,"method":"big"}` + "\n")
	if err := c.SetWriteDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1_000_000 {
		if _, err = c.Write(line); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		t.Fatalf("the connection was not dropped: %v", err)
	}
	eventually.Holds(t, "the waiting request is cancelled", func() bool { return cancelled.Load() == 1 })
	eventually.Holds(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestClientGoneCancelsInFlight(t *testing.T) {
	ended := make(chan error, 1)
	started := make(chan struct{})
	r := serve(t, Methods{"wait": later(func(ctx context.Context) (any, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "allow", nil
	})}, Options{Grace: 50 * time.Millisecond})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"wait"}` + "\n")
	<-started
	_ = c.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was cancelled without a cause")
		}
	case <-time.After(eventually.Limit):
		t.Fatal("the request was not cancelled")
	}
}

func TestConnectionLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		says string
	}{
		"total":   {Options{MaxConns: 2}, "too many connections; ask the person"},
		"per uid": {Options{MaxConnsPerUID: 2}, "too many connections of this user; ask the person"},
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, Methods{"null": now(nil, nil)}, tt.o)
			ping := func(c *peer) {
				t.Helper()
				c.write(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n")
				c.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
			}
			first, second := r.dial(), r.dial()
			ping(first)
			ping(second)
			third := r.dial()
			third.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32051,"message":"` + tt.says + `"}}`)
			third.want("")
			ping(first)
			_ = second.Close()
			eventually.Holds(t, "there is room again", func() bool {
				c := r.dial()
				// A refused connection may be closed before this is written.
				c.writeAnyway(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n")
				return c.line() == `{"jsonrpc":"2.0","id":1,"result":null}`
			})
		})
	}
}

// TestConnectAndDisconnect: after many connections there are as many descriptors
// and goroutines as before, and the limits count none.
func TestConnectAndDisconnect(t *testing.T) {
	r := serve(t, Methods{"null": now(nil, nil)}, Options{MaxConns: 16})
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list descriptors: ", err)
		}
		return len(entries)
	}
	before, routines := descriptors(), runtime.NumGoroutine()
	for range 20 {
		var conns []*peer
		for i := range 32 { // half of them are refused
			c := r.dial()
			if i%3 != 0 {
				c.writeAnyway(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n{")
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}
	eventually.Holds(t, "nothing is left", func() bool { return descriptors() <= before && runtime.NumGoroutine() <= routines })
	eventually.Holds(t, "there is room", func() bool {
		c := r.dial()
		c.writeAnyway(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n")
		return c.line() == `{"jsonrpc":"2.0","id":1,"result":null}`
	})
}

// TestLongMessagesWait: of a connection that sends many long messages only as many are
// read as may be in flight, and all are answered. Others are served meanwhile.
func TestLongMessagesWait(t *testing.T) {
	gate := make(chan struct{})
	var started atomic.Int32
	r := serve(t, Methods{
		"m":     later(func(context.Context) (any, error) { started.Add(1); <-gate; return nil, nil }),
		"small": now("small", nil),
	}, Options{MaxMessage: 4 << 20})
	const messages, may = 12, maxRequestBytes >> 20
	params := `{"a":"` + strings.Repeat("x", 1<<20-2*requestBytes) + `"}`
	c := r.dial()
	go func() {
		for i := range messages {
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":%s}`+"\n", i, params))
		}
	}()
	eventually.Holds(t, "as many as may are begun", func() bool { return started.Load() == may })
	other := r.dial()
	for id := range 20 {
		other.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"small"}`+"\n", id))
		other.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"small"}`, id))
	}
	if n := started.Load(); n != may {
		t.Errorf("%d were begun, want %d", n, may)
	}
	close(gate)
	for range messages {
		if got := c.line(); !strings.HasSuffix(got, `"result":null}`) {
			t.Errorf("answer %.200s", got)
		}
	}
}

// TestNoMemoryForMessages: a long message of a connection that has no memory for it is
// refused, a short one and those of others are not.
func TestNoMemoryForMessages(t *testing.T) {
	share := fairshare.New(fairshare.Options{Slots: 2, Bytes: 8 << 20})
	r := serve(t, Methods{"m": now("done", nil)}, Options{MaxMessage: 4 << 20, Share: share})
	hog := share.Join(uint32(os.Geteuid()))
	defer hog.Leave()
	for hog.Reserve(64 << 10) {
	}
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat("x", 3<<20) + `"}}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32051,"message":"this connection uses too much memory: send less at a time; ask the person"}}`)
	for id := range 100 {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":%q}}`+"\n", id, strings.Repeat("x", 20<<10)))
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"done"}`, id))
	}
	_ = c.Close()
	eventually.Holds(t, "its memory is released", func() bool { return share.Used() < 4<<20 })
}

func TestShutdownDrains(t *testing.T) {
	gate := make(chan struct{})
	started := make(chan struct{}, 2)
	r := serve(t, Methods{
		"slow": later(func(context.Context) (any, error) { started <- struct{}{}; <-gate; return "done", nil }),
		"stuck": later(func(ctx context.Context) (any, error) {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}, Options{Grace: 300 * time.Millisecond})
	c, idle := r.dial(), r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"stuck"}` + "\n")
	<-started
	<-started
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	idle.want("") // an idle connection ends at once
	if _, err := net.Dial("unix", r.path); err == nil {
		t.Error("a stopping server still accepts")
	}
	// The daemon is still running, so no second one may start.
	if l, err := Listen(r.path, ListenOptions{}); err == nil {
		_ = l.Close()
		t.Error("another could start while this one drains")
	} else if run, ok := errors.AsType[*errRunning](err); !ok || run.held.PID != os.Getpid() {
		t.Errorf("starting another: %v", err)
	}
	close(gate)
	c.want(`{"jsonrpc":"2.0","id":1,"result":"done"}`)
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32051,"message":"shutting down; ask the person"}}`)
	c.want("")
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	l, err := Listen(r.path, ListenOptions{})
	if err != nil {
		t.Fatalf("after the end: %v", err)
	}
	_ = l.Close()
}

func TestShutdownLeavesStuckMethodBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a second; the other tests of shutting down are the quick ones")
	}
	gate := make(chan struct{})
	started := make(chan struct{})
	r := serve(t, Methods{"deaf": later(func(context.Context) (any, error) { close(started); <-gate; return "allow", nil })},
		Options{Grace: 50 * time.Millisecond})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"deaf"}` + "\n")
	<-started
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32051,"message":"shutting down; ask the person"}}`)
	c.want("")
	select {
	case err := <-stopped:
		if err == nil || !strings.Contains(err.Error(), "did not end in time") {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(eventually.Limit):
		t.Error("Serve does not return")
	}
	close(gate) // its late "allow" goes nowhere
}

// failing is a listener whose Accept fails with err until it is closed.
type failing struct {
	err   error
	calls atomic.Int32
	once  sync.Once
	done  chan struct{}
}

func (f *failing) Accept() (net.Conn, error) {
	f.calls.Add(1)
	select {
	case <-f.done:
		return nil, net.ErrClosed
	default:
		return nil, f.err
	}
}
func (f *failing) Close() error   { f.once.Do(func() { close(f.done) }); return nil }
func (f *failing) Addr() net.Addr { return &net.UnixAddr{} }

func TestAcceptBacksOff(t *testing.T) {
	for _, errno := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		t.Run(errno.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := &failing{err: &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}, done: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- Serve(ctx, ln, nil, Options{}) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				// 5 ms, doubled up to a second: 8 steps, then one a second.
				if n := ln.calls.Load(); n < 60 || n > 75 {
					t.Errorf("Accept was called %d times in a minute", n)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Serve returned %v", err)
				}
			})
		})
	}
}

func TestServeEndsWithItsListener(t *testing.T) {
	ln := &failing{err: errors.New("broken"), done: make(chan struct{})}
	if err := Serve(t.Context(), ln, nil, Options{}); err == nil || !strings.Contains(err.Error(), "accepting a connection: broken") {
		t.Errorf("Serve returned %v", err)
	}
}

// piped is a listener that accepts one end of a pipe.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *piped) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}
func (p *piped) Addr() net.Addr { return &net.UnixAddr{} }

// TestDefaultTimes runs with a false clock: the write deadline is ten seconds,
// the grace period five.
func TestDefaultTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &piped{conns: make(chan net.Conn), done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, ln, Methods{
				"null": now(nil, nil),
				"wait": later(func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }),
			}, Options{peer: func(net.Conn) (decisions.Peer, error) { return decisions.Peer{}, nil }})
		}()
		mute, theirs := net.Pipe()
		ln.conns <- theirs
		begin := time.Now()
		_, _ = mute.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n"))
		synctest.Wait()
		_, err := mute.Write([]byte(strings.Repeat("\n", 1<<20))) // accepted until it is dropped
		for err == nil {
			_, err = mute.Write([]byte("\n"))
			time.Sleep(time.Second)
		}
		if d := time.Since(begin); d < 10*time.Second || d > 12*time.Second {
			t.Errorf("a client that does not read was dropped after %v", d)
		}

		good, theirs := net.Pipe()
		ln.conns <- theirs
		_, _ = good.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"wait"}` + "\n"))
		synctest.Wait()
		begin = time.Now()
		cancel()
		buf := make([]byte, 200)
		n, _ := good.Read(buf)
		if d := time.Since(begin); d != 5*time.Second || !strings.Contains(string(buf[:n]), "shutting down") {
			t.Errorf("after %v: %s", d, buf[:n])
		}
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		mute.Close()
		good.Close()
	})
}
