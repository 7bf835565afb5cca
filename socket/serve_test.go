package socket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
)

func TestAnswers(t *testing.T) {
	methods := Methods{
		"echo": echo,
		"null": func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) { return nil, nil },
		"fail": now(nil, errors.New("canary-91ab")),
		"ask":  now(nil, fmt.Errorf("deciding: %w", &Error{Code: CodeAsk, Message: "ask the person", Data: strictjson.Value("{ \"a\":\n 1 }")})),
		"early": func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) {
			return nil, &Error{Code: CodeParams, Message: "sessionId is empty"}
		},
		"bad data":   now(nil, &Error{Code: CodeAsk, Message: "x", Data: strictjson.Value(`{"a":`)}),
		"bad result": now(func() {}, nil),
		"nil error":  now(nil, (*Error)(nil)),
		"map":        now(map[string]int{"c": 3, "a": 1, "b": 2}, nil),
	}
	tests := []struct{ name, in, want string }{
		{"raw values are one line", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{ \"n\" :\t12345678901234567890.10 }}",
			`{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890.10}}`},
		{"id as written", `{"jsonrpc":"2.0","id":"\u0061","method":"null"}`, `{"jsonrpc":"2.0","id":"\u0061","result":null}`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"null"}`, `{"jsonrpc":"2.0","id":null,"result":null}`},
		{"carriage return", `{"jsonrpc":"2.0","id":1,"method":"null"}` + "\r", `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"sorted", `{"jsonrpc":"2.0","id":1,"method":"map"}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2,"c":3}}`},
		{"error of the method's", `{"jsonrpc":"2.0","id":1,"method":"ask"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"ask the person","data":{"a":1}}}`},
		{"error of the first phase", `{"jsonrpc":"2.0","id":1,"method":"early"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"sessionId is empty"}}`},
		{"any other error", `{"jsonrpc":"2.0","id":1,"method":"fail"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error; ask the person"}}`},
		{"nil error pointer is no result", `{"jsonrpc":"2.0","id":1,"method":"nil error"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error; ask the person"}}`},
		{"error with bad data", `{"jsonrpc":"2.0","id":1,"method":"bad data"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error; ask the person"}}`},
		{"result that is not JSON", `{"jsonrpc":"2.0","id":1,"method":"bad result"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error; ask the person"}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"canary"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"null"},{"jsonrpc":"2.0","id":2,"method":"null"}]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not read: send one message on each line"}}`},
		{"not JSON", `canary`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"reading message: at byte 0: not valid JSON"}}`},
		{"cancel as a request", `{"jsonrpc":"2.0","id":1,"method":"$/cancel_request","params":{}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`},
	}
	r := serve(t, methods, Options{})
	c := r.dial() // one connection for all: none of them may end it
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			c.write(tt.in + "\n")
			c.want(tt.want)
		})
	}
}

func TestNoAnswer(t *testing.T) {
	var ran atomic.Int32
	count := later(func(context.Context) (any, error) { ran.Add(1); return nil, nil })
	fails := later(func(context.Context) (any, error) { ran.Add(1); return nil, &Error{Code: CodeAsk, Message: "x"} })
	panics := later(func(context.Context) (any, error) { ran.Add(1); panic("x") })
	r := serve(t, Methods{"count": count, "fails": fails, "panics": panics, "null": now(nil, nil)}, Options{})
	c := r.dial()
	for _, in := range []string{
		`{"jsonrpc":"2.0","method":"count","params":{}}`,
		`{"jsonrpc":"2.0","method":"fails"}`,
		`{"jsonrpc":"2.0","method":"panics"}`,
		`{"jsonrpc":"2.0","method":"unknown"}`,
		`{"jsonrpc":"2.0","method":"count","params":[1]}`, // cannot be read, is not called
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request"}`,
		"", " \t\r",
	} {
		c.write(in + "\n")
	}
	eventually.Holds(t, "the notifications ran", func() bool { return ran.Load() == 3 })
	c.write(`{"jsonrpc":"2.0","id":9,"method":"null"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":9,"result":null}`)
}

func TestOversizedThenGood(t *testing.T) {
	r := serve(t, Methods{"echo": echo}, Options{MaxMessage: 1 << 20})
	c := r.dial()
	long := strings.Repeat("x", 3<<20)
	go c.writeAnyway(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"` + long + `"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message too long"}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	// As long as allowed.
	fits := `{"jsonrpc":"2.0","id":3,"method":"echo","params":{"a":"`
	fits += long[:1<<20-len(fits)-3] + `"}}`
	go c.writeAnyway(fits + "\n")
	if got := c.line(); len(got) < 1<<20-100 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":3,"result":`) {
		t.Errorf("answer of %d bytes: %.80s", len(got), got)
	}
}

