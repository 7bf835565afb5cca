package gateway

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestListTimeout: an upstream that does not give its list, or not all of it, is left out after
// its listTimeout; the tools of the others are listed.
func TestListTimeout(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	serve := func(list http.HandlerFunc) string {
		s := httptest.NewServer(list)
		t.Cleanup(s.Close)
		return s.URL
	}
	hung := serve(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	slow := serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			select {
			case <-time.After(10 * time.Millisecond):
			case <-end:
				return
			}
		}
	})
	good := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[{"id":"Good.Tool@1.0.0","name":"Tool","description":"x","version":"1.0.0","input_schema":{}}]}`))
	})
	t.Cleanup(func() { close(end) }) // before the servers are closed
	c, err := parseConfig([]byte("upstreams:\n- address: " + hung + "\n  toolkits: [Hung]\n  timeout: 1h\n- address: " + slow + "\n  toolkits: [Slow]\n- address: " + good + "\n  toolkits: [Good]\n  timeout: 5s\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{10 * time.Second, 10 * time.Second, 5 * time.Second} {
		if got := c.upstreams[i].listTimeout; got != want {
			t.Errorf("the list of upstream %d may take %v, want %v", i, got, want)
		}
	}
	c.upstreams[0].listTimeout, c.upstreams[1].listTimeout = 200*time.Millisecond, 200*time.Millisecond
	said := make(chan string, 8)
	g := New(c, Options{Say: func(s string) { said <- s }})
	begun := time.Now()
	list := string(g.tools(t.Context(), nil).body)
	if took := time.Since(begun); !strings.Contains(list, "Good.Tool@1.0.0") || took > 20*time.Second {
		t.Errorf("after %v the list is %s", took, list)
	}
	close(said)
	var all []string
	for s := range said {
		all = append(all, s)
	}
	if text := strings.Join(all, "\n"); len(all) != 2 || strings.Count(text, "in time") != 2 {
		t.Errorf("it says %q", all)
	}
}

// TestListWaitsForRoom: the time that a list waits for room is not the upstream's.
func TestListWaitsForRoom(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[{"id":"Good.Tool@1.0.0","name":"Tool","description":"` + strings.Repeat("x", 2<<20) + `","version":"1.0.0","input_schema":{}}]}`))
	}))
	t.Cleanup(s.Close)
	c, err := parseConfig([]byte("upstreams:\n- address: " + s.URL + "\n  toolkits: [Good]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.upstreams[0].listTimeout = time.Second
	g := New(c, Options{Say: func(s string) { t.Error(s) }})
	first := g.memory.Begin("first")
	for i := range 64 { // each has half of what is left
		for other := g.memory.Begin(strconv.Itoa(i)); other.Try(1 << 20); {
		}
	}
	if err := first.Wait(t.Context(), 23<<20); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*c.upstreams[0].listTimeout, first.Free)
	begun := time.Now()
	list := string(g.tools(t.Context(), nil).body)
	if took := time.Since(begun); !strings.Contains(list, "Good.Tool@1.0.0") || took < c.upstreams[0].listTimeout {
		t.Errorf("after %v the list has %d bytes", took, len(list))
	}
}
