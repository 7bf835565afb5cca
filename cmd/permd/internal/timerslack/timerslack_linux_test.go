//go:build cgo

package timerslack_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/cmd/permd/internal/timerslack"
)

// TestMain prints the slack of a thread that Go's runtime has made if the program is
// started as TestSlack starts it.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[2] != "print" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the main thread, so that another one is needed
	printed := make(chan error)
	go func() {
		runtime.LockOSThread()
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		fmt.Print(slack)
		printed <- err
	}()
	if err := <-printed; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestSlack starts the program as the daemon and as another command. What others start,
// such as agents, inherits their slack, which must be the usual one.
func TestSlack(t *testing.T) {
	usual, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Skip("the slack of timers is not known:", err)
	}
	for command, want := range map[string]time.Duration{"serve": timerslack.Slack, "acp": time.Duration(usual)} {
		out, err := exec.CommandContext(t.Context(), os.Args[0], command, "print").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := strconv.Atoi(string(out)); time.Duration(got) != want || err != nil {
			t.Errorf("%s: the slack is %s ns, want %d", command, out, want)
		}
	}
}
