package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/notify/notifytest"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/client"
)

// notified is a daemon with a session bus and a notification server.
type notified struct {
	*late
	bus    *notifytest.Bus
	server *notifytest.Server
}

// startNotified starts a daemon whose session bus has a server with these capabilities.
func startNotified(t *testing.T, settings string, capabilities ...string) *notified {
	t.Helper()
	bus := notifytest.StartBus(t, "")
	n := &notified{bus: bus, server: bus.Serve(capabilities...)}
	n.late = startOnBus(t, bus, settings)
	return n
}

// startOnBus starts a daemon that has a session bus.
func startOnBus(t *testing.T, bus *notifytest.Bus, settings string) *late {
	t.Helper()
	d := newTestDaemon(t)
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+bus.Address)
	if settings != "" {
		writeFile(t, d.home+"/.config/permd/permd.toml", settings)
	}
	d.start(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	return l
}

// asks asks about a command, and waits for the answer.
func (l *late) asks(command string) (id string, got <-chan waitedAnswer) {
	l.t.Helper()
	id = l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1)))
	return id, l.waits(id)
}

// shows waits until one notification is shown, with all these texts.
func (n *notified) shows(texts ...string) notifytest.Notification {
	n.t.Helper()
	var last []notifytest.Notification
	eventually.Holds(n.t, "a notification is shown", func() bool {
		last = n.server.Shown()
		if len(last) != 1 {
			return false
		}
		for _, text := range texts {
			if !strings.Contains(last[0].Text(), text) {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("%+v\n%s", last, n.d.output.String()) })
	return last[0]
}

// showsNone waits until no notification is shown.
func (n *notified) showsNone(why string) {
	n.t.Helper()
	eventually.Holds(n.t, why+": no notification is shown", func() bool { return len(n.server.Shown()) == 0 }, func() string { return n.d.output.String() })
}

// TestNotification: while a call waits for a person a notification says so, and it goes with the last
// question, whatever ends that.
func TestNotification(t *testing.T) {
	t.Parallel()
	n := startNotified(t, "", "body", "body-markup", "actions")
	id, got := n.asks("sh run.sh data")
	shown := n.shows("A call waits for your answer", "permd allow "+id, "permd review", "claude-agent-acp wants to use Bash", "run sh run.sh data")
	if shown.App != "permd" || len(shown.Actions) != 0 || shown.Replaces != 0 || shown.Hints["urgency"].Value() != byte(1) || shown.Hints["category"].Value() != "x-permd.question" {
		t.Errorf("the notification is %+v", shown)
	}
	if shown.Expires < 240_000 || shown.Expires > 302_000 {
		t.Errorf("it expires after %d ms; the client waits for five minutes", shown.Expires)
	}
	if out := n.d.permd(t, "status"); !strings.Contains(out, "\n  notify   desktop notifications of calls that wait\n") {
		t.Errorf("the status:\n%s", out)
	}
	n.d.permd(t, "allow", id)
	<-got
	n.showsNone("answered with yes")

	id, got = n.asks("sh run.sh data")
	n.shows(id)
	n.d.permd(t, "deny", id)
	<-got
	n.showsNone("answered with no")

	id, got = n.asks("sh run.sh data")
	n.shows(id)
	if _, err := n.say("permd/choose", `{"decisionId":%q,"verdict":"deny"}`, id); err != nil {
		t.Fatal(err)
	}
	<-got
	n.showsNone("answered by the client's own person")

	id = n.question(n.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	if r, err := client.Wait(t.Context(), n.c, id, time.Second); err != nil || r.Answer != "none" {
		t.Fatalf("%+v, %v", r, err)
	}
	n.showsNone("nobody has answered in time")

	// A client that decides the call anew withdraws its wait first.
	id = n.question(n.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, lateCall))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = client.Wait(ctx, n.c, id, time.Minute) }()
	n.shows(id)
	cancel()
	n.showsNone("withdrawn")

	id, got = n.asks("sh run.sh data")
	n.shows(id)
	if _, err := n.say("permd/close", `{"sessionId":"s1"}`); err != nil {
		t.Fatal(err)
	}
	<-got
	n.showsNone("the session has ended")

	n.session(n.project, "default")
	id, _ = n.asks("sh run.sh data")
	n.shows(id)
	n.c.Close()
	n.showsNone("the client has gone")

	n.c = n.d.dial(t)
	n.session(n.project, "default")
	id, got = n.asks("sh run.sh data")
	n.shows(id)
	if err := n.d.stop(t); err != nil {
		t.Error(err)
	}
	<-got
	if shown := n.server.Shown(); len(shown) != 0 {
		t.Errorf("the daemon has ended, and %+v is shown", shown)
	}
}

// TestNotificationForms: the setting, and no_arguments, decide what is on the bus, also after a
// reload, and the status says it.
func TestNotificationForms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it shows notifications in each form; TestNotification is the quick one")
	}
	t.Parallel()
	n := startNotified(t, "notify = \"brief\"\n")
	id, got := n.asks("sh run.sh data")
	if shown := n.shows(id); strings.Contains(shown.Text(), "run.sh") {
		t.Errorf("brief is\n%s", shown.Text())
	}
	settings := func(text, line string) {
		t.Helper()
		writeFile(t, n.d.home+"/.config/permd/permd.toml", text)
		n.d.permd(t, "reload")
		if out := n.d.permd(t, "status"); !strings.Contains(out, "  notify   "+line+"\n") {
			t.Errorf("the status:\n%s", out)
		}
	}
	settings("", "desktop notifications of calls that wait")
	n.shows(id, "run sh run.sh data")
	settings("notify = \"full\"\nno_arguments = true\n", "desktop notifications of calls that wait, brief")
	eventually.Holds(t, "no arguments are shown", func() bool { return !strings.Contains(n.shows(id).Text(), "run.sh") })
	settings("notify = \"off\"\n", `no desktop notifications (notify = "off")`)
	n.showsNone("off")
	n.d.permd(t, "deny", id)
	<-got
}
