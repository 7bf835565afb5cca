package ctty

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHas: a process of a session without a terminal has none, and one with a pseudo-terminal
// has it.
func TestHas(t *testing.T) {
	for _, pid := range []int32{0, -1, 1 << 30} {
		if Has(pid) {
			t.Errorf("process %d has a terminal", pid)
		}
	}
	for _, terminal := range []bool{false, true} {
		t.Run(fmt.Sprint("terminal ", terminal), func(t *testing.T) {
			sleep := exec.CommandContext(t.Context(), "sleep", "60")
			sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if terminal {
				sleep.Stdin = openTerminal(t)
				sleep.SysProcAttr.Setctty = true
			}
			if err := sleep.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
			if got := Has(int32(sleep.Process.Pid)); got != terminal {
				t.Errorf("a process has a terminal: %v, want %v", got, terminal)
			}
		})
	}
}

// openTerminal opens a pseudo-terminal, until the test ends.
func openTerminal(t *testing.T) *os.File {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal
}
