package proxy

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

// maxLine is how long a line may be, in bytes.
const maxLine = 32 << 20

// errLong is returned for a line that is too long.
var errLong = errors.New("the message is longer than 32 MiB")

const (
	readSize  = 64 << 10 // what a pipe holds
	pieceSize = 16 * readSize
)

// lines splits a stream into lines with their newlines. Each is a slice of its
// own, exactly as long as the line, because it is kept until it is written.
//
// The length of a line is not known in advance. A long one is read in reusable
// pieces and copied once, so that in the end it takes no more memory than its
// length.
type lines struct {
	r    io.Reader
	max  int
	read []byte // readSize long
	rest []byte // its unread part
	err  error

	pieces sync.Pool // long lines are rare, so these may be garbage-collected
}

func newLines(r io.Reader) *lines {
	return &lines{r: r, max: maxLine, read: make([]byte, readSize)}
}

// next returns the next line. errLong is about one line, which is skipped; every
// other error is the end, and may come with a line that has no newline.
func (l *lines) next() ([]byte, error) {
	looked := 0
	for {
		if n := bytes.IndexByte(l.rest[looked:], '\n'); n >= 0 {
			line := slices.Clone(l.rest[:looked+n+1])
			l.rest = l.rest[looked+n+1:]
			return line, nil
		}
		looked = len(l.rest)
		if l.err != nil {
			line := slices.Clone(l.rest)
			l.rest = nil
			return line, l.err
		}
		if looked == len(l.read) {
			return l.long()
		}
		copy(l.read, l.rest)
		n, err := l.r.Read(l.read[looked:])
		l.rest, l.err = l.read[:looked+n], err
	}
}

// long returns a line of which l.read is full.
func (l *lines) long() ([]byte, error) {
	piece := l.piece()
	pieces := [][]byte{append(piece, l.rest...)}
	size := len(l.rest)
	l.rest = nil
	end := false
	for !end && l.err == nil {
		last := &pieces[len(pieces)-1]
		if cap(*last) == len(*last) {
			if size > l.max { // it is too long, and only its end is of interest
				*last = (*last)[:0]
			} else {
				pieces = append(pieces, l.piece())
				last = &pieces[len(pieces)-1]
			}
		}
		have := len(*last)
		var n int
		n, l.err = l.r.Read((*last)[have:min(have+readSize, cap(*last))])
		read := (*last)[have : have+n]
		if i := bytes.IndexByte(read, '\n'); i >= 0 {
			l.rest = l.read[:copy(l.read, read[i+1:])]
			n, end = i+1, true
		}
		*last = (*last)[:have+n]
		size += n
	}
	var line []byte
	err := l.err
	if end {
		err = nil // the error is returned once the rest has been
	}
	switch {
	case size <= l.max+1:
		line = bytes.Join(pieces, nil)
	case end:
		err = errLong
	}
	for _, p := range pieces {
		l.pieces.Put((*[pieceSize]byte)(p[:pieceSize]))
	}
	return line, err
}

func (l *lines) piece() []byte {
	if p, ok := l.pieces.Get().(*[pieceSize]byte); ok {
		return p[:0]
	}
	return make([]byte, 0, pieceSize)
}
