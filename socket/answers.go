package socket

import (
	"net"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

// maxPending bounds the bytes of answers that are queued while another is being written.
// Above it, send blocks.
const maxPending = 64 << 10

// answers writes the answers of a connection, one at a time. It has no goroutine of its
// own: a sender that finds nobody writing writes its own answer, and then those that
// were queued meanwhile. So an answer takes one system call, and concurrent answers
// share one.
type answers struct {
	conn   net.Conn
	onFail func(error) // called when a write has failed

	mu          sync.Mutex
	timeout     time.Duration // of one write
	changed     sync.Cond     // signalled when pending was taken, or writing or err has changed
	pending     []byte
	spareBuffer []byte // swapped with pending
	writing     bool
	err         error
}

func newAnswers(c net.Conn, timeout time.Duration, fail func(error)) *answers {
	a := &answers{conn: c, timeout: timeout, onFail: fail}
	a.changed.L = &a.mu
	return a
}

// send writes an answer with body as its member "result" or "error". If writing fails,
// the connection is dropped. A long answer is not queued: it has been written when send
// returns.
func (a *answers) send(id strictjson.Value, member string, body []byte) {
	if a.lockFor(len(body)) {
		a.pending = appendAnswer(a.pending, id, member, body)
		a.writePending()
	}
}

// notify writes a notification, as send does an answer.
func (a *answers) notify(method string, params []byte) {
	if a.lockFor(len(params)) {
		a.pending = append(append(a.pending, `{"jsonrpc":"2.0","method":"`...), method...)
		a.pending = append(append(append(a.pending, `","params":`...), params...), "}\n"...)
		a.writePending()
	}
}

// lockFor takes the lock when there is room for a message of that size. After an error it
// returns false, without the lock.
func (a *answers) lockFor(size int) bool {
	a.mu.Lock()
	for a.err == nil && (len(a.pending) > maxPending || a.writing && size > keepBuffer) {
		a.changed.Wait()
	}
	if a.err != nil {
		a.mu.Unlock()
		return false
	}
	return true
}

// writePending writes what is queued, unless somebody does already, and releases the lock.
func (a *answers) writePending() {
	if a.writing {
		a.mu.Unlock()
		return
	}
	a.writing = true
	for len(a.pending) > 0 && a.err == nil {
		buf, timeout := a.pending, a.timeout
		a.pending, a.spareBuffer = a.spareBuffer[:0], nil
		a.changed.Broadcast()
		a.mu.Unlock()
		err := a.write(buf, timeout)
		a.mu.Lock()
		if cap(buf) <= keepBuffer {
			a.spareBuffer = buf[:0]
		}
		a.err = err
	}
	a.writing = false
	a.changed.Broadcast()
	err := a.err
	a.mu.Unlock()
	if err != nil {
		a.onFail(err)
	}
}

// write uses one timeout for all bytes, so that a client cannot delay it by reading
// slowly.
func (a *answers) write(b []byte, timeout time.Duration) error {
	if err := a.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := a.conn.Write(b)
	return err
}

// flush waits until all queued answers are written or the connection has failed.
func (a *answers) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.writing {
		a.changed.Wait()
	}
}

// shortenTimeout shortens the timeout of the current write and of later ones.
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

// appender is a result that encodes itself, on one line. The JSON library needs as much
// time to encode a decision as permd needs to make it.
type appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// encodeBuffers are buffers for answers that encode themselves. An answer is copied to
// those that are written, so its buffer is used again when it was finished.
type encodeBuffers struct {
	pool   sync.Pool
	poison func([]byte) // called with each buffer that is given back; nil except in tests
}

// get returns an empty buffer.
func (e *encodeBuffers) get() *[]byte {
	if b, ok := e.pool.Get().(*[]byte); ok {
		return b
	}
	const usual = 4 << 10
	b := make([]byte, 0, usual)
	return &b
}

// put takes a buffer back whose content nobody reads any more. Large ones are dropped.
func (e *encodeBuffers) put(b *[]byte) {
	if e.poison != nil {
		e.poison(*b)
	}
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		e.pool.Put(b)
	}
}

// encode encodes a result as JSON, in buf if it encodes itself.
func encode(result any, buf *[]byte) ([]byte, error) {
	a, ok := result.(appender)
	if !ok {
		return marshal(result)
	}
	body, err := a.AppendJSON(*buf)
	*buf = body
	return body, err
}

// marshal encodes v on one line: the encoder adds no white space and removes it from raw
// values.
func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
