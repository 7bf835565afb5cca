package client

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// FuzzDeliver: an answer reaches only the call that it names, once. What is not one strict
// answer is never a result.
func FuzzDeliver(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"ask"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":01,"result":1}`, `{"jsonrpc":"2.0","id":1,"id":2,"result":1}`, `{"jsonrpc":"2.0","id":"1","result":1}`, `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"Result":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":null}`, ` `, `{}`, `[]`, `{"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":+1,"result":1}`, `{"jsonrpc":"2.0","id":1.0,"result":1}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c := &Client{pending: map[uint64]*pendingCall{1: {answer: make(chan reply, 1)}, 2: {answer: make(chan reply, 1)}}}
		chans := []chan reply{nil, c.pending[1].answer, c.pending[2].answer}
		if err := c.deliver(line); err != nil && len(c.pending) != 2 {
			t.Fatal("a line that cannot be read answers a call")
		}
		results := 0
		for id, answer := range chans {
			if answer == nil {
				continue
			}
			_, waits := c.pending[uint64(id)]
			if waits == (len(answer) == 1) || len(answer) > 1 {
				t.Fatalf("call %d waits: %v, and has %d answers", id, waits, len(answer))
			}
			if len(answer) == 0 {
				continue
			}
			r := <-answer
			if (r.result == nil) == (r.err == nil) {
				t.Fatalf("call %d: %s, %v", id, r.result, r.err)
			}
			if r.err != nil {
				continue
			}
			results++
			o, err := strictjson.ParseObject(line)
			if err != nil {
				t.Fatalf("the result of %q, which is no object", line)
			}
			named, _ := o.Get("id")
			if want := "12"[id-1 : id]; string(named) != want {
				t.Fatalf("call %d is answered with the result of %s", id, named)
			}
			if _, failed := o.Get("error"); failed && bytes.Contains(line, []byte(`"error":{`)) {
				t.Fatalf("an error is a result: %s", line)
			}
			_, _ = ReadHello(r.result)
		}
		if results > 1 {
			t.Fatal("one line is the result of two calls")
		}
	})
}

// FuzzReadLine: lines are what is between newlines, and none is longer than the limit.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nb\n"), uint16(2))
	f.Add(bytes.Repeat([]byte("x"), 40_000), uint16(30_000))
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		var read []byte
		for {
			line, err := readLine(r, int(limit))
			if err != nil {
				rest := data[len(read):]
				if n := bytes.IndexByte(rest, '\n'); errors.Is(err, errAnswerTooLong) && n >= 0 && n < int(limit) {
					t.Fatalf("a line of %d bytes is too long", n)
				}
				return
			}
			if len(line) > int(limit) || bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Fatalf("a line of %d bytes, the limit is %d", len(line), limit)
			}
			if read = append(read, line...); !bytes.HasPrefix(data, read) {
				t.Fatal("the lines are not those of the stream")
			}
		}
	})
}
