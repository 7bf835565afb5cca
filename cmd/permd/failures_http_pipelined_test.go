package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// httpWaitsPipelined: a client that sends more while its request is held, or before it is, and goes
// away, is not waited for. Requests that are not held may follow each other without waits.
func httpWaitsPipelined(t *testing.T) {
	d := newTestDaemon(t)
	d.policy(t, "otc.rego", otcBody)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(eventually.Limit))
		return conn
	}
	head := func(prefer string) string {
		return fmt.Sprintf("POST /v1/otc/call HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
			strings.TrimPrefix(c.url, "http://"), c.token, prefer, len(waitOTC), waitOTC)
	}
	const waits = "Prefer: wait=600\r\n"
	for _, more := range []string{"", "\r\n", "G", head(waits), strings.Repeat("x", 9000)} {
		conn := dial()
		if _, err := io.WriteString(conn, head(waits)); err != nil {
			t.Fatal(err)
		}
		id := d.waiting(t, 1)[0]
		if _, err := io.WriteString(conn, more); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		d.waiting(t, 0)
		if out, err := d.command("allow", id).CombinedOutput(); err == nil {
			t.Errorf("a client that sent %.20q and is gone: permd allow says %s", more, out)
		}
	}
	// In one write: its end is noticed.
	conn := dial()
	if _, err := io.WriteString(conn, head(waits)+head(waits)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	eventually.Holds(t, "nobody is asked for a client that is gone", func() bool { return len(d.records(t)) >= 6 })
	d.waiting(t, 0)
	// A client that stays gets an error, whether it sends more or closes its side of the connection.
	for name, more := range map[string]func(net.Conn) error{
		"later":   func(c net.Conn) error { _, err := io.WriteString(c, head(waits)); return err },
		"a byte":  func(c net.Conn) error { _, err := io.WriteString(c, "\n"); return err },
		"its end": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
	} {
		conn := dial()
		if _, err := io.WriteString(conn, head(waits)); err != nil {
			t.Fatal(err)
		}
		d.waiting(t, 1)
		if err := more(conn); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 503 || !strings.Contains(string(body), "before it had its answer") {
			t.Errorf("%s: %d %s, %v", name, res.StatusCode, body, err)
		}
		res.Body.Close()
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays open: %d, %v", name, n, err)
		}
		conn.Close()
		d.waiting(t, 0)
	}
	conn = dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Repeat(head(""), 5)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for range 5 {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || !strings.Contains(string(body), `"outcome":"ask"`) {
			t.Errorf("one of several at once: %d %s, %v", res.StatusCode, body, err)
		}
		res.Body.Close()
	}
}
