package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
)

func TestMain(m *testing.M) {
	if os.Getenv("PERMD_TEST_ACTIVATED") != "" {
		activated()
		return
	}
	goleak.VerifyTestMain(m)
}

// activated is this binary as a daemon that the service manager starts: it accepts
// one connection and writes the descriptors that it was passed.
func activated() {
	s, ok, err := Listeners()
	if !ok {
		fmt.Println("no sockets:", err)
		return
	}
	_, again, _ := Listeners()
	c, err := s.Decision.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintf(c, "decision %s admin %s again %v LISTEN_FDS=%q\n",
		filepath.Base(s.Decision.Addr().String()), filepath.Base(s.Admin.Addr().String()), again, os.Getenv("LISTEN_FDS"))
	c.Close()
	s.close()
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestActivation(t *testing.T) {
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	dir := shortDir(t)
	permd, admin := filepath.Join(dir, "permd.sock"), filepath.Join(dir, "admin.sock")
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Limit)
	defer cancel()
	// The names are not in the order of the packaged unit: only the names count.
	cmd := exec.CommandContext(ctx, tool, "-l", admin, "-l", permd, "--fdname="+AdminName+":"+DecisionName,
		"-E", "PERMD_TEST_ACTIVATED=1", os.Args[0])
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	var c net.Conn
	eventually.Holds(t, "a connection", func() bool {
		c, err = net.Dial("unix", permd)
		return err == nil
	})
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 200)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	if got, want := string(buf[:n]), "decision permd.sock admin admin.sock again false LISTEN_FDS=\"\"\n"; got != want {
		t.Errorf("the activated process says\n%s want\n%s", got, want)
	}
	if _, err := os.Lstat(permd); err != nil {
		t.Errorf("the manager's socket was removed: %v", err)
	}
}

func TestListenersWithoutManager(t *testing.T) {
	t.Setenv("LISTEN_PID", "")
	t.Setenv("LISTEN_FDS", "")
	if _, ok, err := Listeners(); ok || err != nil {
		t.Errorf("ok %v, error %v", ok, err)
	}
}

// passed is the descriptor of a socket with the name that the service manager gives
// it.
func passed(t *testing.T, name, network string) *os.File {
	t.Helper()
	path := filepath.Join(shortDir(t), "s.sock")
	file := func(s interface{ File() (*os.File, error) }) *os.File {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fd), name)
	}
	switch network {
	case "unix":
		l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return file(l)
	case "unixgram":
		c, err := net.ListenUnixgram(network, &net.UnixAddr{Name: path, Net: network})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return file(c)
	case "tcp":
		l, err := net.ListenTCP(network, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return file(l)
	case "connected":
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fds[1])
		return os.NewFile(uintptr(fds[0]), name)
	default:
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fd), name)
	}
}

func TestTake(t *testing.T) {
	type file struct{ name, network string }
	tests := []struct {
		name  string
		files []file
		says  string // "" if taken
	}{
		{"both", []file{{DecisionName, "unix"}, {AdminName, "unix"}}, ""},
		{"management missing", []file{{DecisionName, "unix"}}, "no socket named permd-admin"},
		{"decision missing", []file{{AdminName, "unix"}}, "no socket named permd "},
		{"one too many", []file{{DecisionName, "unix"}, {AdminName, "unix"}, {"other", "unix"}}, `a socket "other"`},
		{"no names", []file{{"LISTEN_FD_3", "unix"}, {"LISTEN_FD_4", "unix"}}, `a socket "LISTEN_FD_3"`},
		{"same name twice", []file{{DecisionName, "unix"}, {DecisionName, "unix"}}, "two sockets named permd"},
		{"network socket", []file{{DecisionName, "tcp"}, {AdminName, "unix"}}, "not a Unix socket"},
		{"datagram socket", []file{{DecisionName, "unixgram"}, {AdminName, "unix"}}, "not a listening stream socket"},
		{"connected socket", []file{{DecisionName, "connected"}, {AdminName, "unix"}}, "not a listening stream socket"},
		{"no socket", []file{{DecisionName, "unix"}, {AdminName, "device"}}, "taking the socket permd-admin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var files []*os.File
			for _, f := range tt.files {
				files = append(files, passed(t, f.name, f.network))
			}
			s, err := takeListeners(files)
			defer s.close()
			for _, f := range files {
				if f.Close() == nil {
					t.Errorf("the descriptor %s is still open", f.Name())
				}
			}
			if tt.says == "" {
				if err != nil || s.Decision == nil || s.Admin == nil {
					t.Errorf("sockets %+v, error %v", s, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error()+" ", tt.says) {
				t.Errorf("error is %v, want it to say %q", err, tt.says)
			}
			if s != (sockets{}) {
				t.Errorf("sockets %+v together with the error", s)
			}
		})
	}
}

// manager is a service manager that only listens.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(shortDir(t), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return c
}

