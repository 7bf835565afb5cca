package cli

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
)

// openTerminal returns a terminal of that width.
func openTerminal(t *testing.T, width uint16) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	return terminal
}

// TestTerminal: a terminal has a width and colours, unless NO_COLOR or TERM=dumb says that
// it shall have none.
func TestTerminal(t *testing.T) {
	terminal := openTerminal(t, 72)
	for _, tt := range []struct {
		noColor, term, columns string
		want                   string
		width                  int
	}{
		{"", "xterm-256color", "", "\x1b[31mdeny\x1b[0m", 72},
		{"", "", "", "\x1b[31mdeny\x1b[0m", 72},
		{"1", "xterm", "", "deny", 72},
		{"", "dumb", "40", "deny", 40},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		t.Setenv("COLUMNS", tt.columns)
		if got := Paint(terminal, string(decisions.Deny), "deny"); got != tt.want || Width(terminal) != tt.width {
			t.Errorf("%+v: %q, %d", tt, got, Width(terminal))
		}
	}
	if !(&Streams{In: terminal}).AtTerminal() || (&Streams{In: new(bytes.Buffer)}).AtTerminal() {
		t.Error("what is a terminal is not told from what is none")
	}
}
