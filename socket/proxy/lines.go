package proxy

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// MaxLine is how long a line may be, in bytes.
const MaxLine = 32 << 20

// ErrLong is about a line that was too long to be looked at.
var ErrLong = errors.New("the message is longer than 32 MiB")

// lines cuts a stream into lines with their newlines. Each is a slice of its
// own, for it is kept until it is written.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, 64<<10), MaxLine} }

// next returns the next line. ErrLong is about one line, which is skipped; every
// other error is the end, and may come with a line that has no newline.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > l.max+1 {
			return nil, l.skip(err)
		}
		if line != nil && cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(2*len(line), len(part))) // a long one is copied a few times at most
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil {
		return err
	}
	return ErrLong
}
