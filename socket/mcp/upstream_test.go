package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

const secretToken = "canary-token-1"

// upstreamWorld is a server over HTTP that a handler plays.
type upstreamWorld struct {
	u *Upstream

	mu       sync.Mutex
	lines    []string // what is read
	said     []string
	requests []string // method, path and some headers
	ended    error    // of the stream
}

func newUpstreamWorld(t *testing.T, play func(w http.ResponseWriter, r *http.Request, body string)) *upstreamWorld {
	t.Helper()
	w := new(upstreamWorld)
	web := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.requests = append(w.requests, strings.TrimSpace(strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Mcp-Session-Id"), r.Header.Get("MCP-Protocol-Version"), r.Header.Get("Last-Event-ID"),
		}, " ")))
		if got := r.Header.Get("Authorization"); got != "Bearer "+secretToken {
			t.Errorf("the token is %q", got)
		}
		w.mu.Unlock()
		play(to, r, string(body))
	}))
	address, err := url.Parse(web.URL + "/mcp?key=canary-query-1")
	if err != nil {
		t.Fatal(err)
	}
	w.start(t, address)
	t.Cleanup(func() {
		w.u.Close()
		w.u.Wait()
		web.CloseClientConnections()
		web.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, text := range slices.Concat(w.lines, w.said) {
			if strings.Contains(text, "canary") {
				t.Errorf("%q has a secret", text)
			}
		}
	})
	return w
}

func (w *upstreamWorld) start(t *testing.T, address *url.URL) {
	t.Helper()
	w.u = NewUpstream(UpstreamConfig{URL: address, Token: secretToken, Say: func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, text)
	}})
	w.u.least = time.Millisecond
	go func() {
		r := bufio.NewReaderSize(w.u, 1<<20)
		for {
			line, err := r.ReadString('\n')
			w.mu.Lock()
			if err != nil {
				w.ended = err
				w.mu.Unlock()
				return
			}
			w.lines = append(w.lines, line)
			w.mu.Unlock()
		}
	}()
}

func (w *upstreamWorld) send(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w.u, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// want waits until there are so many lines with a part.
func (w *upstreamWorld) want(t *testing.T, part string, n int) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("%d lines with %s", n, part), func() bool { return w.count(part) == n }, func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Join(w.lines, "") + strings.Join(w.said, "\n") + strings.Join(w.requests, "\n")
	})
}

func (w *upstreamWorld) count(part string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func (w *upstreamWorld) posts(path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if strings.HasPrefix(r, "POST "+path) {
			n++
		}
	}
	return n
}

func asJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func asEvents(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

const (
	pinged   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	ponged   = `{"jsonrpc":"2.0","id":1,"result":{"pong":1}}`
	progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
)

// TestUpstreamSession: the id of the session and the revision are sent with all that follows, and
// the session is ended at the end.
func TestUpstreamSession(t *testing.T) {
	t.Parallel()
	w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, body string) {
		switch {
		case strings.Contains(body, methodInitialize+`"`) && strings.Contains(body, `"id"`):
			to.Header().Set("Mcp-Session-Id", "s1")
			ctx, cancel := context.WithTimeout(r.Context(), 2*orderTimeout) // what follows waits for it
			defer cancel()
			<-ctx.Done()
			asJSON(to, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
		case r.Method == http.MethodPost && strings.Contains(body, `"id"`):
			to.Header().Set("Mcp-Session-Id", "s2")
			asJSON(to, ponged)
		case r.Method == http.MethodGet:
			to.WriteHeader(http.StatusMethodNotAllowed)
		default:
			to.WriteHeader(http.StatusAccepted)
		}
	})
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, pinged)
	w.want(t, `"pong"`, 1)
	w.send(t, `{"jsonrpc":"2.0","id":"q","result":{}}`)
	eventually.Holds(t, "the stream of no request is asked for", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.requests) == 5
	})
	w.u.Close()
	w.u.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.requests)
	with := " /mcp s1 2025-11-25"
	if want := []string{"DELETE" + with, "GET" + with, "POST /mcp", "POST" + with, "POST" + with, "POST" + with}; !slices.Equal(w.requests, want) {
		t.Errorf("requests %q, want %q", w.requests, want)
	}
	if len(w.said) != 0 {
		t.Errorf("said %q", w.said)
	}
}

