package quickio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"
)

// quick reports whether there is anything to test besides what os and net do.
var quick = runtime.GOOS == "linux" && !testload.Race

// ends are two connected descriptors that never wait.
type ends struct {
	name string
	r    io.ReadCloser
	w    io.WriteCloser
}

func connected(t *testing.T) []ends {
	t.Helper()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "q") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{pr, pw, c, s, ln} {
			_ = c.Close()
		}
		_ = os.RemoveAll(dir)
	})
	return []ends{{"pipe", pr, pw}, {"socket", s, c}}
}

// TestStream passes much more than a pipe holds, in pieces of all sizes, to a reader that
// begins late.
func TestStream(t *testing.T) {
	for _, e := range connected(t) {
		t.Run(e.name, func(t *testing.T) {
			in, out := Reader(e.r), Writer(e.w)
			if quick != (in != io.Reader(e.r)) || quick != (out != io.Writer(e.w)) {
				t.Fatalf("read by %T, written by %T", in, out)
			}
			want := make([]byte, 3<<20)
			for i := range want {
				want[i] = byte(i * i >> 7)
			}
			wrote := make(chan error, 1)
			go func() {
				for rest, size := want, 1; len(rest) > 0; size = size*3 + 1 {
					n := min(size, len(rest))
					if wn, err := out.Write(rest[:n]); err != nil || wn != n {
						wrote <- errors.Join(err, io.ErrShortWrite)
						return
					}
					rest = rest[n:]
				}
				wrote <- e.w.Close()
			}()
			got, err := io.ReadAll(in)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
			}
			if err := <-wrote; err != nil {
				t.Error(err)
			}
			if n, err := in.Read(nil); n != 0 || err != nil {
				t.Errorf("nothing is read as %d, %v", n, err)
			}
			if _, err := in.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// TestClosed closes a descriptor whose reader, or writer, waits.
func TestClosed(t *testing.T) {
	for _, e := range connected(t) {
		t.Run(e.name, func(t *testing.T) {
			in, out := Reader(e.r), Writer(e.w)
			read := make(chan error, 1)
			go func() {
				_, err := in.Read(make([]byte, 1))
				read <- err
			}()
			if err := e.r.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-read; err == nil {
				t.Error("a closed descriptor was read")
			}
			if _, err := out.Write(make([]byte, 1)); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("written to nobody: %v", err)
			}
		})
	}
}

// TestDeadline ends a read and a write by their deadlines.
func TestDeadline(t *testing.T) {
	for _, e := range connected(t) {
		t.Run(e.name, func(t *testing.T) {
			in, out := Reader(e.r), Writer(e.w)
			if err := e.w.(interface{ SetWriteDeadline(time.Time) error }).SetWriteDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if n, err := out.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d bytes written, %v", n, err)
			}
			if err := e.r.(interface{ SetReadDeadline(time.Time) error }).SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if n, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d bytes read, %v", n, err)
			}
		})
	}
}

// TestMayWait says that what may wait is read and written as always: the scheduler's thread
// would wait with it.
func TestMayWait(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	if err := syscall.SetNonblock(int(pr.Fd()), false); err != nil {
		t.Fatal(err)
	}
	for _, f := range []io.Reader{file, pr, new(bytes.Buffer)} {
		if got := Reader(f); got != f {
			t.Errorf("%T is read by %T", f, got)
		}
	}
	if got := Writer(file); got != io.Writer(file) {
		t.Errorf("a file is written by %T", got)
	}
}

// TestAllocations says that neither a read nor a write allocates.
func TestAllocations(t *testing.T) {
	if !quick {
		t.Skip("nothing of ours is used")
	}
	e := connected(t)[0]
	in, out, b := Reader(e.r), Writer(e.w), make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := out.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(in, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
