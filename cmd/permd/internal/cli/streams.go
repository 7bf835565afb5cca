package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Streams are the standard streams of a command and the output format.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool
}

// AtTerminal reports whether In is a terminal.
func (s *Streams) AtTerminal() bool {
	f, ok := s.In.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
