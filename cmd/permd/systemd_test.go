package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// manager is the service manager's end of NOTIFY_SOCKET.
type manager struct {
	conn *net.UnixConn
}

// newManager makes the socket and sets the daemon's environment variable for it.
func newManager(t *testing.T, d *testDaemon) *manager {
	t.Helper()
	addr := &net.UnixAddr{Name: filepath.Join(d.run, "notify"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	d.env = append(d.env, "NOTIFY_SOCKET="+addr.Name)
	return &manager{conn}
}

// next returns the assignments of the next datagram. Datagrams with only a sign of life
// or a text may be sent at any time and are skipped, unless want names one of their
// assignments.
func (m *manager) next(t *testing.T, want string) map[string]string {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		if err := m.conn.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
			t.Fatal(err)
		}
		n, err := m.conn.Read(buf)
		if err != nil {
			t.Fatalf("waiting for %s: %v", want, err)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(buf[:n])) {
			name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if _, twice := got[name]; !ok || twice {
				t.Fatalf("not a notification: %q", buf[:n])
			}
			got[name] = value
		}
		if _, ok := got[want]; ok {
			return got
		}
		_, alive := got["WATCHDOG"]
		_, text := got["STATUS"]
		if !alive && (!text || len(got) != 1) {
			t.Fatalf("%q came, want %s", buf[:n], want)
		}
	}
}

// TestNotify checks what the daemon notifies the service manager of, from its start
// to its end.
func TestNotify(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for the watchdog; TestSocketActivation is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	m := newManager(t, d)
	d.env = append(d.env, "WATCHDOG_USEC=200000")
	d.start(t)
	if got := m.next(t, "READY"); got["READY"] != "1" || !strings.HasPrefix(got["STATUS"], "serving ") {
		t.Errorf("at the start: %v", got)
	}
	for range 2 {
		if got := m.next(t, "WATCHDOG"); got["WATCHDOG"] != "1" {
			t.Errorf("the watchdog was sent %v", got)
		}
	}
	if recs := d.records(t); len(recs) > 0 {
		t.Errorf("the checks are among the decisions: %+v", recs)
	}
	w := d.session(t, project)
	wantAllowed(t, w)

	reload := func(status string) {
		t.Helper()
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		got := m.next(t, "RELOADING")
		if _, err := strconv.ParseUint(got["MONOTONIC_USEC"], 10, 64); got["RELOADING"] != "1" || err != nil {
			t.Errorf("reloading: %v, want RELOADING=1 and MONOTONIC_USEC in one datagram", got)
		}
		if got := m.next(t, "READY"); got["READY"] != "1" || !strings.Contains(got["STATUS"], status) {
			t.Errorf("after reloading: %v, want %q in the status", got, status)
		}
	}
	d.policy(t, "a.rego", `deny contains "no git today" if input.effect.program == "git"`)
	reload("serving ")
	wantProbe(t, w, "deny", "policy", "no git today")

	// A reload that fails ends as well, with the place in the status; the last
	// good rules stay.
	d.policy(t, "a.rego", `deny contains "no git" if input.effect.nonsense == "git"`)
	reload(filepath.Join("policy.d", "a.rego") + ":3: ")
	wantProbe(t, w, "deny", "policy", "no git today")
	d.policy(t, "a.rego", "")
	reload("serving ")
	wantAllowed(t, w)
	m.next(t, "WATCHDOG")

	// What was decided is answered before it ends.
	release := d.lockJournal(t)
	before := d.status(t).Journal.Last
	if _, err := w.Write([]byte(decideLine(probe) + "\n")); err != nil {
		t.Fatal(err)
	}
	d.waitStored(t, before+1)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := m.next(t, "STOPPING"); got["STOPPING"] != "1" {
		t.Errorf("at the end: %v", got)
	}
	release()
	got := w.next(t)
	if got.Verdict != "allow" {
		t.Errorf("in flight: %+v", got)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	d.cmd = nil
	d.wantLogged(t, got)
}

// activate runs the daemon as a service manager would that opens sockets of
// those names in d.run, NAME.sock each. It starts with the first connection.
func (d *testDaemon) activate(t *testing.T, names ...string) {
	t.Helper()
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed (package systemd)")
	}
	args := []string{"--fdname=" + strings.Join(names, ":")}
	for _, name := range names {
		args = append(args, "-l", d.activated(name))
	}
	for _, v := range d.env {
		args = append(args, "-E", v)
	}
	d.cmd = exec.Command(tool, append(args, os.Args[0], "serve")...)
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It opens them one after the other.
	d.waitListening(t, len(names))
}

// waitListening waits until the service manager has opened that many sockets.
func (d *testDaemon) waitListening(t *testing.T, sockets int) {
	t.Helper()
	eventually.Holds(t, "sockets", func() bool { return strings.Count(d.output.String(), "Listening on") >= sockets }, d.output.String)
}

func (d *testDaemon) activated(name string) string { return filepath.Join(d.run, name+".sock") }

// TestSocketActivation: the service manager opens both sockets and starts the
// daemon with the first connection.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	m := newManager(t, d)
	// Only the names count, not the order.
	d.activate(t, "permd-admin", "permd")
	w := dialWire(t, d.activated("permd"))
	if got := w.ask(t, declaration("s1", project)); got != (answer{}) {
		t.Fatalf("permd/session: %+v\n%s", got, d.output.String())
	}
	wantAllowed(t, w)
	m.next(t, "READY")

	a, err := client.Dial(t.Context(), d.activated("permd-admin"), client.Options{Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var s daemon.Status
	if err := a.Call(t.Context(), admin.MethodStatus, struct{}{}, &s); err != nil {
		t.Fatal(err)
	}
	if s.Socket != d.activated("permd") || s.Admin != d.activated("permd-admin") {
		t.Errorf("the status names the sockets %s and %s", s.Socket, s.Admin)
	}
	// Each socket has its own methods.
	if err := a.Call(t.Context(), "permd/decide", struct{}{}, nil); err == nil || !strings.Contains(err.Error(), "method not found") {
		t.Errorf("permd/decide on the management socket: %v", err)
	}
	if got := w.ask(t, request(admin.MethodStatus, struct{}{})); got.Code != -32601 {
		t.Errorf("%s on the decision socket: %+v", admin.MethodStatus, got)
	}

	// They are fenced where they are.
	for _, name := range []string{"permd", "permd-admin"} {
		wantAnswer(t, "removing a socket", w.ask(t, decideLine("rm "+d.activated(name))), "deny", "", "")
	}

	if err := d.stop(t); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, d.output.String())
	}
	m.next(t, "STOPPING")
	for _, name := range []string{"permd", "permd-admin"} {
		if _, err := os.Lstat(d.activated(name)); err != nil {
			t.Errorf("the manager's socket is gone: %v", err)
		}
	}
	if _, err := os.Lstat(d.socket()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket of the daemon's own is at %s: %v", d.socket(), err)
	}
}

// TestSocketActivationWrong: a unit that passes half of the sockets does not
// run half a permd.
func TestSocketActivationWrong(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{
		"one is missing": {"permd"},
		"another name":   {"permd", "permd.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.activate(t, names...)
			c, err := net.Dial("unix", d.activated("permd"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = d.cmd.Wait()
			d.cmd = nil
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != cli.ExitError {
				t.Errorf("the daemon ended with %v, want exit code %d", err, cli.ExitError)
			}
			if out := d.output.String(); !strings.Contains(out, "permd: error: taking the sockets of the service manager: ") || !strings.Contains(out, "permd-admin") {
				t.Errorf("it said %q", out)
			}
		})
	}
}
