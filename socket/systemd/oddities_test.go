package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
)

// TestNotifyFullQueue: a service manager that does not read must not delay permd's
// start or end.
func TestNotifyFullQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a second; TestNotify is the quick one")
	}
	m := manager(t)
	c, err := net.DialUnix("unixgram", nil, m.LocalAddr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = c.Write([]byte("STATUS=full"))
	}
	sent := make(chan error, 1)
	go func() { sent <- Ready("") }()
	select {
	case err := <-sent:
		if err == nil {
			t.Error("a full queue took a message")
		}
	case <-time.After(eventually.Limit):
		t.Fatal("telling the manager does not end")
	}
}

// TestListenersChecksFirst: descriptors that the manager cannot have passed are not
// touched; some of them are the Go runtime's own.
func TestListenersChecksFirst(t *testing.T) {
	for _, tt := range []struct{ name, n, says string }{
		{"too many", "1000000", "passes 1000000 sockets"},
		{"no sockets", "8", "descriptor"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
			t.Setenv("LISTEN_FDS", tt.n)
			t.Setenv("LISTEN_FDNAMES", DecisionName)
			_, ok, err := Listeners()
			if ok || err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("ok %v, error %v, want it to say %q", ok, err, tt.says)
			}
			if left := os.Getenv("LISTEN_FDS"); left != "" {
				t.Errorf("LISTEN_FDS is still %s", left)
			}
		})
	}
}

// TestTakeOneSocketTwice: one socket passed under both names is refused: clients
// that may only ask could manage the daemon.
func TestTakeOneSocketTwice(t *testing.T) {
	f := passed(t, DecisionName, "unix")
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var again *os.File
	if err := raw.Control(func(fd uintptr) { again = dup(t, fd, AdminName) }); err != nil {
		t.Fatal(err)
	}
	s, err := takeListeners([]*os.File{f, again})
	defer s.close()
	if err == nil || !strings.Contains(err.Error(), "one socket") {
		t.Errorf("error is %v", err)
	}
}

func dup(t *testing.T, fd uintptr, name string) *os.File {
	t.Helper()
	n, err := unix.Dup(int(fd))
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(n), name)
}
