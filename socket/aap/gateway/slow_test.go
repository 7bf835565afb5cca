package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/sockettest"
)

// slowWorld is a gateway on the clock of a bubble, in front of a server that turn plays.
type slowWorld struct {
	t  *testing.T
	ln *sockettest.Pipes
}

func newSlowWorld(t *testing.T, turn func(r *http.Request, session string) (string, error)) *slowWorld {
	t.Helper()
	g, err := New(Config{
		Upstream: &url.URL{Scheme: "http", Host: "server"}, Token: "t0ken", Say: func(string) {},
		Dial: func(context.Context) (*client.Client, error) { return nil, client.ErrUnreachable },
	})
	if err != nil {
		t.Fatal(err)
	}
	g.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		session, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/sessions/"), "/")
		kind, text := "application/json", `{"sessionId":"`+session+`","agent":{"name":"a"}}`
		if session == "late" {
			select {
			case <-time.After(shortTimeout - time.Second):
			case <-r.Context().Done():
				t.Error("the client is taken for gone")
			}
		}
		switch rest {
		case "history":
			text = `{"history":{"full":[{"role":"user","content":"` + strings.Repeat("x", 64<<10) + `"}]}}`
		case "turns":
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), `"none"`) {
				kind = "text/event-stream"
			}
			if text, err = turn(r, session); err != nil {
				return nil, err
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(text))}, nil
	})
	w := &slowWorld{t, sockettest.NewPipes()}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, w.ln) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// send sends a request on a connection of its own.
func (w *slowWorld) send(method, path, body string) net.Conn {
	w.t.Helper()
	c := w.ln.Dial()
	if _, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: permd\r\nAuthorization: Bearer t0ken\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body); err != nil {
		w.t.Error(err)
	}
	return c
}

func userTurn(stream string) string {
	return `{"messages":[{"role":"user","content":"go"}],"stream":"` + stream + `"}`
}

// status sends a request, and reads its answer.
func (w *slowWorld) status(method, path, body string) int {
	w.t.Helper()
	c := w.send(method, path, body)
	defer c.Close()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode
}

// TestSlowClient: a client that does not read its answer is dropped, and has the session as long.
// Others are served.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 64<<10)
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/sessions/s/history", ""},
		{"GET", "/sessions/s", ""},
		{"GET", "/none", ""},
		{"POST", "/sessions", `{"agent":{"name":"a"}}`},
		{"POST", "/sessions", `{`},
		{"POST", "/sessions/s/turns", userTurn("message")},
		{"POST", "/sessions/s/turns", userTurn("delta")},
		{"POST", "/sessions/s/turns", userTurn("none")},
	} {
		t.Run(tt.method+tt.path+tt.body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSlowWorld(t, func(*http.Request, string) (string, error) {
					if strings.Contains(tt.body, "none") {
						return `{"stopReason":"end_turn","messages":[{"role":"assistant","content":"` + text + `"}]}`, nil
					}
					return "event: turn_start\ndata: {}\n\nevent: text\ndata: {\"text\":\"" + text + "\"}\n\nevent: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n", nil
				})
				begun := time.Now()
				c := w.send(tt.method, tt.path, tt.body)
				synctest.Wait()
				if code := w.status("GET", "/sessions/other/history", ""); code != http.StatusOK || time.Since(begun) > 0 {
					t.Errorf("another session: status %d after %v", code, time.Since(begun))
				}
				time.Sleep(writeTimeout + time.Second)
				if code := w.status("GET", "/sessions/s/history", ""); code != http.StatusOK || time.Since(begun) > writeTimeout+2*time.Second {
					t.Errorf("the session afterwards: status %d after %v", code, time.Since(begun))
				}
				if n, err := io.Copy(io.Discard, c); n > 0 || err != nil {
					t.Errorf("the connection afterwards: %d bytes, %v", n, err)
				}
				c.Close()
			})
		})
	}
}

// TestHungServer: a turn that the server never ends holds up its session alone, and ends some time
// after its client has gone away, or after an hour.
func TestHungServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leaves bool
		ends   time.Duration
	}{"the client waits": {false, turnTimeout}, "the client goes away": {true, goneTimeout}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := 0
				w := newSlowWorld(t, func(r *http.Request, session string) (string, error) {
					if turns++; session == "s" && turns == 1 {
						<-r.Context().Done()
						return "", r.Context().Err()
					}
					return "event: turn_start\ndata: {}\n\nevent: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n", nil
				})
				begun := time.Now()
				c := w.send("POST", "/sessions/s/turns", userTurn("message"))
				synctest.Wait()
				if code := w.status("POST", "/sessions/other/turns", userTurn("message")); code != http.StatusOK || time.Since(begun) > 0 {
					t.Errorf("another session: status %d after %v", code, time.Since(begun))
				}
				if tt.leaves {
					c.Close()
				}
				if code := w.status("POST", "/sessions/s/turns", userTurn("message")); code != http.StatusConflict {
					t.Errorf("a second turn of the session: status %d", code)
				}
				if !tt.leaves {
					res, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err != nil || res.StatusCode != http.StatusBadGateway {
						t.Errorf("%+v, %v", res, err)
					}
					c.Close()
				}
				time.Sleep(time.Until(begun.Add(tt.ends + time.Second)))
				if code := w.status("POST", "/sessions/s/turns", userTurn("message")); code != http.StatusOK || time.Since(begun) > tt.ends+2*time.Second {
					t.Errorf("the session afterwards: status %d after %v", code, time.Since(begun))
				}
			})
		})
	}
}
