package notify

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/permd/permd/cmd/permd/internal/notify/notifytest"
	"github.com/permd/permd/internal/eventually"
)

// fakeBus is a bus of which each connection is served by a function.
func fakeBus(t *testing.T, serve func(c net.Conn)) func(string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(eventually.Limit))
			serve(c)
			c.Close()
		}
	}()
	return func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return dir
		}
		return ""
	}
}

// greet lets a client in, as the D-Bus specification says, and returns its messages.
func greet(c net.Conn) *bufio.Reader {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		switch word := strings.TrimLeft(strings.TrimSpace(line), "\x00"); {
		case err != nil || word == "BEGIN":
			return r
		case word == "AUTH":
			fmt.Fprint(c, "REJECTED EXTERNAL\r\n")
		case strings.HasPrefix(word, "AUTH EXTERNAL"):
			fmt.Fprint(c, "OK 0123456789abcdef0123456789abcdef\r\n")
		case strings.HasPrefix(word, "DATA"):
			fmt.Fprint(c, "OK 0123456789abcdef0123456789abcdef\r\n")
		default:
			fmt.Fprint(c, "ERROR\r\n")
		}
	}
}

// reply answers each call with these values after a text, and tells who wants to know, until the
// client goes.
func reply(c net.Conn, r *bufio.Reader, before []byte, values map[string][]any, called func(string)) {
	for {
		m, err := dbus.DecodeMessage(r)
		if err != nil {
			return
		}
		member, _ := m.Headers[dbus.FieldMember].Value().(string)
		called(member)
		body, ok := values[member]
		if !ok {
			continue
		}
		_, _ = c.Write(before)
		_, _ = c.Write(encoded(dbus.TypeMethodReply, map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(m.Serial())}, body...))
	}
}

// encoded is a message on the wire.
func encoded(of dbus.Type, headers map[dbus.HeaderField]dbus.Variant, body ...any) []byte {
	if len(body) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	var b bytes.Buffer
	if err := (&dbus.Message{Type: of, Headers: headers, Body: body}).EncodeTo(&b, binary.LittleEndian); err != nil {
		panic(err)
	}
	text := b.Bytes()
	binary.LittleEndian.PutUint32(text[8:], 7) // its serial, which must not be 0
	return text
}

// signal is a signal of the bus itself.
func signal(member string, body ...any) []byte {
	return encoded(dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/DBus")), dbus.FieldInterface: dbus.MakeVariant(busName),
		dbus.FieldMember: dbus.MakeVariant(member), dbus.FieldSender: dbus.MakeVariant(busName),
	}, body...)
}

// good are the answers of a bus with a server.
var good = map[string][]any{
	"Hello": {":1.7"}, "AddMatch": {}, "GetId": {"1"}, "GetNameOwner": {":1.2"}, "GetCapabilities": {[]string{"body"}}, "Notify": {uint32(5)}, "CloseNotification": {},
}

func without(member string, with ...any) map[string][]any {
	values := map[string][]any{}
	for name, body := range good {
		if name != member {
			values[name] = body
		}
	}
	if with != nil {
		values[member] = with
	}
	return values
}

