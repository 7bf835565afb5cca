package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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

// Confirm asks a question, and returns an error unless the answer is yes.
func (s *Streams) Confirm(question string) error {
	fmt.Fprintf(s.Out, "%s [y/N] ", question)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return Failf(ExitError, "answer y, or use --yes", "nothing was changed")
	}
	return nil
}
