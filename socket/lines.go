package socket

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of buffers, in bytes. A connection starts with minBuffer. What it needs above
// keepBuffer counts against what the connection may use, and is returned after the
// message.
const (
	minBuffer  = 8 << 10
	keepBuffer = 64 << 10
)

var (
	errTooLong = errors.New("message too long")
	errNoRoom  = errors.New("this connection uses too much memory: send less at a time")
)

// lines splits a stream into lines and never holds more than max bytes of one.
type lines struct {
	r   io.Reader
	max int // bytes of a line without its newline
	// reserve reserves n bytes, release returns them.
	reserve func(n int) bool
	release func(n int)

	buf        []byte
	start, end int // buf[start:end] has been read and not returned
	scanned    int // there is no newline in buf[start:scanned]
	skipping   bool
	reserved   int
}

// next returns the next line without its newline, valid until the next call. errTooLong
// and errNoRoom concern one line, whose rest is skipped; any other error is final. Data
// after the last newline is not a line.
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
		if !l.makeRoom() {
			return nil, l.skip(errNoRoom)
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// buffered reports whether data after the last returned line has been read.
func (l *lines) buffered() bool { return l.start < l.end }

func (l *lines) skip(err error) error {
	l.skipping = true
	l.start, l.end, l.scanned = 0, 0, 0
	return err
}

// makeRoom makes room in buf for at least one more byte. It returns false if the budget
// is exhausted.
func (l *lines) makeRoom() bool {
	if l.start == l.end {
		l.start, l.end, l.scanned = 0, 0, 0
		if len(l.buf) > keepBuffer {
			l.releaseBuffer()
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

// releaseBuffer drops the buffer and returns its bytes to the budget.
func (l *lines) releaseBuffer() {
	l.buf = nil
	if l.reserved > 0 {
		l.release(l.reserved)
		l.reserved = 0
	}
}
