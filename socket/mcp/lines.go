package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// maxLine is how long a message may be, in bytes.
const maxLine = 32 << 20

// maxSkipped is how long a message may be that is not passed on, in bytes. A stream with a
// longer one is not read any further.
const maxSkipped = 4 * maxLine

// Errors of a message that is too long.
var (
	errLong    = errors.New("the message is longer than 32 MiB")
	errEndless = errors.New("a message is longer than 128 MiB")
)

// readLine returns the next line without its newline, in memory of its own, or the outline of
// one that is too long: it is skipped, and the next one can be read. What comes before the end
// of the stream without a newline is no message.
func readLine(r *bufio.Reader) (line []byte, long *outline, err error) {
	for n := 0; ; {
		part, err := r.ReadSlice('\n')
		n += len(part)
		switch {
		case n > maxSkipped:
			return nil, nil, errEndless
		case long != nil:
			_, _ = long.Write(part)
		case n > maxLine:
			long = new(outline)
			_, _ = long.Write(line)
			_, _ = long.Write(part)
			line = nil
		default:
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, nil, err
		case long != nil:
			return nil, long, nil
		}
		return line[:len(line)-1], nil, nil
	}
}

// Bounds of the wait for a peer that does not read, where its stream can be interrupted.
const (
	writeTimeout = 10 * time.Minute // a person may have stopped it in a debugger
	lastTimeout  = 5 * time.Second  // once the conversation has ended
)

// writer writes whole messages to a peer. After a message of which only a part could be
// written there is no other: the peer would read both as one.
type writer struct {
	w       io.Writer
	ended   atomic.Bool
	turn    chan struct{} // holds one while somebody writes
	err     error         // of the last write
	onError func(error)   // is called with it
}

func newWriter(w io.Writer, onError func(error)) *writer {
	return &writer{w: w, turn: make(chan struct{}, 1), onError: onError}
}

func (w *writer) write(text []byte) error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.err != nil {
		return w.err
	}
	w.interrupt(writeTimeout)
	if w.ended.Load() {
		w.interrupt(lastTimeout)
	}
	if _, err := w.w.Write(text); err != nil {
		w.err = fmt.Errorf("passing on a message: %w", err)
		w.onError(w.err)
	}
	return w.err
}

// end bounds the time of what is still written.
func (w *writer) end() {
	w.ended.Store(true)
	w.interrupt(lastTimeout)
}

// interrupt ends writing after some time.
func (w *writer) interrupt(after time.Duration) {
	if d, ok := w.w.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(after)) // a file has none, and does not block
	}
}
