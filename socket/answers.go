package socket

import (
	"net"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

// maxPending is how many bytes of answers wait for the one that is being
// written. Above it, whoever has an answer waits too.
const maxPending = 256 << 10

// answers writes a connection's answers, one at a time and whole. There is no
// goroutine for it: whoever has an answer while nobody writes, writes, and goes
// on with what others have left meanwhile. So an answer costs one system call,
// and many at once share one.
type answers struct {
	conn net.Conn
	fail func(error) // called when a write has failed

	mu      sync.Mutex
	timeout time.Duration // of one write
	changed sync.Cond     // pending was taken, or writing or err has changed
	pending []byte
	spare   []byte // the other buffer
	writing bool
	err     error
}

func newAnswers(c net.Conn, timeout time.Duration, fail func(error)) *answers {
	a := &answers{conn: c, timeout: timeout, fail: fail}
	a.changed.L = &a.mu
	return a
}

// send writes one answer: the body is the value of its member "result" or
// "error". An answer that cannot be written is dropped, with its connection. A
// long answer is left to nobody else, so that it is written when send returns.
func (a *answers) send(id strictjson.Value, member string, body []byte) {
	a.mu.Lock()
	for a.err == nil && (len(a.pending) > maxPending || a.writing && len(body) > keepBuffer) {
		a.changed.Wait()
	}
	if a.err != nil {
		a.mu.Unlock()
		return
	}
	a.pending = appendAnswer(a.pending, id, member, body)
	if a.writing {
		a.mu.Unlock()
		return
	}
	a.writing = true
	for len(a.pending) > 0 && a.err == nil {
		buf, timeout := a.pending, a.timeout
		a.pending, a.spare = a.spare[:0], nil
		a.changed.Broadcast()
		a.mu.Unlock()
		err := a.write(buf, timeout)
		a.mu.Lock()
		if cap(buf) <= keepBuffer {
			a.spare = buf[:0]
		}
		a.err = err
	}
	a.writing = false
	a.changed.Broadcast()
	err := a.err
	a.mu.Unlock()
	if err != nil {
		a.fail(err)
	}
}

// write is bounded as a whole: a client that reads one byte now and then does
// not hold it up.
func (a *answers) write(b []byte, timeout time.Duration) error {
	if err := a.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := a.conn.Write(b)
	return err
}

// flush waits until all that was sent is written, or cannot be.
func (a *answers) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.writing {
		a.changed.Wait()
	}
}

// shortenTimeout shortens the time for this write and those to come.
func (a *answers) shortenTimeout(timeout time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timeout = min(a.timeout, timeout)
	_ = a.conn.SetWriteDeadline(time.Now().Add(a.timeout))
}

func appendAnswer(b []byte, id strictjson.Value, member string, body []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = append(b, body...)
	return append(b, "}\n"...)
}

// appender is a result that knows its JSON form better than the JSON library,
// which takes as long to look at a decision as it takes to make one. What it
// appends is one line.
type appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// encode is a result in JSON.
func encode(result any) ([]byte, error) {
	if a, ok := result.(appender); ok {
		const usual = 1 << 10
		return a.AppendJSON(make([]byte, 0, usual))
	}
	return marshal(result)
}

// marshal is one line: the encoder writes no white space, and takes it out of
// raw values.
func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
