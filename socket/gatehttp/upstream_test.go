package gatehttp

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const canary = "NOT-A-REAL-TOKEN-3"

func upstream(t *testing.T, base string) *Upstream {
	t.Helper()
	u, err := NewUpstream(base, UpstreamOptions{Timeout: 2 * time.Second, MaxAnswer: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUpstreamAddress: a credential goes to one machine, and over another network only
// where nobody reads it.
func TestUpstreamAddress(t *testing.T) {
	for base, want := range map[string]bool{
		"http://127.0.0.1:7411/v1": true, "http://[::1]:7411": true, "http://localhost:7411/": true, "https://tools.example.com/v1": true,
		"http://tools.example.com": false, "http://127.0.0.1.example.com": false, "http://10.0.0.1": false,
		"https://me:secret@tools.example.com": false, "https://tools.example.com?key=x": false, "https://tools.example.com#x": false, "https://tools.example.com?": false,
		"ftp://tools.example.com": false, "tools.example.com": false, "": false, "https://": false,
	} {
		if _, err := NewUpstream(base, UpstreamOptions{}); (err == nil) != want {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// TestUpstreamAnswers: whatever the upstream does, it gets a request once at most, nobody
// else does, and the error says nothing of either side.
func TestUpstreamAnswers(t *testing.T) {
	others := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others++ }))
	defer other.Close()
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		status int // 0 for an error
		text   string
	}{
		{"an answer", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }, 200, "ok"},
		{"its own error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 500, ""},
		{"as much as may be", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<10)) }, 200, strings.Repeat("x", 1<<10)},
		{"too much", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<10+1)) }, 0, "longer than 1024 bytes"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/"+canary, http.StatusTemporaryRedirect)
		}, 0, "it redirects (status 307)"},
		{"a redirect of another kind", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusMovedPermanently)
		}, 0, "it redirects (status 301)"},
		{"another protocol", raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), 0, "it switches protocols (status 101)"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			z.Close()
		}, 0, "encoded"},
		{"nothing", raw(""), 0, "the connection broke"},
		{"half of a header", raw("HTTP/1.1 200 OK\r\nX: " + canary), 0, "the connection broke"},
		{"half of a body", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + canary), 0, "the connection broke"},
		{"not HTTP", raw(canary + " " + canary + "\r\n\r\n"), 0, "the connection broke"},
		{"two answers", raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"), 200, "ok"},
		{"both framings", raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), 200, "ok"},
		{"a header without an end", raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 100_000)), 0, "the connection broke"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got++
				if r.Header.Get("Authorization") != "Bearer "+canary {
					t.Errorf("it got %v", r.Header)
				}
				tt.answer(w, r)
			}))
			defer s.Close()
			u := upstream(t, s.URL)
			a, err := u.Do(t.Context(), nil, http.MethodPost, "/tools/call", http.Header{"Authorization": {"Bearer " + canary}}, []byte(`{"a":1}`))
			if tt.status == 0 {
				e, ok := errors.AsType[*UpstreamError](err)
				if !ok || !e.Sent || !strings.Contains(e.Text, tt.text) || strings.Contains(e.Text, canary) || strings.Contains(e.Text, s.URL) {
					t.Errorf("%+v, error %#v", a, err)
				}
			} else if err != nil || a.Status != tt.status || string(a.Body) != tt.text {
				t.Errorf("%+v, %v", a, err)
			}
			if got != 1 || others != 0 {
				t.Errorf("it got %d requests, another %d", got, others)
			}
		})
	}
}

// TestUpstreamCut: an answer that ends at any byte, of its header too, is an error that says that
// the request may have arrived, and the request is sent once.
func TestUpstreamCut(t *testing.T) {
	for _, whole := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n" + `{"a":1}`,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + `{"a":1}` + "\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Internal Server Error\r\nContent-Length: 7\r\n\r\n" + `{"a":1}`,
	} {
		sent, got := "", 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got++
			_, _ = io.ReadAll(r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, sent)
			c.Close()
		}))
		u := upstream(t, s.URL)
		for n := range len(whole) {
			sent, got = whole[:n], 0
			a, err := u.Do(t.Context(), nil, http.MethodPost, "/", nil, []byte(`{"a":1}`))
			if e, ok := errors.AsType[*UpstreamError](err); !ok || !e.Sent || e.Text != "the connection broke before its whole answer came" || got != 1 {
				t.Errorf("%q: %+v, %#v, %d requests", sent, a, err, got)
			}
		}
		sent = whole
		if a, err := u.Do(t.Context(), nil, http.MethodPost, "/", nil, []byte(`{"a":1}`)); err != nil || string(a.Body) != `{"a":1}` {
			t.Errorf("%q: %+v, %v", whole, a, err)
		}
		s.Close()
	}
}

// TestUpstreamNotSent: it is known that a request was not sent, so that it may be tried
// again, and else it is not known.
func TestUpstreamNotSent(t *testing.T) {
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + ln.Addr().String()
	ln.Close()
	_, err = upstream(t, address).Do(t.Context(), nil, http.MethodPost, "/", nil, []byte("{}"))
	if e, ok := errors.AsType[*UpstreamError](err); !ok || e.Sent || e.Text != "it cannot be reached" {
		t.Errorf("nobody listens: %#v", err)
	}

	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	_, err = upstream(t, secure.URL).Do(t.Context(), nil, http.MethodPost, "/", nil, []byte("{}"))
	if e, ok := errors.AsType[*UpstreamError](err); !ok || e.Sent || e.Text != "its certificate cannot be verified" {
		t.Errorf("a certificate that nobody signed: %#v", err)
	}

	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-release
	}))
	defer slow.Close()
	defer close(release)
	u := upstream(t, slow.URL)
	u.o.Timeout = 50 * time.Millisecond
	_, err = u.Do(t.Context(), nil, http.MethodPost, "/", nil, []byte("{}"))
	if e, ok := errors.AsType[*UpstreamError](err); !ok || !e.Sent || e.Text != "it did not answer in time" {
		t.Errorf("a slow one: %#v", err)
	}
}

// TestUpstreamProxy: the environment does not tell where credentials go.
func TestUpstreamProxy(t *testing.T) {
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied++ }))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("https_proxy", proxy.URL)
	// A name that cannot exist: with the proxy it would be asked for it.
	_, err := upstream(t, "https://tools.invalid").Do(t.Context(), nil, http.MethodGet, "/tools", nil, nil)
	if err == nil || proxied != 0 {
		t.Errorf("%v, %d requests to the proxy", err, proxied)
	}
}

// TestUpstreamReachable: the address of a connection is looked at when it is made, whatever
// the name was resolved to before.
func TestUpstreamReachable(t *testing.T) {
	got := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got++ }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	allowed, seen := true, []string{}
	u, err := NewUpstream("http://localhost:"+port, UpstreamOptions{Timeout: 2 * time.Second, MaxAnswer: 10, Reachable: func(at netip.Addr) bool {
		seen = append(seen, at.String())
		return allowed && at.Is4()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Do(t.Context(), nil, http.MethodPost, "/", nil, []byte("{}")); err != nil || got != 1 {
		t.Errorf("allowed: %v, %d requests", err, got)
	}
	allowed = false
	_, err = u.Do(t.Context(), nil, http.MethodPost, "/", nil, []byte("{}"))
	if failed, ok := errors.AsType[*UpstreamError](err); !ok || failed.Sent || got != 1 || len(seen) < 2 {
		t.Errorf("not allowed: %v, %d requests, looked at %q", err, got, seen)
	}
}
