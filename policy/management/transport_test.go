package management

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowly returns what dials a server that reads a request and then runs answer, in virtual time.
func slowly(served *sync.WaitGroup, answer func(net.Conn)) *http.Transport {
	return &http.Transport{
		ResponseHeaderTimeout: 10 * time.Second, // OPA's
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			served.Go(func() {
				defer theirs.Close()
				if answer == nil {
					_, _ = io.Copy(io.Discard, theirs)
					return
				}
				if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
					answer(theirs)
				}
			})
			return ours, nil
		},
	}
}

// drip writes a text, a byte each second.
func drip(w io.Writer, text string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range len(text) {
		<-tick.C
		if _, err := w.Write([]byte{text[i]}); err != nil {
			return
		}
	}
}

// TestSlowServer: a request ends with its time, however slowly a server answers, and with its
// context at once. An answer that does not end is read up to a size.
func TestSlowServer(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	body := func(w net.Conn) {
		if _, err := io.WriteString(w, head); err == nil {
			drip(w, strings.Repeat("x", 1_000_000))
		}
	}
	endless := func(w net.Conn) {
		_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n")
		for err == nil {
			_, err = w.Write(make([]byte, 1<<16))
		}
	}
	for _, tt := range []struct {
		name, method, prefer string
		answer               func(net.Conn)
		want                 string // of the error, "" for none
		took                 time.Duration
	}{
		{"a bundle, a byte a second", http.MethodGet, "", body, "the server did not answer in full within 30s", 30 * time.Second},
		{"and it was asked to wait", http.MethodGet, "modes=snapshot;wait=60", body, "the server did not answer in full within 1m30s", 90 * time.Second},
		{"headers, a byte a second", http.MethodGet, "", func(w net.Conn) { drip(w, head) }, "timeout awaiting response headers", 10 * time.Second},
		{"nothing", http.MethodGet, "", nil, "timeout awaiting response headers", 10 * time.Second},
		{"a registry says nothing", http.MethodHead, "", nil, "timeout awaiting response headers", 10 * time.Second},
		{"the answer to a report, a byte a second", http.MethodPost, "", body, "the server did not answer in full within 1m0s", time.Minute},
		{"no answer to a report", http.MethodPost, "", nil, "timeout awaiting response headers", 10 * time.Second},
		{"a bundle that does not end", http.MethodGet, "", endless, "the answer is larger than 16 MiB", 0},
		{"an answer to a report that does not end", http.MethodPost, "", endless, "", 0},
	} {
		for _, cancelled := range []bool{false, true} {
			if cancelled && tt.took == 0 {
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var served sync.WaitGroup
					defer served.Wait()
					next := slowly(&served, tt.answer)
					defer next.CloseIdleConnections()
					b := &bounded{next, limits{validators: new(validators)}}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var text io.Reader
					if tt.method == http.MethodPost {
						text = strings.NewReader("{}")
					}
					req, err := http.NewRequestWithContext(ctx, tt.method, "http://server/org.tar.gz", text)
					if err != nil {
						t.Fatal(err)
					}
					if tt.prefer != "" {
						req.Header.Set("Prefer", tt.prefer)
					}
					begun := time.Now()
					want, within := tt.want, tt.took
					if cancelled {
						want, within = context.Canceled.Error(), 5*time.Second
						time.AfterFunc(within, cancel)
					}
					resp, err := b.RoundTrip(req)
					n := int64(0)
					if err == nil {
						n, err = io.Copy(io.Discard, resp.Body)
						err = errors.Join(err, resp.Body.Close())
					}
					took := time.Since(begun)
					if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || took != within {
						t.Errorf("%v after %s, want %q after %s", err, took, want, within)
					}
					if n > maxAnswer+1 {
						t.Errorf("%d bytes were read", n)
					}
				})
			})
		}
	}
}
