package mcp

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// eventReader reads the server-sent events of one stream
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type eventReader struct {
	r           *bufio.Reader
	begun       bool
	afterReturn bool // the byte before was a carriage return
	// lastID is the id of the last event that had one, "" if none had, or none that can be sent
	// back.
	lastID string
	retry  time.Duration // how long to wait before the stream is opened again, 0 if it was not said
}

// event is an event with data.
type event struct {
	name string // "" for none
	data []byte // its lines, with a newline between them
	long bool   // there is too much data, which was not kept
	some bool   // there was a line of data
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next event that has data; what others say is kept. An event that the stream
// ends in is none.
func (e *eventReader) next() (event, error) {
	var ev event
	var id []byte
	hasID := false
	for n := 0; ; {
		line, long, err := e.line(&n)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if hasID {
				e.lastID = string(id)
			}
			if len(ev.data) > 0 || ev.long {
				return ev, nil
			}
			ev, hasID, n = event{}, false, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			ev.add(value, long)
		case "event":
			ev.name = string(value[:min(len(value), maxID)])
		case "id":
			if id, hasID = value, true; !isHeader(value) {
				id = nil
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// add adds a line of data.
func (ev *event) add(line []byte, long bool) {
	ev.long = ev.long || long || len(ev.data)+1+len(line) > maxLine
	switch {
	case ev.long:
		ev.data = nil
	case !ev.some:
		ev.data = line
	default:
		ev.data = append(append(ev.data, '\n'), line...)
	}
	ev.some = true
}

// line returns the next line without its end, in memory of its own, or the beginning of one that
// is too long. n counts the bytes of the event.
func (e *eventReader) line(n *int) (line []byte, long bool, err error) {
	if !e.begun {
		e.begun = true
		if c, err := e.r.Peek(1); err == nil && c[0] == "\ufeff"[0] {
			if mark, _ := e.r.Peek(3); string(mark) == "\ufeff" {
				_, _ = e.r.Discard(3)
			}
		}
	}
	line = []byte{}
	for {
		c, err := e.r.ReadByte()
		if err != nil {
			return nil, false, err
		}
		if *n++; *n > maxSkipped {
			return nil, false, errEndless
		}
		second := c == '\n' && e.afterReturn // the second byte of a line's end
		e.afterReturn = c == '\r'
		switch {
		case second:
		case c == '\n', c == '\r':
			return line, long, nil
		case len(line) > maxLine:
			long = true
		default:
			line = append(line, c)
		}
	}
}

// isHeader reports whether a text can be sent in a header as it is: printable ASCII.
func isHeader(text []byte) bool {
	return len(text) > 0 && len(text) <= maxID && !bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}
