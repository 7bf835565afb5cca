package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// aapHalfBodies: clients with the token that send half a body hold all places for 20 seconds at
// most.
func aapHalfBodies(t *testing.T) {
	d := aapDaemon(t)
	s := newFaultyAAP(t, says("done"))
	address, key := d.startGateway(t, s.front.URL)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for range 128 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /sessions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", u.Host, key)
		conns = append(conns, c)
	}
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(eventually.Limit))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusRequestTimeout {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	// The places are free, although nobody has closed a connection here.
	if turn := newPlainAAP(t, address, key, "message").post(aapUser("go")); turn.stop != "end_turn" {
		t.Errorf("a turn afterwards: %+v", turn)
	}
}
