package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/permd/permd/cmd/permd/internal/notify/notifytest"
	"github.com/permd/permd/internal/eventually"
)

// TestFailuresNotify has the rows of the failure table about notifications: whatever becomes of
// the session bus and of the notification server, questions are asked and answered as without
// them.
func TestFailuresNotify(t *testing.T) {
	failures(t, []failure{
		{"session bus hangs", notifyBusHangs},
		{"session bus gone", notifyBusGone},
		{"session bus that is none", notifyNoBus},
		{"notification server hangs", notifyServerHangs},
		{"notification server does not answer", notifyNoReply},
		{"no notification server", notifyNoServer},
		{"strangers on the session bus", notifyStrangers},
	})
}

// unharmed asks and answers as without notifications.
func (l *late) unharmed() {
	l.t.Helper()
	for _, answer := range []string{"allow", "deny"} {
		id, got := l.asks("sh run.sh " + answer)
		if answered := l.open(); len(answered) == 0 {
			l.t.Fatal("no question waits")
		}
		l.d.permd(l.t, answer, id)
		if a := <-got; a.err != nil || a.Answer != answer {
			l.t.Errorf("the client hears %+v, want %s", a, answer)
		}
		// The next one asks again.
		l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh "+answer, 1)))
	}
}

// says wants the status to say why no notification is shown, and one line of the log.
func (l *late) says(why string) {
	l.t.Helper()
	eventually.Holds(l.t, "the status says "+why, func() bool {
		s := l.d.status(l.t)
		return s.Notify != nil && strings.Contains(s.Notify.Why, why) && !s.Degraded
	}, l.d.output.String)
	if n := strings.Count(l.d.output.String(), "no desktop notification"); n > 1 {
		l.t.Errorf("%d lines in the log: %s", n, l.d.output.String())
	}
}

// ends ends the daemon in time.
func (l *late) ends() {
	l.t.Helper()
	if err := l.d.stop(l.t); err != nil {
		l.t.Error(err)
	}
	if text := l.d.output.String(); strings.Contains(text, "without waiting for what hangs") || strings.Contains(text, "something goes on") {
		l.t.Errorf("the daemon does not end by itself:\n%s", text)
	}
}

// descriptors is how many descriptors the daemon has open.
func (d *testDaemon) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func notifyBusHangs(t *testing.T) {
	bus := notifytest.StartBus(t, "")
	bus.Serve()
	l := startOnBus(t, bus, "")
	bus.Pause()
	t.Cleanup(bus.Resume)
	l.unharmed()
	id, _ := l.asks("sh run.sh data")
	l.d.waitOutput(t, "no desktop notification")
	l.says("does not answer")
	l.d.permd(t, "deny", id)
	l.ends()
}

func notifyBusGone(t *testing.T) {
	n := startNotified(t, "")
	id, _ := n.asks("sh run.sh data")
	n.shows(id)
	path := n.bus.Path
	n.bus.Stop()
	n.unharmed()
	n.d.waitOutput(t, "no desktop notification")
	n.says("session bus")
	n.bus = notifytest.StartBus(t, path)
	n.server = n.bus.Serve()
	n.shows(id)
	n.ends()
}

// notifyNoBus: a socket of the user that is no bus.
func notifyNoBus(t *testing.T) {
	d := newTestDaemon(t)
	ln, err := net.Listen("unix", filepath.Join(d.run, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, strings.NewReader(strings.Repeat("REJECTED EXTERNAL\r\n", 100_000)))
				c.Close()
			}()
		}
	}()
	d.start(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	l.unharmed()
	l.says("session bus does not answer")
	l.ends()
}

func notifyServerHangs(t *testing.T) {
	bus := notifytest.StartBus(t, "")
	server := bus.Serve()
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	server.Answer = func(id uint32) (uint32, *dbus.Error) { <-hung; return id, nil }
	l := startOnBus(t, bus, "")
	l.unharmed()
	id, _ := l.asks("sh run.sh data")
	l.d.waitOutput(t, "no desktop notification")
	l.says("notification server does not show it")
	l.d.permd(t, "deny", id)
	l.asks("sh run.sh data")
	l.ends()
}

func notifyNoReply(t *testing.T) {
	bus := notifytest.StartBus(t, "")
	server := bus.Serve()
	server.Answer = func(uint32) (uint32, *dbus.Error) {
		return 0, dbus.NewError("org.freedesktop.DBus.Error.NoReply", nil)
	}
	l := startOnBus(t, bus, "")
	l.unharmed()
	l.asks("sh run.sh data")
	l.d.waitOutput(t, "no desktop notification")
	l.says("notification server does not show it")
	l.ends()
}

func notifyNoServer(t *testing.T) {
	bus := notifytest.StartBus(t, "")
	l := startOnBus(t, bus, "")
	l.unharmed()
	l.asks("sh run.sh data")
	l.d.waitOutput(t, "no desktop notification")
	l.says("no notification server runs")
	if out := l.d.permd(t, "status"); !strings.Contains(out, "no desktop notifications: no notification server runs") {
		t.Errorf("the status:\n%s", out)
	}
	if out, _, _ := printed(l.d.command("doctor")); !strings.Contains(out, "no desktop notifications: no notification server runs") {
		t.Errorf("doctor says\n%s", out)
	}
	l.ends()
}

// notifyStrangers: other processes of the session answer nothing, whatever they send, and use
// up neither memory nor descriptors of the daemon.
func notifyStrangers(t *testing.T) {
	n := startNotified(t, "")
	id, got := n.asks("sh run.sh data")
	shown := n.shows(id)
	stranger := n.bus.Connect()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := n.d.descriptors(t)
	text := strings.Repeat("x", 1<<20)
	for i := range 200 {
		for _, member := range []string{"ActionInvoked", "ActivationToken", "NotificationReplied"} {
			if err := n.server.Conn.Emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications."+member, shown.ID, "allow"); err != nil {
				t.Fatal(err)
			}
			if err := stranger.Emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications."+member, shown.ID, "default"); err != nil {
				t.Fatal(err)
			}
		}
		// To the daemon's connection alone, as calls without an answer.
		to := stranger.Object(shown.Sender, "/org/freedesktop/Notifications")
		to.Go("org.freedesktop.Notifications.ActionInvoked", dbus.FlagNoReplyExpected, nil, shown.ID, "allow")
		to.Go("org.freedesktop.DBus.Introspectable.Introspect", dbus.FlagNoReplyExpected, nil)
		to.Go("permd.Allow", dbus.FlagNoReplyExpected, nil, id, dbus.UnixFD(file.Fd()))
		if i%4 == 0 {
			to.Go("permd.Allow", dbus.FlagNoReplyExpected, nil, text)
		}
	}
	if err := stranger.BusObject().Call("org.freedesktop.DBus.GetId", 0).Err; err != nil {
		t.Fatal(err)
	}
	if len(got) != 0 || len(n.open()) != 1 {
		t.Fatalf("the question: %+v; %+v", n.open(), n.server.All())
	}
	if after := n.d.descriptors(t); after > before+8 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if got := n.d.rss(t, "VmHWM"); got > 200 {
		t.Errorf("the daemon took %d MiB", got)
	}
	n.d.permd(t, "deny", id)
	if a := <-got; a.Answer != "deny" {
		t.Errorf("the client hears %+v", a)
	}
	n.showsNone("after the answer")
	n.unharmed()
	n.ends()
}
