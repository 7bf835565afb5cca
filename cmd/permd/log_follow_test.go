package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestLogFollow: a follower prints what is decided after it has begun, each decision
// once. It does not keep the daemon from ending, and ends with it.
func TestLogFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for followers alone")
	}
	t.Parallel()
	d := startDaemon(t)
	w := d.session(t, d.project(t, nil))
	wantAllowed(t, w) // is not printed
	begin := func() (out *lockedBuffer, signal func(syscall.Signal), end func() error) {
		out = &lockedBuffer{}
		cmd := d.command("log", "follow", "--json")
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		// Only its output shows that it has begun.
		eventually.Holds(t, "a decision is printed", func() bool {
			wantAllowed(t, w)
			return out.String() != ""
		}, d.output.String)
		return out, func(s syscall.Signal) {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}, cmd.Wait
	}
	out, signal, end := begin()
	last := d.status(t).Journal.Last
	eventually.Holds(t, "the newest decision is printed", func() bool { return strings.Contains(out.String(), fmt.Sprintf(`"seq":%d,`, last)) }, out.String)
	printed := strings.Count(out.String(), `"seq":`)
	for seq := last; seq > last-int64(printed); seq-- {
		if n := strings.Count(out.String(), fmt.Sprintf(`"seq":%d,`, seq)); n != 1 {
			t.Errorf("decision %d is printed %d times:\n%s", seq, n, out)
		}
	}
	if strings.Contains(out.String(), `"seq":1,`) {
		t.Errorf("what was decided before is printed:\n%s", out)
	}
	signal(syscall.SIGINT)
	if err := end(); err != nil {
		t.Errorf("a follower that is interrupted ends with %v", err)
	}

	out, _, end = begin()
	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	if err := end(); err == nil || !strings.Contains(out.String(), `{"error":{"message":"following the journal: the daemon has ended",`) {
		t.Errorf("the follower ends with %v:\n%s", err, out)
	}
}
