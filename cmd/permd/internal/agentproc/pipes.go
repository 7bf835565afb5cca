package agentproc

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Pipes are the client's ends. Reads and writes on them can be interrupted,
// so that the end of the agent ends them.
type Pipes struct {
	In, Out *os.File
	kept    []int // the same, to set back what others may share with permd
}

// OpenPipes takes over the streams of this process.
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
		// The agent writes to the standard error, and must not find it changed.
		if !sameAsStderr(streams.Err, fd) {
			if kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				p.kept = append(p.kept, kept)
				_ = unix.SetNonblock(fd, true) // a file that cannot be is never waited for
			}
		}
		*end.to = os.NewFile(uintptr(fd), end.from.Name())
	}
	// The client sees the end of a pipe when its last descriptor is closed.
	in.Close()
	out.Close()
	return p, nil
}

func sameAsStderr(w io.Writer, fd int) bool {
	stderr, ok := w.(*os.File)
	if !ok {
		return false
	}
	var x, y unix.Stat_t
	return unix.Fstat(fd, &x) != nil || unix.Fstat(int(stderr.Fd()), &y) != nil || x.Dev == y.Dev && x.Ino == y.Ino
}

// Restore gives the streams back as they were.
func (p *Pipes) Restore() {
	for _, fd := range p.kept {
		_ = unix.SetNonblock(fd, false)
		_ = unix.Close(fd)
	}
}

// IsTerminal reports whether a person types into a file.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