func datagram(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestNotify(t *testing.T) {
	m := manager(t)
	tests := []struct {
		name string
		send func() error
		want string
	}{
		{"ready", func() error { return Ready("serving 12 rules") }, "READY=1\nSTATUS=serving 12 rules"},
		{"stopping", func() error { return Stopping("") }, "STOPPING=1\nSTATUS="},
		{"status", func() error { return Status("degraded: a.rego:3") }, "STATUS=degraded: a.rego:3"},
		{"a status is one line", func() error { return Status("a\nWATCHDOG=1\r\x00\u0085b\xff") }, "STATUS=a WATCHDOG=1   b "},
		{"and not too long", func() error { return Status(strings.Repeat("x", maxStatus-1) + "ä") }, "STATUS=" + strings.Repeat("x", maxStatus-1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.send(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, datagram(t, m)); diff != "" {
				t.Errorf("datagram differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReloadingIsOneDatagram(t *testing.T) {
	m := manager(t)
	clock := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano() / 1000
	}
	before := clock()
	if err := Reloading(); err != nil {
		t.Fatal(err)
	}
	after := clock()
	fields := strings.Split(strings.TrimSpace(datagram(t, m)), "\n")
	if len(fields) != 2 || fields[0] != "RELOADING=1" {
		t.Fatalf("datagram %q", fields)
	}
	usec, err := strconv.ParseInt(strings.TrimPrefix(fields[1], "MONOTONIC_USEC="), 10, 64)
	if err != nil || usec < before || usec > after {
		t.Errorf("%s is not between %d and %d", fields[1], before, after)
	}
}

func TestNotifyWithoutManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	for name, send := range map[string]func() error{
		"ready": func() error { return Ready("") }, "reloading": Reloading,
		"stopping": func() error { return Stopping("") }, "status": func() error { return Status("x") },
	} {
		if err := send(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	if Ready("") == nil {
		t.Error("a manager that is not there took a message")
	}
}

func TestWatchdog(t *testing.T) {
	m := manager(t)
	t.Setenv("WATCHDOG_PID", "")
	t.Setenv("WATCHDOG_USEC", "20000")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Watchdog(ctx, func(context.Context) error { return nil }, func(err error) { t.Error(err) })
	}()
	for range 3 {
		if got := datagram(t, m); got != "WATCHDOG=1" {
			t.Errorf("datagram %q", got)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchdogOff(t *testing.T) {
	canary := func(context.Context) error { t.Error("the canary ran"); return nil }
	for name, vars := range map[string][2]string{
		"not set":           {"", ""},
		"another process's": {"20000", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHDOG_USEC", vars[0])
			t.Setenv("WATCHDOG_PID", vars[1])
			if err := Watchdog(t.Context(), canary, nil); err != nil {
				t.Error(err)
			}
		})
	}
	t.Setenv("WATCHDOG_USEC", "soon")
	if Watchdog(t.Context(), canary, nil) == nil {
		t.Error("an interval that is no number passed")
	}
}

func TestFeed(t *testing.T) {
	const period = 15 * time.Second
	tests := []struct {
		name   string
		canary func(n int, ctx context.Context) error // n counts from 1
		alive  int
		failed int
	}{
		{"sound", func(int, context.Context) error { return nil }, 9, 0},
		{"fails once", func(n int, _ context.Context) error {
			if n == 3 {
				return errors.New("policy gone")
			}
			return nil
		}, 8, 1},
		{"fails from then on", func(n int, _ context.Context) error {
			if n >= 3 {
				return errors.New("policy gone")
			}
			return nil
		}, 2, 7},
		{"hangs, and heeds its context", func(n int, ctx context.Context) error {
			if n >= 3 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, 2, 6}, // the seventh is cut off by the end
		{"too late", func(_ int, ctx context.Context) error { time.Sleep(period + time.Second); return nil }, 0, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Second)
				defer cancel()
				runs, alive, failed := 0, 0, 0
				runWatchdog(ctx, period, func(ctx context.Context) error { runs++; return tt.canary(runs, ctx) },
					func(error) { failed++ }, func() error { alive++; return nil })
				if alive != tt.alive || failed != tt.failed {
					t.Errorf("alive %d times, failed %d times, want %d and %d", alive, failed, tt.alive, tt.failed)
				}
			})
		})
	}
}
