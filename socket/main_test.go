package socket

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
)

func TestMain(m *testing.M) {
	if os.Getenv("PERMD_TEST_LISTEN") != "" {
		listenUntilKilled()
		return
	}
	goleak.VerifyTestMain(m)
}

// listenUntilKilled is this binary as another daemon: it listens at the path in the
// environment variable, prints that it does, and is killed.
func listenUntilKilled() {
	l, err := Listen(os.Getenv("PERMD_TEST_LISTEN"), ListenOptions{})
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("listening\n")
	_ = Serve(context.Background(), l, nil, Options{})
}

// shortDir returns a private folder whose path is short enough for sockets in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// peer is a client that the test controls.
type peer struct {
	*net.UnixConn
	t testing.TB
	r *bufio.Reader
}

func (p *peer) write(s string) {
	p.t.Helper()
	if _, err := p.Write([]byte(s)); err != nil {
		p.t.Fatalf("writing: %v", err)
	}
}

// writeAnyway writes what may come too late, or is never read.
func (p *peer) writeAnyway(s string) { _, _ = p.Write([]byte(s)) }

// line returns the next answer, "" if the connection has ended.
func (p *peer) line() string {
	p.t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
		p.t.Fatal(err)
	}
	s, err := p.r.ReadString('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatal("no answer")
	}
	return strings.TrimSuffix(s, "\n")
}

// want compares the next answer.
func (p *peer) want(line string) {
	p.t.Helper()
	if got := p.line(); got != line {
		p.t.Errorf("answer\n got %s\nwant %s", got, line)
	}
}

// running is a server under test.
type running struct {
	t    testing.TB
	ln   *Listener
	path string
	stop func() error // stops it and returns what Serve returned
}

func (r *running) dial() *peer {
	r.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: r.path, Net: "unix"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return &peer{UnixConn: c, t: r.t, r: bufio.NewReaderSize(c, 1<<20)}
}

func serve(t testing.TB, m Methods, o Options) *running {
	t.Helper()
	path := filepath.Join(shortDir(t), "permd.sock")
	ln, err := Listen(path, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, m, o) }()
	var err2 error
	stopped := false
	stop := func() error {
		if !stopped {
			stopped = true
			cancel()
			err2 = <-ended
		}
		return err2
	}
	t.Cleanup(func() { _ = stop() })
	return &running{t: t, path: path, ln: ln, stop: stop}
}

// now is a method without a second phase's work.
func now(result any, err error) Method {
	return func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) {
		return func(context.Context) (any, error) { return result, err }, nil
	}
}

// echo answers with its params.
func echo(_ *Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
	return func(context.Context) (any, error) { return params, nil }, nil
}

// later runs f as second phase.
func later(f func(context.Context) (any, error)) Method {
	return func(*Conn, strictjson.Value) (func(context.Context) (any, error), error) { return f, nil }
}
