package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// bufferSize has room for the longest line that is echoed; bufferClient for most answers.
const (
	bufferSize   = 2 << 20
	bufferClient = 64 << 10
)

// patience is how long a client waits for an answer. It says nothing of speed.
const patience = time.Minute

// connection is a client's end of a connection: it sends one request and reads its answer.
// It allocates nothing for a request, so that the garbage of this process is in no
// measurement.
type connection struct {
	conn   net.Conn
	reader *bufio.Reader
	http   bool
	body   []byte // the last answer, if it was in several pieces
}

func dial(socket string, overHTTP bool) (*connection, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, reader: bufio.NewReaderSize(conn, bufferClient), http: overHTTP}, nil
}

// roundTrip sends a request and returns the answer, which is valid until the next one.
func (c *connection) roundTrip(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	if c.http {
		return c.readHTTP()
	}
	answer, err := c.reader.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return answer, err
	}
	c.body = c.body[:0]
	for ; errors.Is(err, bufio.ErrBufferFull); answer, err = c.reader.ReadSlice('\n') {
		c.body = append(c.body, answer...)
	}
	c.body = append(c.body, answer...)
	return c.body, err
}

var (
	headerLength  = []byte("content-length:")
	headerChunked = []byte("transfer-encoding: chunked")
	statusOK      = []byte("HTTP/1.1 200 ")
)

// readHTTP reads an answer over HTTP. It reads no more of HTTP than it needs: what a
// client costs is not what is compared.
func (c *connection) readHTTP() ([]byte, error) {
	status, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	ok := bytes.HasPrefix(status, statusOK)
	length, chunked := 0, false
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if len(line) > len(headerLength) && bytes.EqualFold(line[:len(headerLength)], headerLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(headerLength):]))); err != nil {
				return nil, err
			}
		}
		chunked = chunked || bytes.EqualFold(line, headerChunked)
	}
	if chunked {
		if c.body, err = io.ReadAll(httputil.NewChunkedReader(c.reader)); err == nil {
			_, err = c.reader.ReadSlice('\n') // what follows the last chunk
		}
	} else {
		c.body = append(c.body[:0], make([]byte, length)...)
		_, err = io.ReadFull(c.reader, c.body)
	}
	if err == nil && !ok {
		err = fmt.Errorf("not answered with 200: %.200s", c.body)
	}
	return c.body, err
}

// drive sends requests one after the other until the time is over, or it has sent most of
// them, and returns how long each took. Each answer must contain want.
func (c *connection) drive(next func([]byte) []byte, want []byte, until time.Time, most int, took []time.Duration) ([]time.Duration, error) {
	if err := c.conn.SetDeadline(until.Add(patience)); err != nil {
		return took, err
	}
	var request []byte
	for n := 0; n < most; n++ {
		request = next(request[:0])
		start := time.Now()
		answer, err := c.roundTrip(request)
		end := time.Now()
		if err != nil {
			return took, fmt.Errorf("waiting for an answer: %w", err)
		}
		took = append(took, end.Sub(start))
		if !bytes.Contains(answer, want) {
			return took, fmt.Errorf("%w: to %.600s\nit is %.900s", errWrongAnswer, request, answer)
		}
		if end.After(until) {
			break
		}
	}
	return took, nil
}

// errWrongAnswer means that what was measured is not what was meant.
var errWrongAnswer = errors.New("an answer is not the one that is measured")
