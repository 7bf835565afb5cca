package agentproc

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Pipes are the client's ends. Reads and writes can be interrupted, so that they end
// with the agent.
type Pipes struct {
	In, Out   *os.File
	originals []int // the original descriptors, to restore the flags that other processes share
}

// OpenPipes takes over the standard streams of this process.
func OpenPipes(streams cli.Streams) (*Pipes, error) {
	in, ok := streams.In.(*os.File)
	out, ok2 := streams.Out.(*os.File)
	if !ok || !ok2 {
		return nil, errors.New("standard input and output are no files")
	}
	p := new(Pipes)
	for _, end := range []struct {
		from *os.File
		to   **os.File
	}{{in, &p.In}, {out, &p.Out}} {
		fd, err := unix.FcntlInt(end.from.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, fmt.Errorf("opening the client's pipes: %w", err)
		}
		// The agent uses the same standard error, whose flags must not change.
		if !sameAsStderr(streams.Err, fd) {
			if kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				p.originals = append(p.originals, kept)
				_ = unix.SetNonblock(fd, true) // if this is not supported, reads and writes do not block for long
			}
		}
		*end.to = os.NewFile(uintptr(fd), end.from.Name())
	}
	// The client sees the end of a pipe when its last descriptor is closed.
	in.Close()
	out.Close()
	return p, nil
}

// Polled reports whether reads and writes wait without holding a processor of Go's scheduler.
func (p *Pipes) Polled() bool { return len(p.originals) == 2 }

func sameAsStderr(w io.Writer, fd int) bool {
	stderr, ok := w.(*os.File)
	if !ok {
		return false
	}
	var x, y unix.Stat_t
	return unix.Fstat(fd, &x) != nil || unix.Fstat(int(stderr.Fd()), &y) != nil || x.Dev == y.Dev && x.Ino == y.Ino
}

// Restore restores the original streams.
func (p *Pipes) Restore() {
	for _, fd := range p.originals {
		_ = unix.SetNonblock(fd, false)
		_ = unix.Close(fd)
	}
}
