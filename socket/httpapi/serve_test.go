package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

func TestRefusesToServe(t *testing.T) {
	for name, o := range map[string]struct {
		address string
		token   string
	}{"every address": {"0.0.0.0:0", testToken}, "no token": {"127.0.0.1:0", ""}} {
		ln, err := net.Listen("tcp", o.address)
		if err != nil {
			t.Fatal(err)
		}
		if err := Serve(t.Context(), ln, Deps{}, Options{Token: o.token}); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the listener is open", name)
		}
	}
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "localhost:0", "127.0.0.1", ""} {
		if ln, err := gatehttp.ListenLoopback(address); err == nil {
			ln.Close()
			t.Errorf("listened on %s", address)
		}
	}
}

func TestNotAdmitted(t *testing.T) {
	s := serveUnix(t, Options{Socket: socket.Options{Admit: func(p decisions.Peer) error {
		if p.UID == uint32(os.Geteuid()) {
			return errors.New("not you")
		}
		return nil
	}}})
	if got := s.send(t, ""); got.status != 403 || len(s.requests()) > 0 {
		t.Errorf("answer %+v", got)
	}
}

// TestPeer: the user who asks is the socket's peer, and on an address the token's
// owner.
func TestPeer(t *testing.T) {
	u := serveUnix(t, Options{})
	u.send(t, u.post(PathDecision, okInput))
	if got := u.requests()[0].Peer; got.UID != uint32(os.Geteuid()) || runtime.GOOS == "linux" && got.PID != int32(os.Getpid()) {
		t.Errorf("peer %+v", got)
	}
	l := serveLoopback(t, Options{})
	l.send(t, l.post(PathDecision, okInput))
	if got := l.requests()[0].Peer; got != (decisions.Peer{UID: 1000, GID: 1000}) {
		t.Errorf("peer %+v", got)
	}
}

// TestLimitsOfConnections: a client above the limit gets an error, and there is
// room again when another ends.
func TestLimitsOfConnections(t *testing.T) {
	s := serveUnix(t, Options{Socket: socket.Options{MaxConnsPerUID: 2}})
	first, second := s.dial(t), s.dial(t)
	for _, c := range []net.Conn{first, second} {
		_, _ = io.WriteString(c, s.post(PathDecision, okInput))
		if got := readAnswer(t, bufio.NewReader(c)); got.status != 200 {
			t.Fatalf("answer %+v", got)
		}
	}
	if got := s.send(t, ""); got.status != 503 || !strings.Contains(got.body, "too many connections of this user") {
		t.Errorf("above the limit: %+v", got)
	}
	first.Close()
	eventually.Holds(t, "the server has seen the end", func() bool {
		c := s.dial(t)
		_, _ = io.WriteString(c, s.post(PathDecision, okInput))
		resp := readAnswer(t, bufio.NewReader(c))
		c.Close()
		if resp.status != 200 && resp.status != 503 {
			t.Fatalf("answer %+v", resp)
		}
		return resp.status == 200
	})
}

// TestRoomForBodies: bodies take their size from what their connections share, and return
// it. However many long ones are announced, short ones are served.
func TestRoomForBodies(t *testing.T) {
	s := serveUnix(t, Options{Socket: socket.Options{MaxMessage: 24 << 20, MaxConns: 30}})
	announce := func() (net.Conn, string) {
		c := s.dial(t)
		_, _ = io.WriteString(c, s.post(PathDecision, "", "Content-Length", "25165824", "Expect", "100-continue"))
		got, err := bufio.NewReader(c).Peek(len("HTTP/1.1 100"))
		if err != nil {
			t.Fatal(err)
		}
		return c, string(got[len(got)-3:])
	}
	var waiting []net.Conn
	for {
		c, status := announce()
		waiting = append(waiting, c)
		if status != "100" {
			if status != "503" || len(waiting) < 8 {
				t.Errorf("body %d: %s", len(waiting), status)
			}
			break
		}
		if len(waiting) > 16 {
			t.Fatal("more than the budget is taken")
		}
	}
	if got := s.send(t, s.post(PathDecision, okInput)); got.status != 200 {
		t.Errorf("a short body: %+v", got)
	}
	for _, c := range waiting {
		c.Close()
	}
	eventually.Holds(t, "there is room again", func() bool {
		c, status := announce()
		c.Close()
		return status == "100"
	})
}

// TestSlow: the server does not wait long for a body or a header.
func TestSlow(t *testing.T) {
	s := serveUnix(t, Options{readTimeout: 200 * time.Millisecond})
	if got := s.send(t, s.post(PathDecision, okInput[:10], "Content-Length", "64")); got.status != 408 {
		t.Errorf("half a body: %+v", got)
	}
	c := s.dial(t)
	_, _ = io.WriteString(c, "POST /v1/data")
	if b, _ := io.ReadAll(c); len(b) > 0 && !strings.HasPrefix(string(b), "HTTP/1.1 4") {
		t.Errorf("half a header: %s", b)
	}
	if len(s.requests()) > 0 {
		t.Error("it was decided")
	}
}

