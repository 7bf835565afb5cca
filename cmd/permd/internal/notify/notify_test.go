package notify

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"github.com/permd/permd/cmd/permd/internal/notify/notifytest"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/settings"
)

// TestMain sees that no Notifier leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// person has questions that wait, and a Notifier that runs.
type person struct {
	t      *testing.T
	n      *Notifier
	server *notifytest.Server
	stop   func()

	mu   sync.Mutex
	list []Question
	form string
	log  bytes.Buffer
}

// running runs a Notifier until the test ends.
func running(t *testing.T, env func(string) string) *person {
	t.Helper()
	p := &person{t: t, form: settings.NotifyFull}
	p.n = New(Options{Questions: p.questions, Form: p.current, Env: env, Log: slog.New(slog.NewTextHandler(p, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.n.Run(ctx); close(done) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(p.stop)
	return p
}

// withServer runs a Notifier on a bus with a server of these capabilities.
func withServer(t *testing.T, capabilities ...string) (*person, *notifytest.Bus) {
	t.Helper()
	bus := notifytest.StartBus(t, "")
	server := bus.Serve(capabilities...)
	p := running(t, bus.Env)
	p.server = server
	return p, bus
}

func (p *person) questions() []Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

func (p *person) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.form
}

// Write takes lines of the log.
func (p *person) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(line)
}

func (p *person) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// asked has these calls wait.
func (p *person) asked(list ...Question) {
	p.mu.Lock()
	p.list = list
	p.mu.Unlock()
	p.n.Changed()
}

// question is one with that id.
func question(id string) Question {
	return Question{ID: id, Agent: "agent", Tool: "Bash", Effects: []string{"run " + id}, Reason: "reason", Until: time.Now().Add(time.Minute)}
}

func (p *person) shows(id uint32, text string) notifytest.Notification {
	p.t.Helper()
	var got []notifytest.Notification
	eventually.Holds(p.t, "it shows "+text, func() bool {
		got = p.server.Shown()
		return len(got) == 1 && got[0].ID == id && strings.Contains(got[0].Text(), text)
	}, func() string { return fmt.Sprintf("%+v\n%s", got, p.logged()) })
	return got[0]
}

func (p *person) showsNone() {
	p.t.Helper()
	eventually.Holds(p.t, "nothing is shown", func() bool { return len(p.server.Shown()) == 0 }, p.logged)
}

// TestOne: several calls share one notification, which changes once a second at most, and is
// another one after the last question.
func TestOne(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for some seconds; TestForms is the quick one")
	}
	t.Parallel()
	p, _ := withServer(t)
	start := time.Now()
	p.asked(question("q0"))
	p.shows(1, "permd allow q0")
	var list []Question
	for i := range 10_000 {
		list = append(list, question(fmt.Sprint("q", i)))
		p.asked(list...)
	}
	got := p.shows(1, "10000 calls wait for your answer")
	if got.Replaces != 1 || !strings.Contains(got.Body, "and 9994 more calls") || strings.Contains(got.Body, "q9 ") || len(got.Body) > 2000 {
		t.Errorf("the notification is %+v", got)
	}
	p.asked(list[1])
	p.shows(1, "permd allow q1")
	if all, most := len(p.server.All()), 2+int(time.Since(start)/time.Second); all > most {
		t.Errorf("%d notifications in %v", all, time.Since(start))
	}
	p.asked()
	p.showsNone()
	p.asked(question("q2"))
	p.shows(2, "permd allow q2")
	p.stop()
	if got := p.server.Shown(); len(got) != 0 {
		t.Errorf("after the end %+v is shown", got)
	}
	if p.logged() != "" {
		t.Errorf("the log: %s", p.logged())
	}
}

// TestClosed: a notification that the person has closed comes back with a new question alone.
func TestClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for some seconds; TestForms is the quick one")
	}
	t.Parallel()
	p, bus := withServer(t)
	a, b, c := question("a"), question("b"), question("c")
	p.asked(a, b)
	to := p.shows(1, "2 calls").Sender
	// A NotificationClosed signal of another sender is ignored.
	stranger := bus.Connect()
	for range 100 {
		if err := notifytest.SayClosed(stranger, to, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := stranger.BusObject().Call("org.freedesktop.DBus.GetId", 0).Err; err != nil {
		t.Fatal(err) // they have passed the bus
	}
	p.asked(a)
	p.shows(1, "permd allow a")
	// Nor is the server, of another notification.
	p.server.Dismiss(t, 77)
	p.asked(a, b)
	p.shows(1, "2 calls")
	p.server.Dismiss(t, 1)
	eventually.Holds(t, "it is heard", func() bool { return p.n.Status().Closed })
	p.asked(a)
	if s := p.n.Status(); !strings.Contains(s.Line(), "was closed") || len(p.server.Shown()) != 0 {
		t.Errorf("the status: %s; shown: %+v", s.Line(), p.server.Shown())
	}
	p.asked(a, c)
	p.shows(2, "2 calls")
	// It expires: that is not the person.
	p.server.Expire(t, 2)
	eventually.Holds(t, "it is heard", func() bool { return p.n.Status().Expired })
	if s := p.n.Status(); s.Closed || !strings.Contains(s.Line(), "has expired") || len(p.server.Shown()) != 0 {
		t.Errorf("the status: %s; shown: %+v", s.Line(), p.server.Shown())
	}
	p.asked(a, b, c)
	p.shows(3, "3 calls")
	if s := p.n.Status(); s.Closed || s.Expired {
		t.Errorf("the status: %+v", s)
	}
}

// TestStatusLooksSeldom: the status looks for a server once in a while, so that a bus that hangs
// does not keep questions from being shown.
func TestStatusLooksSeldom(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	p := running(t, func(string) string { looks.Add(1); return "" })
	first := p.n.Status()
	n := looks.Load()
	for range 100 {
		if s := p.n.Status(); s != first || !s.NoBus {
			t.Fatalf("%+v, before %+v", s, first)
		}
	}
	if n == 0 || looks.Load() != n {
		t.Errorf("it looked %d times, then %d", n, looks.Load()-n)
	}
}

// TestServerComes: a server that starts later, or anew, shows what waits.
func TestServerComes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a second; TestForms is the quick one")
	}
	t.Parallel()
	bus := notifytest.StartBus(t, "")
	p := running(t, bus.Env)
	p.asked(question("a"))
	eventually.Holds(t, "it is logged", func() bool { return strings.Contains(p.logged(), "no notification server runs") })
	if s := p.n.Status(); !strings.Contains(s.Line(), "no notification server runs") {
		t.Errorf("the status: %s", s.Line())
	}
	p.server = bus.Serve()
	p.shows(1, "permd allow a")
	if s := p.n.Status(); s.Why != "" || s.Line() != "desktop notifications of calls that wait" {
		t.Errorf("the status: %s", s.Line())
	}
	// Another process takes the name, and knows no notification.
	p.server = bus.Serve()
	p.shows(1, "permd allow a")
	p.asked()
	p.showsNone()
	if n := strings.Count(p.logged(), "\n"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, p.logged())
	}
}

