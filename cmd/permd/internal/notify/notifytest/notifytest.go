// Package notifytest has session buses and notification servers for tests.
package notifytest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
)

// What the Desktop Notifications Specification 1.3 names (section 9, D-BUS Protocol).
const (
	name = "org.freedesktop.Notifications"
	path = "/org/freedesktop/Notifications"
)

// Bus is a real session bus, which no other process knows.
type Bus struct {
	t       testing.TB
	Path    string // of its socket
	Address string
	cmd     *exec.Cmd
}

// StartBus starts a bus with a socket of that path, "" for one of its own. It skips the test
// where there is no dbus-daemon.
func StartBus(t testing.TB, path string) *Bus {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("needs dbus-daemon, of the package dbus")
	}
	if path == "" {
		dir, err := os.MkdirTemp("", "b") // the path of a socket is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		path = filepath.Join(dir, "bus")
	}
	b := &Bus{t: t, Path: path, Address: "unix:path=" + dbus.EscapeBusAddressValue(path)}
	b.cmd = exec.Command(program, "--session", "--nofork", "--nopidfile", "--print-address", "--address="+b.Address)
	// A bus that starts servers of this machine would show what a test asks.
	b.cmd.Env = []string{"XDG_DATA_DIRS=" + t.TempDir(), "XDG_DATA_HOME=" + t.TempDir(), "HOME=" + t.TempDir()}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the bus says %q: %v", line, err)
	}
	return b
}

// Stop ends the bus as a crash would.
func (b *Bus) Stop() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		b.cmd = nil
		_ = os.Remove(b.Path)
	}
}

// Pause makes the bus do nothing until Resume.
func (b *Bus) Pause() { b.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (b *Bus) Resume() { b.signal(syscall.SIGCONT) }

func (b *Bus) signal(s syscall.Signal) {
	b.t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		b.t.Fatal(err)
	}
}

// Connect connects to the bus as any process of the session.
func (b *Bus) Connect() *dbus.Conn {
	b.t.Helper()
	c, err := dbus.Connect(b.Address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Notification is what a client wants to be shown.
type Notification struct {
	ID, Replaces             uint32
	App, Icon, Summary, Body string
	Actions                  []string
	Hints                    map[string]dbus.Variant
	Expires                  int32
	Sender                   string
}

// Server is a notification server, written from the specification.
type Server struct {
	Conn *dbus.Conn
	// Answer, if not nil, gives the answer to Notify instead of the id. It is set before the
	// server is used.
	Answer func(id uint32) (uint32, *dbus.Error)

	mu           sync.Mutex
	capabilities []string
	last         uint32
	all          []Notification
	shown        map[uint32]Notification
}

// Serve starts a notification server with these capabilities.
func (b *Bus) Serve(capabilities ...string) *Server {
	b.t.Helper()
	s := &Server{Conn: b.Connect(), capabilities: capabilities, shown: map[uint32]Notification{}}
	if err := s.Conn.ExportMethodTable(map[string]any{
		"GetCapabilities":   func() ([]string, *dbus.Error) { return s.capabilities, nil },
		"Notify":            s.notify,
		"CloseNotification": s.close,
	}, path, name); err != nil {
		b.t.Fatal(err)
	}
	if got, err := s.Conn.RequestName(name, dbus.NameFlagDoNotQueue|dbus.NameFlagReplaceExisting|dbus.NameFlagAllowReplacement); err != nil || got != dbus.RequestNameReplyPrimaryOwner {
		b.t.Fatalf("the name is not free: %v, %v", got, err)
	}
	return s
}

// Shown returns the notifications that are shown, the oldest first.
func (s *Server) Shown() []Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Notification
	for _, n := range s.shown {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Notification) int { return int(a.ID) - int(b.ID) })
	return list
}

// All returns all that was to be shown, the oldest first.
func (s *Server) All() []Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Dismiss closes a notification as a person does.
func (s *Server) Dismiss(t testing.TB, id uint32) {
	t.Helper()
	s.take(t, id, 2)
}

// Expire closes a notification as a server does by itself.
func (s *Server) Expire(t testing.TB, id uint32) {
	t.Helper()
	s.take(t, id, 1)
}

func (s *Server) take(t testing.TB, id, why uint32) {
	t.Helper()
	s.mu.Lock()
	delete(s.shown, id)
	s.mu.Unlock()
	if err := SayClosed(s.Conn, "", id, why); err != nil {
		t.Fatal(err)
	}
}

// SayClosed sends the signal that a notification was closed, to one process or with "" to all who
// want to hear it.
func SayClosed(c *dbus.Conn, to string, id, why uint32) error {
	m := &dbus.Message{Type: dbus.TypeSignal, Body: []any{id, why}, Headers: make(map[dbus.HeaderField]dbus.Variant)}
	m.Headers[dbus.FieldPath], m.Headers[dbus.FieldInterface] = dbus.MakeVariant(dbus.ObjectPath(path)), dbus.MakeVariant(name)
	m.Headers[dbus.FieldMember], m.Headers[dbus.FieldSignature] = dbus.MakeVariant("NotificationClosed"), dbus.MakeVariant(dbus.SignatureOf(id, why))
	if to != "" {
		m.Headers[dbus.FieldDestination] = dbus.MakeVariant(to)
	}
	return c.Send(m, nil).Err
}

func (s *Server) notify(from dbus.Sender, app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	s.mu.Lock()
	id := replaces
	if id == 0 {
		s.last++
		id = s.last
	}
	n := Notification{id, replaces, app, icon, summary, body, actions, hints, expires, string(from)}
	s.all = append(s.all, n)
	s.shown[id] = n
	s.mu.Unlock()
	if s.Answer != nil {
		return s.Answer(id)
	}
	return id, nil
}

func (s *Server) close(id uint32) *dbus.Error {
	s.mu.Lock()
	_, ok := s.shown[id]
	delete(s.shown, id)
	s.mu.Unlock()
	if !ok {
		return dbus.NewError(name+".Error.NoSuchNotification", nil)
	}
	_ = SayClosed(s.Conn, "", id, 3)
	return nil
}

// Env returns an environment in which the bus is the session bus.
func (b *Bus) Env(name string) string {
	if name == "DBUS_SESSION_BUS_ADDRESS" {
		return b.Address
	}
	return ""
}

// Text returns the summary and the body of a notification.
func (n Notification) Text() string { return strings.Join([]string{n.Summary, n.Body}, "\n") }