// TestBroken: a request that fails on the way gets an error, never an answer.
func TestBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		do     func(context.Context)
		broken bool
	}{
		"a panic":               {do: func(context.Context) { panic("canary-of-a-panic") }},
		"an ended goroutine":    {do: func(context.Context) { runtime.Goexit() }},
		"no decision":           {broken: true},
		"a panic of the system": {do: func(context.Context) { _ = []int{}[len(os.Args)*0] }},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveUnix(t, Options{})
			s.do, s.broken = tt.do, tt.broken
			for _, raw := range []string{s.post(PathDecision, okInput), s.post(pathCalls, okCalls)} {
				if got := s.send(t, raw); got.status != 500 || strings.Contains(got.body, "decision") {
					t.Errorf("answer %+v", got)
				}
			}
			if strings.Contains(s.log.String(), "canary-of-a-panic") {
				t.Error("the log holds the panic's value")
			}
			s.mu.Lock()
			s.do, s.broken = nil, false
			s.mu.Unlock()
			if got := s.send(t, s.post(PathDecision, okInput)); got.status != 200 {
				t.Errorf("then: %+v", got)
			}
		})
	}
}

// TestDecideTimeout: deciding that takes too long returns no decision.
func TestDecideTimeout(t *testing.T) {
	s := serveUnix(t, Options{decideTimeout: 20 * time.Millisecond})
	s.do = func(ctx context.Context) { <-ctx.Done() }
	if got := s.send(t, s.post(PathDecision, okInput)); got.status != 503 || !strings.Contains(got.body, "took too long") {
		t.Errorf("answer %+v", got)
	}
}

// TestRunning: as many calls are decided at one time as the limit says.
func TestRunning(t *testing.T) {
	s := serveUnix(t, Options{Socket: socket.Options{Share: fairshare.New(fairshare.Options{Slots: 1})}})
	entered, release := make(chan struct{}, 2), make(chan struct{})
	s.do = func(context.Context) {
		entered <- struct{}{}
		<-release
	}
	answers := make(chan answered, 2)
	for range 2 {
		go func() { answers <- s.send(t, s.post(PathDecision, okInput)) }()
	}
	<-entered
	select {
	case <-entered:
		t.Error("a second one was decided meanwhile")
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if got := <-answers; got.status != 200 {
			t.Errorf("answer %+v", got)
		}
	}
}

// TestShutdown: requests in flight when the server is told to stop are
// answered; those that take longer than the grace period get 503, and no new
// ones are accepted.
func TestShutdown(t *testing.T) {
	for name, heeds := range map[string]bool{"in time": true, "too late": false} {
		t.Run(name, func(t *testing.T) {
			grace := 200 * time.Millisecond
			if heeds {
				grace = time.Minute // so that a slow machine is not too late
			}
			s := serveUnix(t, Options{Socket: socket.Options{Grace: grace}})
			entered, release := make(chan struct{}), make(chan struct{})
			s.do = func(context.Context) {
				close(entered)
				<-release
			}
			answer := make(chan answered, 1)
			go func() { answer <- s.send(t, s.post(PathDecision, okInput)) }()
			<-entered
			s.stop()
			want := 503
			if heeds {
				want = 200
				close(release)
			}
			if got := <-answer; got.status != want {
				t.Errorf("answer %+v, want %d", got, want)
			}
			if !heeds {
				close(release)
			}
			if err := <-s.ended; err != nil {
				t.Errorf("serving: %v", err)
			}
			close(s.ended)
			if c, err := net.Dial(s.network, s.address); err == nil {
				c.Close()
				t.Error("connected after the end")
			}
		})
	}
}

// TestShutdownHalfRequests: clients that stop in the middle of a request delay the
// end by at most the grace period.
func TestShutdownHalfRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a second; the other tests of shutting down are the quick ones")
	}
	s := serveUnix(t, Options{Socket: socket.Options{Grace: 50 * time.Millisecond}})
	half := s.dial(t)
	_, _ = io.WriteString(half, s.post(PathDecision, okInput[:10], "Content-Length", "64"))
	idle := s.dial(t)
	_, _ = io.WriteString(idle, s.request("GET", PathHealth, ""))
	if got := readAnswer(t, bufio.NewReader(idle)); got.status != 200 {
		t.Fatalf("answer %+v", got)
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Errorf("serving: %v", err)
	}
	close(s.ended)
	if len(s.requests()) > 0 {
		t.Error("half a request was decided")
	}
}

func TestHealthAndMetrics(t *testing.T) {
	var degraded []string
	var failure error
	srv := &server{Deps: Deps{Health: func(context.Context) ([]string, error) { return degraded, failure }}, log: slog.New(slog.DiscardHandler)}
	for _, tt := range []struct {
		degraded []string
		err      error
		want     string
	}{
		{nil, nil, `{"status":"ok"}`},
		{[]string{"policy"}, nil, `{"status":"degraded","degraded":["policy"]}`},
		{nil, errors.New("/home/ana/secret"), "permd cannot decide"},
	} {
		degraded, failure = tt.degraded, tt.err
		got, err := srv.health(t.Context(), decisions.Peer{}, nil)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	s := serveUnix(t, Options{})
	if got := s.send(t, s.request("GET", pathMetrics, "")); got.status != 200 || got.body != "permd_up 1\n" {
		t.Errorf("metrics: %+v", got)
	}
	if got := s.send(t, s.request("GET", PathHealth, "")); got.status != 200 || got.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("health: %+v", got)
	}
}
