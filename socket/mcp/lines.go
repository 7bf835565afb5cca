package mcp

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// maxLine is how long a message may be, in bytes.
const maxLine = 32 << 20

// errLong is returned for a message that is too long. It is skipped, and the next one can
// be read.
var errLong = errors.New("the message is longer than 32 MiB")

// readLine returns the next line without its newline, in memory of its own. What comes
// before the end of the stream without a newline is no message.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		}
		return line[:len(line)-1], nil
	}
}

// writer writes whole messages to a peer.
type writer struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *writer) write(text []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(text)
	return err
}
