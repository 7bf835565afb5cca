package socket

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of buffers. A connection starts with minBuffer; what it needs above
// keepBuffer it takes from the budget that all connections share, and gives
// back after the message.
const (
	minBuffer  = 8 << 10
	keepBuffer = 64 << 10
)

var (
	errTooLong = errors.New("message too long")
	errNoRoom  = errors.New("too many long messages at once")
)

// lines cuts a stream into lines without ever holding more than max bytes of
// one.
type lines struct {
	r   io.Reader
	max int // bytes of a line, the newline aside
	// reserve asks for n more bytes of the shared budget, release gives them
	// back.
	reserve func(n int) bool
	release func(n int)

	buf        []byte
	start, end int // what is read and not yet returned
	scanned    int // no newline between start and scanned
	skipping   bool
	reserved   int
}

// next returns the next line without its newline; it is valid until the next
// call. errTooLong and errNoRoom are about one line, whose rest is skipped;
// every other error is the end. What comes after the last newline is no line.
func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			nl := l.scanned + i
			line := l.buf[l.start:nl]
			l.start, l.scanned = nl+1, nl+1
			switch {
			case l.skipping:
				l.skipping = false
				continue
			case len(line) > l.max:
				return nil, errTooLong
			}
			return line, nil
		}
		l.scanned = l.end
		if l.skipping {
			l.start, l.end, l.scanned = 0, 0, 0
		} else if l.end-l.start > l.max {
			return nil, l.skip(errTooLong)
		}
		if !l.room() {
			return nil, l.skip(errNoRoom)
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// waiting reports whether something of a later line was read already.
func (l *lines) waiting() bool { return l.start < l.end }

func (l *lines) skip(err error) error {
	l.skipping = true
	l.start, l.end, l.scanned = 0, 0, 0
	return err
}

// room makes place for at least one more byte.
func (l *lines) room() bool {
	if l.start == l.end {
		l.start, l.end, l.scanned = 0, 0, 0
		if len(l.buf) > keepBuffer {
			l.free()
		}
	}
	if l.buf == nil {
		l.buf = make([]byte, minBuffer)
	}
	if l.end < len(l.buf) {
		return true
	}
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.scanned -= l.start
		l.start = 0
		return true
	}
	size := 2 * len(l.buf)
	if more := size - keepBuffer - l.reserved; more > 0 {
		if !l.reserve(more) {
			return false
		}
		l.reserved += more
	}
	buf := make([]byte, size)
	copy(buf, l.buf[:l.end])
	l.buf = buf
	return true
}

// free gives the buffer back.
func (l *lines) free() {
	l.buf = nil
	if l.reserved > 0 {
		l.release(l.reserved)
		l.reserved = 0
	}
}