func TestHalfLineAtEnd(t *testing.T) {
	var ran atomic.Int32
	r := serve(t, Methods{"m": later(func(context.Context) (any, error) { ran.Add(1); return nil, nil })}, Options{})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"m"}`)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.want(`{"jsonrpc":"2.0","id":1,"result":null}`) // also after the client's side is closed
	c.want("")
	if ran.Load() != 1 {
		t.Errorf("%d methods ran, want 1", ran.Load())
	}
}

func TestManyAtOnceAsTheyComplete(t *testing.T) {
	const n = 100
	var gates [n]chan struct{}
	for i := range gates {
		gates[i] = make(chan struct{})
	}
	var order []int // first phases; only touched on the reading goroutine
	r := serve(t, Methods{"m": func(c *Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		obj, err := strictjson.ParseObject(params)
		if err != nil {
			return nil, err
		}
		raw, _ := obj.Get("i")
		i, err := strconv.Atoi(string(raw))
		if err != nil {
			return nil, err
		}
		order = append(order, i)
		return func(context.Context) (any, error) { <-gates[i]; return i, nil }, nil
	}}, Options{maxInFlight: n})
	c := r.dial()
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"i":%d}}`+"\n", i, i)
	}
	c.write(all.String())
	for i := n - 1; i >= 0; i-- {
		close(gates[i])
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%d}`, i, i))
	}
	if !slices.IsSorted(order) || len(order) != n {
		t.Errorf("first phases ran in the order %v", order)
	}
}

func TestInFlightLimitSlowsReading(t *testing.T) {
	var running, most atomic.Int32
	gate := make(chan struct{})
	r := serve(t, Methods{"m": later(func(context.Context) (any, error) {
		for n := running.Add(1); ; {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		<-gate
		running.Add(-1)
		return nil, nil
	})}, Options{maxInFlight: 3})
	c := r.dial()
	for i := range 20 {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i))
	}
	eventually.Holds(t, "three run", func() bool { return running.Load() == 3 })
	close(gate)
	for range 20 {
		if got := c.line(); !strings.Contains(got, `"result":null`) {
			t.Fatalf("answer %s", got)
		}
	}
	if most.Load() != 3 {
		t.Errorf("%d ran at once, want 3", most.Load())
	}
}

func TestIDInUse(t *testing.T) {
	gate := make(chan struct{})
	r := serve(t, Methods{"m": later(func(context.Context) (any, error) { <-gate; return nil, nil })}, Options{})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id is in use by a request that is not answered yet"}}`)
	close(gate)
	c.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	eventually.Holds(t, "the id is free again", func() bool {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n")
		return c.line() == `{"jsonrpc":"2.0","id":1,"result":null}`
	})
}

func TestCancelRequest(t *testing.T) {
	started := make(chan struct{}, 1)
	r := serve(t, Methods{"wait": later(func(ctx context.Context) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})}, Options{})
	c := r.dial()
	c.write(`{"jsonrpc":"2.0","id":"a","method":"wait"}` + "\n")
	<-started
	c.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"b"}}` + "\n")
	c.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a","RequestId":"a"}}` + "\n")
	c.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":"a","error":{"code":-32800,"message":"request cancelled"}}`)
}

type panicsInMarshal struct{}

func (panicsInMarshal) MarshalJSON() ([]byte, error) { panic("canary-77aa") }

func TestPanicIsAnError(t *testing.T) {
	var log strings.Builder
	var mu sync.Mutex
	methods := Methods{
		"first":   func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) { panic("canary-77aa") },
		"second":  later(func(context.Context) (any, error) { panic("canary-77aa") }),
		"runtime": later(func(context.Context) (any, error) { var p *Conn; return p.ID, nil }),
		"goexit":  later(func(context.Context) (any, error) { runtime.Goexit(); return "allow", nil }),
		"marshal": now(panicsInMarshal{}, nil),
		"null":    now(nil, nil),
	}
	r := serve(t, methods, Options{Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
	c := r.dial()
	for _, m := range []string{"first", "second", "runtime", "goexit", "marshal"} {
		c.write(`{"jsonrpc":"2.0","id":"` + m + `","method":"` + m + `"}` + "\n")
		c.want(`{"jsonrpc":"2.0","id":"` + m + `","error":{"code":-32603,"message":"internal error; ask the person"}}`)
	}
	c.write(`{"jsonrpc":"2.0","id":1,"method":"null"}` + "\n")
	c.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "serve_test.go") || !strings.Contains(log.String(), "nil pointer") {
		t.Errorf("the log has no stack or no reason: %.300s", log.String())
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log repeats the panic's value")
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  *strings.Builder
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestPeerAndConnState(t *testing.T) {
	type key struct{}
	closed := make(chan uint64, 2)
	var seen []decisions.Peer
	r := serve(t, Methods{"m": func(c *Conn, _ strictjson.Value) (func(context.Context) (any, error), error) {
		n := c.Value(key{}, func() any {
			c.OnClose(func() { closed <- c.ID })
			c.OnClose(func() { panic("one that panics keeps none of the others") })
			return new(int)
		}).(*int)
		*n++
		seen = append(seen, c.Peer)
		count := *n
		return func(context.Context) (any, error) { return count, nil }, nil
	}}, Options{})
	var ids []uint64
	for range 2 {
		c := r.dial()
		for i := range 3 {
			c.write(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n")
			c.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":%d}`, i+1))
		}
		_ = c.Close()
		select {
		case id := <-closed:
			ids = append(ids, id)
		case <-time.After(eventually.Limit):
			t.Fatal("OnClose was not called")
		}
	}
	if ids[0] == ids[1] {
		t.Errorf("two connections have the id %d", ids[0])
	}
	want := decisions.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}
	for _, p := range seen {
		if p != want {
			t.Errorf("peer is %+v, want %+v", p, want)
		}
	}
}

func TestAdmit(t *testing.T) {
	t.Run("default", func(t *testing.T) {
		for uid, ok := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, 54321: false, 65534: false} {
			if err := AdmitSelf(decisions.Peer{UID: uid}); (err == nil) != ok {
				t.Errorf("uid %d: %v", uid, err)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		r := serve(t, Methods{"null": now(nil, nil)}, Options{Admit: func(decisions.Peer) error { return errors.New("no") }})
		c := r.dial()
		c.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this user may not use this socket; ask the person"}}`)
		c.want("")
	})
	t.Run("peer unknown", func(t *testing.T) {
		r := serve(t, Methods{"null": now(nil, nil)}, Options{
			Admit: func(decisions.Peer) error { return nil },
			peer:  func(net.Conn) (decisions.Peer, error) { return decisions.Peer{}, errors.New("no") },
		})
		r.dial().want("")
	})
}
