package mcp

import (
	"net"
	"net/url"
	"testing"
)

// TestUpstreamNotReached: a call that no server can have got is not said to have run.
func TestUpstreamNotReached(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	w := new(upstreamWorld)
	w.start(t, &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"})
	defer w.u.Wait()
	defer w.u.Close()
	w.send(t, pinged)
	w.want(t, `"id":1,`, 1)
	if w.count("cannot be reached") != 1 || w.count(mayHaveRun) != 0 {
		t.Errorf("the answer is %q", w.lines)
	}
}
