package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func httpNotReachable(t *testing.T) {
	d, c := startHTTP(t, "unix")
	project := d.project(t, nil)
	wantHTTPAllowed(t, c, project)
	d.kill()
	if got := c.shell(t, project, probe); got.Status != 0 {
		t.Errorf("without a daemon: %+v", got)
	}
	d.start(t)
	wantHTTPAllowed(t, c, project)
}

// refusesToStart checks that a start fails with those words, and that no daemon
// runs afterwards.
func (d *testDaemon) refusesToStart(t *testing.T, words ...string) {
	t.Helper()
	out, err := d.command("serve").CombinedOutput()
	if err == nil {
		t.Errorf("it started:\n%s", out)
	}
	for _, w := range words {
		if !strings.Contains(string(out), w) {
			t.Errorf("it says\n%s\nwant %q", out, w)
		}
	}
	if _, err := net.Dial("unix", d.socket()); err == nil {
		t.Error("the decision socket is served")
	}
}

// httpBadToken: a token that others may have read is refused, and nothing is
// served.
func httpBadToken(t *testing.T) {
	d := newTestDaemon(t)
	d.listensHTTP(t, "127.0.0.1:0")
	const token = "0123456789abcdef0123456789abcdef"
	writeFile(t, d.data("http.token"), token)
	d.start(t)
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.data("http.token"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.refusesToStart(t, "can be read by others (mode 0644)", "hint: others may have the token")
	if err := errors.Join(os.Remove(d.data("http.token")), syscall.Mkfifo(d.data("http.token"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.refusesToStart(t, "not a regular file")
	if strings.Contains(d.output.String(), token) {
		t.Error("the token was printed")
	}
}

func httpAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := newTestDaemon(t)
	d.listensHTTP(t, ln.Addr().String())
	d.refusesToStart(t, "listening for HTTP", "hint: choose another port in http.listen")
}

// httpSocketTaken: a file that is not a stale socket of this user is not changed.
func httpSocketTaken(t *testing.T) {
	d := newTestDaemon(t)
	d.listensHTTP(t, "unix")
	path := filepath.Join(d.run, "permd-http", "http.sock")
	writeFile(t, path, "precious")
	d.refusesToStart(t, "is a regular file, not a socket")
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func httpEverybody(t *testing.T) {
	for _, at := range []string{"0.0.0.0:0", "[::]:0", ":8181", "localhost:8181", "192.0.2.1:80"} {
		d := newTestDaemon(t)
		d.listensHTTP(t, at)
		d.refusesToStart(t, fmt.Sprintf("permd does not listen at %q for HTTP", at), `hint: write "off", "unix", or a loopback address`)
	}
}