// TestHostileBus: whatever a bus does, the log says once why no notification is shown, the
// status says so, and nothing is left when the daemon ends.
func TestHostileBus(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of failures; TestForms is the quick one")
	}
	t.Parallel()
	serves := func(values map[string][]any) func(net.Conn) {
		return func(c net.Conn) { reply(c, greet(c), nil, values, func(string) {}) }
	}
	says := func(text []byte) func(net.Conn) {
		return func(c net.Conn) {
			_ = greet(c)
			for {
				if _, err := c.Write(text); err != nil {
					return
				}
			}
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"says nothing":             func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"ends at once":             func(net.Conn) {},
		"greets without end":       func(c net.Conn) { _, _ = io.Copy(c, zeros{}) },
		"greets line by line":      func(c net.Conn) { _, _ = io.Copy(c, strings.NewReader(strings.Repeat("DATA\r\n", 100_000))) },
		"no answer to Hello":       serves(nil),
		"another answer to Hello":  serves(without("Hello", []string{"x"})),
		"no answer to AddMatch":    serves(without("AddMatch")),
		"no answer to GetId":       serves(without("GetId")),
		"no owner, no error":       serves(without("GetNameOwner")),
		"owner of another type":    serves(without("GetNameOwner", []string{"x"})),
		"no capabilities":          serves(without("GetCapabilities")),
		"other capabilities":       serves(without("GetCapabilities", uint32(1))),
		"no answer to Notify":      serves(without("Notify")),
		"an id of another type":    serves(without("Notify", "x")),
		"the id 0":                 serves(without("Notify", uint32(0))),
		"no message of D-Bus":      says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")),
		"a message beyond 128 MiB": says(append([]byte{'l', 2, 0, 1, 255, 255, 255, 255}, make([]byte, 64)...)),
		"half a message": func(c net.Conn) {
			r := greet(c)
			_, _ = c.Write(signal("NameLost")[:20])
			_, _ = io.Copy(io.Discard, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := fakeBus(t, serve)
			p := running(t, env)
			p.asked(question("a"))
			eventually.Holds(t, "it is logged", func() bool { return p.logged() != "" })
			if name == "greets without end" && !strings.Contains(p.logged(), "too much") {
				t.Errorf("the log: %s", p.logged())
			}
			eventually.Holds(t, "the status says so", func() bool { s := p.n.Status(); return s.Why != "" && !s.NoBus })
			p.asked()
			p.asked(question("b"))
			if n := strings.Count(p.logged(), "\n"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, p.logged())
			}
			start := time.Now()
			p.stop()
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it ends after %v", took)
			}
		})
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestIgnored: what the library would not survive, or take descriptors and memory for, is left
// out, and notifications go on.
func TestIgnored(t *testing.T) {
	t.Parallel()
	long := encoded(dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/x")), dbus.FieldInterface: dbus.MakeVariant("x.y"), dbus.FieldMember: dbus.MakeVariant("Z"),
	}, strings.Repeat("x", 2<<20))
	call := encoded(dbus.TypeMethodCall, map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/")), dbus.FieldMember: dbus.MakeVariant("Introspect"), dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.DBus.Introspectable"),
	})
	broken := signal("NameOwnerChanged", "x")
	broken[13], broken[20] = 0, 200
	other := signal("NameOwnerChanged", "x")
	other[1] = 9
	for name, text := range map[string][]byte{
		"a lost name that is none":   signal("NameLost"),
		"a lost name that is a list": signal("NameLost", []string{"x"}),
		"a name that is none":        signal("NameAcquired"),
		"a call":                     bytes.Repeat(call, 1000),
		"2 MiB":                      long,
		"fields that are none":       broken,
		"another type of message":    other,
		"a notification closed without arguments": encoded(dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath(serverPath)), dbus.FieldInterface: dbus.MakeVariant(serverName),
			dbus.FieldMember: dbus.MakeVariant(closed), dbus.FieldSender: dbus.MakeVariant(":1.2"),
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := make(chan string, 100)
			env := fakeBus(t, func(c net.Conn) { reply(c, greet(c), text, good, func(method string) { called <- method }) })
			p := running(t, env)
			p.asked(question("a"))
			got := []string{}
			for got = append(got, <-called); got[len(got)-1] != "Notify"; {
				got = append(got, <-called)
			}
			p.stop()
			for len(called) > 0 {
				got = append(got, <-called)
			}
			if p.logged() != "" {
				t.Errorf("the log: %s", p.logged())
			}
			if text := strings.Join(got, " "); text != "Hello AddMatch AddMatch GetId GetNameOwner GetCapabilities Notify CloseNotification" {
				t.Errorf("it calls %s", text)
			}
		})
	}
}

// TestBusHangs: a real bus that stops, hangs and goes.
func TestBusHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for some seconds; TestForms is the quick one")
	}
	t.Parallel()
	p, bus := withServer(t)
	p.asked(question("a"))
	p.shows(1, "permd allow a")
	p.n.Status() // it knows the id by now
	bus.Pause()
	p.asked(question("a"), question("b"))
	eventually.Holds(t, "it is logged", func() bool { return p.logged() != "" })
	if s := p.n.Status(); s.Why == "" {
		t.Error("the status says that notifications are shown")
	}
	bus.Resume()
	eventually.Holds(t, "it goes on", func() bool {
		list := p.server.Shown()
		return len(list) == 1 && list[0].ID == 1 && strings.Contains(list[0].Summary, "2 calls") && p.n.Status().Why == ""
	}, func() string { return fmt.Sprintf("%+v %s", p.server.Shown(), p.logged()) })
	path := bus.Path
	bus.Stop()
	eventually.Holds(t, "it is logged again", func() bool { return strings.Count(p.logged(), "\n") == 2 }, p.logged)
	bus = notifytest.StartBus(t, path)
	p.server = bus.Serve()
	p.shows(1, "2 calls")
	p.n.Status()
	bus.Pause()
	start := time.Now()
	p.stop()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it ends after %v", took)
	}
}

// TestAddress: which bus is the session bus.
func TestAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	file := t.TempDir()
	if err := os.WriteFile(filepath.Join(file, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "bus"), filepath.Join(link, "bus")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ address, run, want, err string }{
		{"unix:path=/a%20b,guid=1", dir, "/a b", ""},
		{"unix:abstract=x,guid=1", dir, "@x", ""},
		{"tcp:host=h;unix:path=/b", dir, "/b", ""},
		{"tcp:host=h,port=1", dir, "", "no Unix socket"},
		{"unixexec:path=/bin/sh,argv1=-c", dir, "", "no Unix socket"},
		{"autolaunch:", dir, "", "no Unix socket"},
		{"unix:path=", dir, "", "no Unix socket"},
		{"unix:path=/a%00b", dir, "", "no Unix socket"},
		{"unix:path=%zz", dir, "", "no Unix socket"},
		{"unix:tmpdir=/tmp", dir, "", "no Unix socket"},
		{"x", dir, "", "no Unix socket"},
		{"", dir, filepath.Join(dir, "bus"), ""},
		{"", file, "", "not a socket of yours"},
		{"", link, "", "not a socket of yours"},
		{"", t.TempDir(), "", "no session bus"},
		{"", "", "", "no session bus"},
		{"", ".", "", "no session bus"},
	} {
		got, err := busAddress(func(name string) string {
			return map[string]string{"DBUS_SESSION_BUS_ADDRESS": tt.address, "XDG_RUNTIME_DIR": tt.run}[name]
		})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v: %v, %v", tt, got, err)
			}
			continue
		}
		if err != nil || got.Name != tt.want {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
	}
}