// TestUpstreamResumes: where a stream breaks off, it is opened again after its last event, and the
// call is not posted again.
func TestUpstreamResumes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		again []func(w http.ResponseWriter) // the answers to the streams that are opened again
		want  string
	}{
		"at once":     {[]func(http.ResponseWriter){func(w http.ResponseWriter) { asEvents(w, "data: "+ponged+"\n\n") }}, `"pong":1`},
		"in parts":    {[]func(http.ResponseWriter){func(w http.ResponseWriter) { asEvents(w, "id: e2\ndata:\n\n") }, func(w http.ResponseWriter) { asEvents(w, "data: "+ponged+"\n\n") }}, `"pong":1`},
		"after a 500": {[]func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(500) }, func(w http.ResponseWriter) { asEvents(w, "data: "+ponged+"\n\n") }}, `"pong":1`},
		"not allowed": {[]func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(405) }}, "HTTP 405"},
		"no events":   {[]func(http.ResponseWriter){func(w http.ResponseWriter) { asJSON(w, ponged) }}, "no such stream"},
		"never":       {nil, "HTTP 503"},
		"empty":       {[]func(http.ResponseWriter){func(w http.ResponseWriter) { asEvents(w, "") }, func(w http.ResponseWriter) { w.WriteHeader(400) }}, "HTTP 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gets := 0
			w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, _ string) {
				switch {
				case r.Method == http.MethodPost:
					asEvents(to, "id: e1\nretry: 1\ndata:\n\n")
				case gets < len(tt.again):
					gets++
					tt.again[gets-1](to)
				default:
					to.WriteHeader(503)
				}
			})
			w.send(t, pinged)
			w.want(t, `"id":1,`, 1)
			if w.count(tt.want) != 1 || w.posts("") != 1 {
				t.Errorf("the answer is %q to %q", w.lines, w.requests)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for i, r := range w.requests[1:] {
				if want := "GET /mcp   e" + fmt.Sprint(1+min(i, 1)*strings.Count(name, "in parts")); r != want {
					t.Errorf("request %q, want %q", r, want)
				}
			}
		})
	}
}

// TestUpstreamListens: messages that belong to no request are received, also after the stream
// broke off.
func TestUpstreamListens(t *testing.T) {
	t.Parallel()
	n := 0
	w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, _ string) {
		if r.Method != http.MethodGet {
			to.WriteHeader(http.StatusAccepted)
			return
		}
		if n++; n == 2 {
			to.WriteHeader(502)
			return
		}
		asEvents(to, fmt.Sprintf("id: e%d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"n\":%d}}\n\n", n, n))
		if n == 4 {
			<-r.Context().Done()
		}
	})
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.want(t, notedToolsChanged, 3)
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.requests[len(w.requests)-3:], ","); got != "GET /mcp   e1,GET /mcp   e1,GET /mcp   e3" {
		t.Errorf("requests %s", got)
	}
}

// TestUpstreamSessionEnded: a session that the server has ended ends the conversation.
func TestUpstreamSessionEnded(t *testing.T) {
	t.Parallel()
	w := newUpstreamWorld(t, func(to http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, methodInitialize) {
			to.Header().Set("Mcp-Session-Id", "s1")
			asJSON(to, `{"jsonrpc":"2.0","id":0,"result":{}}`)
			return
		}
		to.WriteHeader(404)
	})
	w.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, pinged)
	eventually.Holds(t, "the conversation ends", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.ended != nil && strings.Contains(w.ended.Error(), "the server has ended the session")
	})
}

// TestUpstreamCancelled: the answer to a request that was cancelled is not waited for.
func TestUpstreamCancelled(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	w := newUpstreamWorld(t, func(to http.ResponseWriter, r *http.Request, body string) {
		if !strings.Contains(body, "ping") {
			to.WriteHeader(http.StatusAccepted)
			return
		}
		asEvents(to, "data: "+progress+"\n\n")
		<-r.Context().Done()
		close(gone)
	})
	w.send(t, pinged, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-gone
	if w.count(`"id":1`) != 0 {
		t.Errorf("the client received %q", w.lines)
	}
}

// TestUpstreamVanishes: a server that breaks off at any byte leaves no request unanswered.
func TestUpstreamVanishes(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 44\r\n\r\n" + ponged,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: " + progress + "\n\ndata: " + ponged + "\n\n",
		"HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
	} {
		for _, n := range testload.Cuts(len(answer) + 1) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					buffer := make([]byte, 4096)
					_, _ = c.Read(buffer)
					_, _ = io.WriteString(c, answer[:n])
					c.Close()
				}
			}()
			w := new(upstreamWorld)
			w.start(t, &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"})
			w.send(t, pinged)
			w.want(t, `"id":1,`, 1)
			w.u.Close()
			w.u.Wait()
			l.Close()
		}
	}
}

// TestCheckUpstream: what addresses are talked to.
func TestCheckUpstream(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://mcp.example.com/mcp": true, "https://127.0.0.1:8443": true, "https://mcp.example.com/mcp?key=1": true,
		"http://127.0.0.1:8080/mcp": true, "http://127.9.9.9/": true, "http://[::1]:8080/mcp": true, "http://localhost:8080/mcp": true,
		"http://mcp.example.com/mcp": false, "http://10.0.0.1/": false, "http://0.0.0.0/": false, "http://[::]/": false, "http://localhost.example.com/": false,
		"http://127.0.0.1.example.com/": false, "http://2130706433/": false, "https://user:secret@mcp.example.com/": false, "https://user@mcp.example.com/": false,
		"https:///mcp": false, "ftp://127.0.0.1/": false, "mcp.example.com": false, "/mcp": false, "": false, "unix:///run/x": false, "https://x/#a": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckUpstream(u); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestUpstreamLoopback: without TLS nothing but this machine is connected to, whatever its name
// stands for.
func TestUpstreamLoopback(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "http", Host: "localhost:1"}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, address := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "0.0.0.0:80"} {
		if _, err := transportTo(u).DialContext(ctx, "tcp", address); err == nil || !strings.Contains(err.Error(), "not of this machine") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
