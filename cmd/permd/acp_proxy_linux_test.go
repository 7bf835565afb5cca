package main

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalName unlocks the other end of a terminal and names it.
func terminalName(t *testing.T, control *os.File) string {
	t.Helper()
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return "/dev/pts/" + strconv.Itoa(n)
}
