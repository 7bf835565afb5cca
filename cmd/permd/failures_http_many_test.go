package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// httpManyWaits: of more requests at once that wait for a person than there are places, each has
// an answer: none has its connection closed without one.
func httpManyWaits(t *testing.T) {
	r := newRawHTTP(t, "")
	const all = 150
	request := fmt.Sprintf("POST /v1/otc/call HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nPrefer: wait=2\r\nContent-Length: %d\r\n\r\n%s",
		r.host, r.c.token, len(waitOTC), waitOTC)
	var conns []net.Conn
	for range all {
		c := r.dial(t)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	statuses := map[int]int{}
	for i, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(eventually.Limit))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
			continue
		}
		res.Body.Close()
		statuses[res.StatusCode]++
	}
	if statuses[200] < 100 || statuses[200]+statuses[503] != all {
		t.Errorf("statuses: %v", statuses)
	}
}
