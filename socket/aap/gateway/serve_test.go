package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// serveTo serves a gateway in front of a server, and returns its address.
func serveTo(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Upstream: upstream, Key: "the-servers-key", Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	g.readTimeout = 300 * time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, ln) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// TestServeReading sends requests that do not come whole, or not as they must: each has an answer
// within the time for reading, and its connection ends.
func TestServeReading(t *testing.T) {
	at := serveTo(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	const bearer, kind = "Authorization: Bearer t0ken\r\n", "Content-Type: application/json\r\n"
	for name, tt := range map[string]struct {
		first string // the request's first line
		rest  string
		want  int
	}{
		"half a body":              {"POST /sessions HTTP/1.1", bearer + kind + "Content-Length: 100\r\n\r\n{", http.StatusRequestTimeout},
		"half a body in chunks":    {"POST /sessions HTTP/1.1", bearer + kind + "Transfer-Encoding: chunked\r\n\r\n5\r\n{", http.StatusRequestTimeout},
		"half a body, no token":    {"POST /sessions HTTP/1.1", kind + "Content-Length: 100\r\n\r\n{", http.StatusUnauthorized},
		"half a body, no path":     {"POST /none HTTP/1.1", bearer + kind + "Content-Length: 100\r\n\r\n{", http.StatusNotFound},
		"half a body, no JSON":     {"POST /sessions HTTP/1.1", bearer + "Content-Length: 100\r\n\r\n{", http.StatusUnsupportedMediaType},
		"half a body of a session": {"POST /sessions/s/turns HTTP/1.1", bearer + kind + "Content-Length: 100\r\n\r\n{", http.StatusRequestTimeout},
		"two types":                {"POST /sessions HTTP/1.1", bearer + kind + kind + "Content-Length: 2\r\n\r\n{}", http.StatusUnsupportedMediaType},
		"another charset":          {"POST /sessions HTTP/1.1", bearer + "Content-Type: application/json; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}", http.StatusUnsupportedMediaType},
		"HTTP/1.0":                 {"POST /sessions HTTP/1.0", bearer + kind + "Content-Length: 2\r\n\r\n{}", http.StatusHTTPVersionNotSupported},
		"both framings":            {"POST /sessions HTTP/1.1", bearer + kind + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(eventually.Limit))
			fmt.Fprintf(c, "%s\r\nHost: %s\r\n%s", tt.first, at, tt.rest)
			r := bufio.NewReader(c)
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
			if strings.HasPrefix(name, "half") {
				if _, err := r.ReadByte(); err != io.EOF {
					t.Errorf("the connection afterwards: %v", err)
				}
			}
		})
	}
}

// TestServeLong: a server may take longer for its answer than a client for its request.
func TestServeLong(t *testing.T) {
	t.Parallel()
	at := serveTo(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(600 * time.Millisecond): // twice readTimeout
		case <-r.Context().Done():
			t.Error("the client is taken for gone")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"sessionId":"s"}`)
	})
	for _, r := range []struct{ method, path, body string }{{"GET", "/sessions/s", ""}, {"POST", "/sessions", `{"agent":{"name":"a"}}`}} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, "http://"+at+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer t0ken")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", r.path, err)
			continue
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", r.path, res.StatusCode)
		}
	}
}