// TestForms: the setting decides what is shown, also while a call waits.
func TestForms(t *testing.T) {
	t.Parallel()
	p, _ := withServer(t)
	set := func(form string) {
		p.mu.Lock()
		p.form = form
		p.mu.Unlock()
		p.n.Changed()
	}
	p.asked(question("a"))
	p.shows(1, "run a")
	set(settings.NotifyBrief)
	eventually.Holds(t, "it is brief", func() bool {
		got := p.server.Shown()
		return len(got) == 1 && !strings.Contains(got[0].Text(), "run a")
	})
	if s := p.n.Status(); s.Line() != "desktop notifications of calls that wait, brief" {
		t.Errorf("the status: %s", s.Line())
	}
	set(settings.NotifyOff)
	p.showsNone()
	if s := p.n.Status(); s.Line() != `no desktop notifications (notify = "off")` || s.Why != "" {
		t.Errorf("the status: %s", s.Line())
	}
}

// TestServerFails: a server that does not answer as it must is asked less and less, and the log
// says so once.
func TestServerFails(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for some seconds; TestForms is the quick one")
	}
	t.Parallel()
	for name, answer := range map[string]func(uint32) (uint32, *dbus.Error){
		"the id 0": func(uint32) (uint32, *dbus.Error) { return 0, nil },
		"an error": func(uint32) (uint32, *dbus.Error) { return 0, dbus.NewError("org.example.No", []any{"no"}) },
		"NoReply":  func(uint32) (uint32, *dbus.Error) { return 0, dbus.NewError("org.freedesktop.DBus.Error.NoReply", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := notifytest.StartBus(t, "")
			server := bus.Serve()
			server.Answer = answer
			p := running(t, bus.Env)
			p.server = server
			start := time.Now()
			i := 0
			eventually.Holds(t, "it is tried again", func() bool {
				i++
				p.asked(question("a"), question(fmt.Sprint(i)))
				return len(server.All()) >= 3
			}, p.logged)
			if took := time.Since(start); took < 3*firstWait { // 1 s, then 2 s
				t.Errorf("three attempts in %v", took)
			}
			if n := strings.Count(p.logged(), "\n"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, p.logged())
			}
			if s := p.n.Status(); s.Why == "" {
				t.Error("the status says that notifications are shown")
			}
		})
	}
}
