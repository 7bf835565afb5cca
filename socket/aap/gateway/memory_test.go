package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/gatehttp"
)

// manyCalls is a stream of calls of so many bytes, which does not end before its context.
type manyCalls struct {
	ctx  context.Context
	left int
	read *atomic.Int64
	n    int
}

func (m *manyCalls) Close() error { return nil }

func (m *manyCalls) Read(p []byte) (int, error) {
	if m.left <= 0 {
		<-m.ctx.Done()
		return 0, io.EOF
	}
	event := "event: turn_start\ndata: {}\n\n"
	if m.n > 0 {
		event = fmt.Sprintf("event: tool_call\ndata: {\"toolCallId\":\"c%d\",\"name\":\"a\",\"input\":{\"x\":\"%s\"}}\n\n", m.n, strings.Repeat("z", 1<<10))
	}
	m.n++
	m.left -= len(event)
	m.read.Add(int64(len(event)))
	return copy(p, event), nil
}

// TestManyTurns: what many turns of a server hold at a time is bounded, and a short one passes
// meanwhile.
func TestManyTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: turns of 32 MiB are read; TestTurnKept is the quick one")
	}
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "server"}, Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable }})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var read atomic.Int64
		size := 4 << 20
		g.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &manyCalls{ctx: ctx, left: size, read: &read}}, nil
		})
		post := func(id string) *fault {
			held := g.memory.Begin(id)
			defer held.Free()
			r := httptest.NewRequest(http.MethodPost, "http://localhost/", http.NoBody)
			_, _, f := g.postTurn(ctx, held, g.newSession(id), strictjson.Object{}, true, r, func(part) error { return nil })
			return f
		}
		for i := range 60 {
			go post(fmt.Sprint(i))
		}
		synctest.Wait()
		if n := read.Load(); n > 32<<20 || n < 8<<20 {
			t.Errorf("%d MiB are read of turns that are not decided", n>>20)
		}
		read.Store(0)
		size = 16 << 10
		go post("short")
		synctest.Wait()
		if n := int(read.Load()); n < size {
			t.Errorf("%d bytes of a short turn are read", n)
		}
		cancel()
		synctest.Wait()
	})
}

// fill takes the room that is there but for what small answers need, and returns what frees it.
func fill(t *testing.T, g *Gateway) (free func()) {
	t.Helper()
	var all []*gatehttp.Held
	begin := func() *gatehttp.Held {
		h := g.memory.Begin(fmt.Sprint("other", len(all)))
		all = append(all, h)
		return h
	}
	if err := begin().Wait(t.Context(), 23<<20); err != nil {
		t.Fatal(err)
	}
	for begin().Try(1 << 20) {
	}
	return func() {
		for _, h := range all {
			h.Free()
		}
	}
}

// TestTurnKept: a turn that the server has taken keeps the room for its calls, whoever waits for
// what it gives back.
func TestTurnKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "server"}, Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable }})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		server, answer := io.Pipe()
		g.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: server}, nil
		})
		held := g.memory.Begin("s")
		defer held.Free()
		done := make(chan *fault, 1)
		go func() {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/", http.NoBody)
			_, _, f := g.postTurn(t.Context(), held, g.newSession("s"), strictjson.Object{}, true, r, func(part) error { return nil })
			done <- f
		}()
		fmt.Fprintf(answer, "event: turn_start\ndata: {}\n\nevent: tool_call\ndata: {\"toolCallId\":\"c\",\"name\":\"a\",\"input\":{\"x\":%q}}\n\n", strings.Repeat("z", 2<<20))
		synctest.Wait()
		defer fill(t, g)()
		waiting := g.memory.Begin("waiting")
		defer waiting.Free()
		go func() { _ = waiting.Wait(t.Context(), 5<<20) }()
		synctest.Wait()
		fmt.Fprint(answer, "event: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n")
		if f := <-done; f != nil {
			t.Error(f)
		}
		// What it holds is counted: the other one waits in vain.
		if waiting.Try(5 << 20) {
			t.Error("the calls are held without being counted")
		}
	})
}

// TestFetchWaits: a short request waits longer for room than its server may take, and ends with
// what it has waited for.
func TestFetchWaits(t *testing.T) {
	for name, row := range map[string]struct {
		pause time.Duration // of the server, behind the wait
		until time.Duration // there is room
		want  string
	}{
		"room in the end": {0, 90 * time.Second, ""},
		"no room":         {0, time.Hour, errNoRoom.text},
		"a slow server":   {shortTimeout + time.Second, 90 * time.Second, "the server's answer is broken or too long"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "server"}, Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable }})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				server, answer := io.Pipe()
				g.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					context.AfterFunc(r.Context(), func() { answer.CloseWithError(r.Context().Err()) })
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: server}, nil
				})
				var writing sync.WaitGroup
				defer writing.Wait()
				writing.Go(func() {
					fmt.Fprintf(answer, `{"x":%q`, strings.Repeat("x", 2<<20))
					time.Sleep(row.pause)
					fmt.Fprint(answer, "}")
					answer.Close()
				})
				free := fill(t, g)
				time.AfterFunc(row.until, free)
				held := g.memory.Begin("s")
				defer held.Free()
				_, _, f := g.fetch(t.Context(), held, http.MethodGet, "/sessions/s", "", httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody), nil)
				if f == nil {
					f = new(fault)
				}
				if f.text != row.want {
					t.Errorf("%d %q", f.status, f.text)
				}
			})
		})
	}
}

// TestManyDeltas: a long text passes token by token. Pieces that wait for a call are bounded.
func TestManyDeltas(t *testing.T) {
	all := 100_000
	if testing.Short() {
		all = 4 * maxParts
	}
	deltas := strings.Repeat("event: text_delta\ndata: {\"delta\":\"ab\"}\n\n", all)
	const begin, end = "event: turn_start\ndata: {}\n\n", "event: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n"
	const call, result = "event: tool_call\ndata: {\"toolCallId\":\"c\",\"name\":\"a\"}\n\n", "event: tool_result\ndata: {\"toolCallId\":\"c\",\"content\":\"x\"}\n\n"
	for name, row := range map[string]struct {
		text string
		ok   bool
	}{
		"alone": {deltas, true}, "before a call": {deltas + call, true}, "behind a result": {call + result + deltas, true},
		"behind a call": {call + deltas, false}, "calls": {strings.Repeat(call, maxParts+1), false},
	} {
		n := 0
		err := new(turn).readStream(strings.NewReader(begin+row.text+end), func(part) error { n++; return nil })
		if (err == nil) != row.ok || row.ok && n < all {
			t.Errorf("%s: %v, after %d parts", name, err, n)
		}
	}
}
