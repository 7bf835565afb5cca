package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// TestPost tests that calls are written as they come, and that each answer and error
// reaches its call alone, once.
func TestPost(t *testing.T) {
	lines := make(chan string, 10)
	c := connect(t, func(line string) string {
		lines <- line
		id := string(strictjson.Find(strictjson.Value(line), "id"))
		switch {
		case strings.Contains(line, `"fails"`):
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32050,"message":"ask"}}` + "\n"
		case strings.Contains(line, `"works"`):
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"of":` + id + `}}` + "\n"
		}
		return ""
	})
	got := make(chan string, 10)
	answered := func(name string) func(strictjson.Value, error) {
		return func(result strictjson.Value, err error) { got <- fmt.Sprintf("%s: %s, %v", name, result, err) }
	}
	until := time.Now().Add(time.Minute)
	for i, name := range []string{"works", "fails", "never"} {
		id, err := c.Post(until, name, strictjson.Value(`{"a":1}`), answered(name))
		if err != nil || id != uint64(i+1) {
			t.Fatal(id, err)
		}
	}
	if _, err := c.Post(until, "news", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"works","id":1,"params":{"a":1}}`, `{"jsonrpc":"2.0","method":"fails","id":2,"params":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"never","id":3,"params":{"a":1}}`, `{"jsonrpc":"2.0","method":"news"}`,
	} {
		if line := <-lines; line != want {
			t.Errorf("sent %s\nwant %s", line, want)
		}
	}
	for _, want := range []string{`works: {"of":1}, <nil>`, `fails: null, ask`} {
		if have := <-got; have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
	c.Close()
	if have := <-got; !strings.HasPrefix(have, "never: null, permd is not reachable: ") {
		t.Error(have)
	}
	if _, err := c.Post(until, "late", nil, answered("late")); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("answered twice, or after an error: %s", <-got)
	}
}

// TestPostRefused tests that an error about the whole connection reaches a call that is
// being written only then, and not besides an error of Post.
func TestPostRefused(t *testing.T) {
	for _, written := range []bool{true, false} {
		c := &Client{pending: map[uint64]*pendingCall{}}
		calls := 0
		w := &pendingCall{done: func(strictjson.Value, error) { calls++ }, sent: written}
		if _, err := c.register(w); err != nil {
			t.Fatal(err)
		}
		if err := c.deliver([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`)); err != nil {
			t.Fatal(err)
		}
		if (calls == 1) != written || (w.early == nil) != written || len(c.pending) > 0 {
			t.Errorf("written %v: called %d times, keeps %v", written, calls, w.early)
		}
	}
}

// TestPostDeadline tests that a call that permd does not read ends in time, with the
// others on its connection.
func TestPostDeadline(t *testing.T) {
	path := filepath.Join(shortDir(t), "permd.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := Dial(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := make(chan error, 1)
	if _, err := c.Post(time.Now().Add(time.Minute), "first", nil, func(_ strictjson.Value, err error) { failed <- err }); err != nil {
		t.Fatal(err)
	}
	long := strictjson.Value(`"` + strings.Repeat("x", 8<<20) + `"`)
	_, err = c.Post(time.Now().Add(10*time.Millisecond), "second", long, func(strictjson.Value, error) { t.Error("answered after an error") })
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	c.Close()
	if err := <-failed; !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}
