package gatehttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

const goodToken = "0123456789abcdef0123456789abcdef"

// served is a server whose handler answers a body with its length, and waits with one that
// says so until its peer has gone.
type served struct {
	network, address string
	waiting, gone    chan struct{}
}

func serve(t *testing.T, address, token string) *served {
	t.Helper()
	ln, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{ln.Addr().Network(), ln.Addr().String(), make(chan struct{}, 1), make(chan struct{}, 1)}
	server := &Server{
		Token: token, Open: func(path string) bool { return path == "/health" }, readTimeout: 200 * time.Millisecond,
		Refuse: func(w http.ResponseWriter, _ *http.Request, f *Refusal) {
			Reply(w, f.Status, []byte(`{"refused":"`+f.Code+`"}`))
		},
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			Reply(w, 200, []byte(`"open"`))
			return
		}
		body, f := ReadBody(w, r, 1000)
		switch {
		case f != nil:
			server.Refuse(w, r, f)
			return
		case string(body) == "wait":
			s.waiting <- struct{}{}
			<-r.Context().Done()
			s.gone <- struct{}{}
		}
		Reply(w, 200, fmt.Appendf(nil, "%d", len(body)))
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return s
}

func (s *served) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial(s.network, s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(eventually.Limit))
	return c
}

func (s *served) send(t *testing.T, raw string) (status int, body string) {
	t.Helper()
	c := s.dial(t)
	go func() { _, _ = io.WriteString(c, raw) }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", raw[:min(len(raw), 60)], err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(b))
}

func (s *served) post(body string, headers ...string) string {
	host := s.address
	if s.network == "unix" {
		host = "permd"
	}
	return fmt.Sprintf("POST /x HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", host, len(body), strings.Join(headers, ""), body)
}

func TestServe(t *testing.T) {
	const bearer = "Authorization: Bearer " + goodToken + "\r\n"
	s := serve(t, "127.0.0.1:0", goodToken)
	for _, tt := range []struct {
		name, raw string
		status    int
		body      string
	}{
		{"a request", s.post("12345", bearer), 200, "5"},
		{"as long as may be", s.post(strings.Repeat("x", 1000), bearer), 200, "1000"},
		{"longer", s.post(strings.Repeat("x", 1001), bearer), 413, `{"refused":"too_large"}`},
		{"longer, in pieces", "POST / HTTP/1.1\r\nHost: " + s.address + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n" + bearer + "\r\n7d0\r\n" + strings.Repeat("x", 2000) + "\r\n0\r\n\r\n", 413, `{"refused":"too_large"}`},
		// Go's net/http takes the pieces, as RFC 9112 has it, and tells nobody of the length.
		{"both framings", "POST /x HTTP/1.1\r\nHost: " + s.address + "\r\nContent-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n" + bearer + "\r\n5\r\n12345\r\n0\r\n\r\n", 200, "5"},
		{"no token", s.post("12345"), 401, `{"refused":"unauthorized"}`},
		{"another token", s.post("12345", "Authorization: Bearer "+goodToken[1:]+"\r\n"), 401, `{"refused":"unauthorized"}`},
		{"a browser", s.post("12345", bearer, "Origin: null\r\n"), 403, `{"refused":"origin"}`},
		{"no type", strings.Replace(s.post("12345", bearer), "Content-Type", "X", 1), 415, `{"refused":"content_type"}`},
		{"half a body", s.post("12345", bearer)[:150], 408, `{"refused":"timeout"}`},
		{"open", "GET /health HTTP/1.1\r\nHost: " + s.address + "\r\n\r\n", 200, `"open"`},
		{"open, under another name", "GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, `{"refused":"host"}`},
		{"almost open", "GET /health?x HTTP/1.1\r\nHost: " + s.address + "\r\n\r\n", 401, `{"refused":"unauthorized"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "half a body" {
				tt.raw = strings.TrimSuffix(s.post("12345", bearer), "45")
			}
			if status, body := s.send(t, tt.raw); status != tt.status || body != tt.body {
				t.Errorf("%d %s", status, body)
			}
		})
	}

	u := serve(t, "unix:"+filepath.Join(shortDir(t), "gate", "gate.sock"), "")
	if status, body := u.send(t, u.post("12345")); status != 200 || body != "5" {
		t.Errorf("on a Unix socket: %d %s", status, body)
	}

	for _, address := range []string{"0.0.0.0:0", "10.0.0.1:80", "unix:gate.sock", "localhost:80", ":80", ""} {
		if ln, err := Listen(address); err == nil {
			ln.Close()
			t.Errorf("it listens on %q", address)
		}
	}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Server{}).Serve(t.Context(), ln); err == nil {
		t.Error("it serves on a loopback address without a token")
	}
}

// TestServeGone: a handler that waits learns when its peer has gone, and waits longer than a
// body may take.
func TestServeGone(t *testing.T) {
	s := serve(t, "127.0.0.1:0", goodToken)
	c := s.dial(t)
	_, _ = io.WriteString(c, s.post("wait", "Authorization: Bearer "+goodToken+"\r\n"))
	<-s.waiting
	select {
	case <-s.gone:
		t.Error("it ended while its peer waits")
	case <-time.After(500 * time.Millisecond): // the limit for a body is 200 ms
	}
	c.Close()
	select {
	case <-s.gone:
	case <-time.After(eventually.Limit):
		t.Error("it did not end with its peer")
	}
}

// TestServeMany: so many connections are served at a time, and others when those are gone.
func TestServeMany(t *testing.T) {
	s := serve(t, "127.0.0.1:0", goodToken)
	request := s.post("12345", "Authorization: Bearer "+goodToken+"\r\n")
	status := func(c net.Conn) int {
		_, _ = io.WriteString(c, request)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	var conns []net.Conn
	for range maxConns {
		c := s.dial(t)
		if got := status(c); got != 200 {
			t.Fatalf("status %d", got)
		}
		conns = append(conns, c)
	}
	if got := status(s.dial(t)); got != http.StatusServiceUnavailable {
		t.Errorf("one more: status %d", got)
	}
	if got := status(conns[1]); got != 200 {
		t.Errorf("one that is served: status %d", got)
	}
	conns[0].Close()
	eventually.Holds(t, "a connection is served again", func() bool { return status(s.dial(t)) == 200 })
}

// TestServeStrangers: connections without the token take no place of those with it, however
// many there are and whatever they have sent. The oldest of them are closed.
func TestServeStrangers(t *testing.T) {
	s := serve(t, "127.0.0.1:0", goodToken)
	request := s.post("12345", "Authorization: Bearer "+goodToken+"\r\n")
	keeps := s.dial(t)
	served := func() {
		t.Helper()
		_, _ = io.WriteString(keeps, request)
		resp, err := http.ReadResponse(bufio.NewReader(keeps), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("a connection with the token: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	served()
	var first net.Conn
	for i := range 3 * maxConns {
		c := s.dial(t)
		_, _ = io.WriteString(c, []string{"", "POST /x HTTP/1.1\r\nAuth", "GET /health HTTP/1.1\r\nHost: " + s.address + "\r\n\r\n"}[i%3])
		if first == nil {
			first = c
		}
	}
	if status, _ := s.send(t, request); status != 200 {
		t.Errorf("a new connection with the token: status %d", status)
	}
	served()
	if _, err := io.ReadAll(first); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the oldest connection without the token is open")
	}
}
