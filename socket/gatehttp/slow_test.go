package gatehttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/socket/sockettest"
)

// TestServeSlow: a peer that does not read its answer, of the handler or a refusal, is dropped after
// writeTimeout, even if it reads a byte now and then. Others are served meanwhile.
func TestServeSlow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		request string
		reads   bool
	}{
		"a long answer":  {"POST / HTTP/1.1\r\nHost: permd\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", false},
		"byte by byte":   {"POST / HTTP/1.1\r\nHost: permd\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", true},
		"a short answer": {"GET / HTTP/1.1\r\nHost: permd\r\n\r\n", false},
		"a refusal":      {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &Server{
					Refuse: func(w http.ResponseWriter, _ *http.Request, f *Refusal) { Reply(w, f.Status, []byte(`{}`)) },
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Method == http.MethodGet {
							Reply(w, http.StatusOK, []byte(`{}`))
							return
						}
						if _, f := ReadBody(w, r, 1000); f != nil {
							t.Error(f)
						}
						Reply(w, http.StatusOK, []byte(`"`+strings.Repeat("x", 1<<20)+`"`))
					}),
				}
				ln := sockettest.NewPipes()
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(ctx, ln) }()
				deaf := ln.Dial()
				write(t, deaf, tt.request)
				synctest.Wait()
				begun := time.Now()
				other := ln.Dial()
				write(t, other, "GET / HTTP/1.1\r\nHost: permd\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(other), nil)
				if err != nil || res.StatusCode != http.StatusOK || time.Since(begun) > 0 {
					t.Errorf("another peer: %+v, %v, after %v", res, err, time.Since(begun))
				} else {
					res.Body.Close()
				}
				other.Close()
				for tt.reads {
					if _, err := io.CopyN(io.Discard, deaf, 1); err != nil {
						break
					}
					time.Sleep(time.Second)
				}
				time.Sleep(time.Until(begun.Add(writeTimeout + time.Second)))
				if n, err := io.Copy(io.Discard, deaf); n > 0 || err != nil || time.Since(begun) > writeTimeout+time.Second {
					t.Errorf("the connection afterwards: %d bytes, %v, after %v", n, err, time.Since(begun))
				}
				deaf.Close()
				end()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := fmt.Fprint(c, text); err != nil {
		t.Error(err)
	}
}
