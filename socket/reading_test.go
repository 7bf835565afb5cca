package socket

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
)

// TestSlowRequestsLeaveReading: the goroutine that reads runs requests that come one by
// one itself, and none delays the next for longer than leadTimeout.
func TestSlowRequestsLeaveReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &piped{conns: make(chan net.Conn), done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		gate := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, ln, Methods{
				"quick": now("quick", nil),
				"slow":  later(func(context.Context) (any, error) { <-gate; return "slow", nil }),
				"exits": later(func(context.Context) (any, error) { <-gate; runtime.Goexit(); return "allow", nil }),
			}, Options{peer: func(net.Conn) (decisions.Peer, error) { return decisions.Peer{}, nil }})
		}()
		client, theirs := net.Pipe()
		ln.conns <- theirs
		r := bufio.NewReader(client)
		send := func(id int, method string) {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":%q}`+"\n", id, method)
			synctest.Wait()
		}
		const slow = 5
		begin := time.Now()
		for i := range slow {
			send(i, []string{"slow", "exits"}[i%2])
		}
		send(slow, "quick")
		if got, _ := r.ReadString('\n'); got != `{"jsonrpc":"2.0","id":5,"result":"quick"}`+"\n" {
			t.Errorf("answer %s", got)
		}
		if d := time.Since(begin); d > 2*slow*leadTimeout {
			t.Errorf("answered after %v", d)
		}
		close(gate)
		for range slow {
			if got, _ := r.ReadString('\n'); !strings.Contains(got, `"slow"`) && !strings.Contains(got, "internal error") {
				t.Errorf("answer %s", got)
			}
		}
		// Also a request that ends its goroutine while that still reads leaves the
		// connection as it was.
		send(slow+1, "exits")
		_, _ = r.ReadString('\n')
		send(slow+2, "quick")
		if got, _ := r.ReadString('\n'); !strings.Contains(got, `"quick"`) {
			t.Errorf("after a request that ended its goroutine: %s", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		client.Close()
	})
}

// TestSlowRequestsShareGoroutines: requests that come one by one and lose the reading, each
// of them, are led by two goroutines in turns, and by no new ones.
func TestSlowRequestsShareGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &piped{conns: make(chan net.Conn), done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		led := map[string]int{}
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, ln, Methods{"slow": later(func(context.Context) (any, error) {
				stack := make([]byte, 64)
				number, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
				led[number]++
				time.Sleep(5 * leadTimeout)
				return "slow", nil
			})}, Options{peer: func(net.Conn) (decisions.Peer, error) { return decisions.Peer{}, nil }})
		}()
		client, theirs := net.Pipe()
		ln.conns <- theirs
		r := bufio.NewReader(client)
		const requests = 20
		for id := range requests {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"slow"}`+"\n", id)
			if got, _ := r.ReadString('\n'); !strings.Contains(got, `"slow"`) {
				t.Errorf("answer %s", got)
			}
			synctest.Wait()
		}
		if len(led) != 2 {
			t.Errorf("%d requests were led by %d goroutines: %v", requests, len(led), led)
		}
		client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// TestWatchingRests: watching takes no time while no request is running.
func TestWatchingRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		for range 3 {
			s.startWatching()
			if !s.watching.Load() {
				t.Fatal("it does not look")
			}
			time.Sleep(5 * leadTimeout)
			if s.watching.Load() {
				t.Fatal("it does not rest")
			}
		}
	})
}
