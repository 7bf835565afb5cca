package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/permd/permd/internal/strictjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortDir returns a private folder whose path is short enough for sockets in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// daemon is a fake permd: it answers each line with what say returns, one or
// more lines or none.
func daemon(t *testing.T, path string, say func(line string) string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					answer := say(strings.TrimSuffix(line, "\n"))
					if answer == "close" {
						return
					}
					if _, err := c.Write([]byte(answer)); err != nil {
						return
					}
				}
			})
		}
	})
}

func connect(t *testing.T, say func(string) string) *Client {
	t.Helper()
	path := filepath.Join(shortDir(t), "permd.sock")
	daemon(t, path, say)
	c, err := Dial(t.Context(), path, Options{maxAnswer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestCall(t *testing.T) {
	var asked []string
	c := connect(t, func(line string) string {
		asked = append(asked, line)
		return fmt.Sprintf("\n"+`{"jsonrpc":"2.0","method":"permd/news"}`+"\n"+
			`{"jsonrpc":"2.0","id":4711,"result":"another's"}`+"\n"+
			`{"jsonrpc":"2.0","id":%d,"result":{"verdict":"deny","n":12345678901234567890}}`+"\n", len(asked))
	})
	var got struct {
		Verdict string           `json:"verdict"`
		N       strictjson.Value `json:"n"`
	}
	if err := c.Call(t.Context(), "permd/decide", map[string]int{"b": 1, "a": 2}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != "deny" || string(got.N) != "12345678901234567890" {
		t.Errorf("result %+v", got)
	}
	var raw strictjson.Value
	if err := c.Call(t.Context(), "x", nil, &raw); err != nil || string(raw) != `{"verdict":"deny","n":12345678901234567890}` {
		t.Errorf("raw result %s, %v", raw, err)
	}
	if err := c.Call(t.Context(), "x", nil, nil); err != nil {
		t.Error(err)
	}
	for i, want := range []string{
		`{"jsonrpc":"2.0","method":"permd/decide","id":1,"params":{"a":2,"b":1}}`,
		`{"jsonrpc":"2.0","method":"x","id":2}`,
	} {
		if asked[i] != want {
			t.Errorf("request\n got %s\nwant %s", asked[i], want)
		}
	}
}

func TestCallConcurrently(t *testing.T) {
	c := connect(t, func(line string) string {
		_, id, _ := strings.Cut(line, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		_, params, _ := strings.Cut(line, `"params":`)
		return `{"jsonrpc":"2.0","id":` + id + `,"result":` + strings.TrimSuffix(params, "}") + "}\n"
	})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				want := i*1000 + j
				var got map[string]int
				if err := c.Call(t.Context(), "echo", map[string]int{"n": want}, &got); err != nil || got["n"] != want {
					t.Errorf("got %v, %v, want %d", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, answer string
		code         int    // of permd's error
		says         string // of any other
		unreachable  bool
	}{
		{name: "permd's error", answer: `{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"ask the person","data":{"verdict":"ask"}}}`, code: -32050},
		{name: "error without an id", answer: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`, code: -32600},
		{name: "result of another shape", answer: `{"jsonrpc":"2.0","id":1,"result":{"verdict":7}}`, says: "reading permd's answer"},
		{name: "near-miss in the result", answer: `{"jsonrpc":"2.0","id":1,"result":{"Verdict":"allow"}}`, says: "differs from a known one"},
		{name: "near-miss of the result", answer: `{"jsonrpc":"2.0","id":1,"Result":{"verdict":"allow"}}`, says: "differs from a known one", unreachable: true},
		{name: "two results", answer: `{"jsonrpc":"2.0","id":1,"result":{"verdict":"deny"},"result":{"verdict":"allow"}}`, says: "duplicate", unreachable: true},
		{name: "result and error", answer: `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`, says: "neither a result nor an error", unreachable: true},
		{name: "no version", answer: `{"id":1,"result":{}}`, says: "neither a result nor an error", unreachable: true},
		{name: "not JSON", answer: `hello`, says: "not valid JSON", unreachable: true},
		{name: "too long", answer: `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 1<<20) + `"}`, says: "too long", unreachable: true},
		{name: "hangs up", answer: "close", says: "ended", unreachable: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := connect(t, func(string) string {
				if tt.answer == "close" {
					return tt.answer
				}
				return tt.answer + "\n"
			})
			got := struct {
				Verdict string `json:"verdict"`
			}{"untouched"}
			err := c.Call(t.Context(), "m", nil, &got)
			if err == nil {
				t.Fatalf("no error, result %+v", got)
			}
			e, ok := errors.AsType[*Error](err)
			if ok != (tt.code != 0) || ok && e.Code != tt.code {
				t.Errorf("error %v, want code %d", err, tt.code)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if errors.Is(err, ErrUnreachable) != tt.unreachable {
				t.Errorf("error %v, want unreachable %v", err, tt.unreachable)
			}
			if tt.unreachable {
				if err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrUnreachable) {
					t.Errorf("the next call: %v", err)
				}
			}
		})
	}
}

func TestTurnedAway(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = c.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32051,"message":"too many connections; ask the person"}}` + "\n"))
			c.Close()
		}
	}()
	c, err := Dial(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-c.done // also if the connection has ended before the call
	err = c.Call(t.Context(), "m", nil, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != -32051 || !errors.Is(err, ErrUnreachable) {
		t.Errorf("error is %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	t.Run("waiting", func(t *testing.T) {
		c := connect(t, func(line string) string {
			if strings.Contains(line, "slow") {
				return ""
			}
			return `{"jsonrpc":"2.0","id":1,"result":"late"}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":"mine"}` + "\n"
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := c.Call(ctx, "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		// The late answer goes to nobody, and the connection still serves.
		var got string
		if err := c.Call(t.Context(), "quick", nil, &got); err != nil || got != "mine" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("writing", func(t *testing.T) {
		path := filepath.Join(shortDir(t), "permd.sock")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close() // never accepts, never reads
		c, err := Dial(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err = c.Notify(ctx, "m", strings.Repeat("x", 16<<20))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("over before", func(t *testing.T) {
		c := connect(t, func(string) string { return "" })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Call(ctx, "m", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestNotify(t *testing.T) {
	got := make(chan string, 1)
	c := connect(t, func(line string) string { got <- line; return "" })
	if err := c.Notify(t.Context(), "session/update", map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if line := <-got; line != `{"jsonrpc":"2.0","method":"session/update","params":{"a":1}}` {
		t.Errorf("sent %s", line)
	}
}

// TestSilentDaemon: a caller without a deadline does not wait forever.
func TestSilentDaemon(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	daemon(t, path, func(string) string { return "\n" })
	c, err := Dial(t.Context(), path, Options{Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Call(t.Context(), "m", nil, nil)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Errorf("error is %v", err)
	}
}
