// Package notify tells a person by a notification of the desktop that calls wait for their
// answer, and takes it away when none does. It speaks to the server of the Desktop Notifications
// Specification 1.3 on the session bus
// (https://specifications.freedesktop.org/notification/1.3/).
//
// A notification only tells: nothing that comes back over the bus answers a question, since any
// process of the session can take the server's name.
package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/policy/settings"
)

// Pauses between attempts.
const (
	every = time.Second // between notifications
	// lookEvery is between looks at the questions, which many clients may change at any rate.
	lookEvery = 50 * time.Millisecond
	firstWait = time.Second // after a failure; twice as long after each further one
	lastWait  = 5 * time.Minute
	// findEvery is how often the status looks for a server while nothing is shown: a bus that
	// hangs keeps questions from being shown meanwhile.
	findEvery = 5 * time.Second
	// askTime is how long the status waits for what is found out.
	askTime = time.Second
)

// Question is a call that waits for an answer, with the texts that permd allow shows.
type Question struct {
	ID          string
	Agent, Tool string
	Effects     []string
	Arguments   string // "" where the effects say all
	Reason      string
	Until       time.Time // when its client stops waiting
}

// Options configure a Notifier.
type Options struct {
	// Questions returns the calls that wait, the oldest first.
	Questions func() []Question
	// Form returns what a notification shows: a value of the setting notify.
	Form func() string
	// Env returns the value of an environment variable; os.Getenv if nil.
	Env func(name string) string
	Log *slog.Logger
}

// Notifier keeps at most one notification, about all calls that wait. Its methods may be called
// at the same time.
type Notifier struct {
	o       Options
	changed chan struct{}
	asked   chan chan Status

	// What follows is used by Run alone.
	bus    *bus
	at     string   // the bus and the server that show the notification
	shown  uint32   // its id, 0 for none
	ids    []string // of the questions in it
	text   [2]string
	closed []string  // the questions that were in it when it was closed
	byHand bool      // the person closed it
	found  time.Time // when the status looked for a server
	until  time.Time // when the last of them ends
	look   time.Time // when the questions may be looked at again
	next   time.Time // when the next may be shown
	retry  time.Time // when the bus may be tried again after a failure
	wait   time.Duration
	idle   bool  // no call waits
	why    error // why none can be shown
	broken error // how the server failed to show the last one, nil if it did not
	logged string
}

// Status is whether notifications are shown.
type Status struct {
	// Form is the setting in force.
	Form string `json:"form"`
	// Why is why none can be shown, "" if they can or are off.
	Why string `json:"why,omitzero"`
	// NoBus is set if the reason is that there is no session bus, as on a machine without a
	// desktop.
	NoBus bool `json:"noBus,omitzero"`
	// Closed is set while the calls that wait are not shown because the person has closed their
	// notification.
	Closed bool `json:"closed,omitzero"`
	// Expired is set while they are not shown because the server has taken it away by itself.
	Expired bool `json:"expired,omitzero"`
}

// Line is the status in one line.
func (s *Status) Line() string {
	switch {
	case s.Form == settings.NotifyOff:
		return `no desktop notifications (notify = "off")`
	case s.Why != "":
		return "no desktop notifications: " + cli.Clip(s.Why, maxLine)
	}
	line := "desktop notifications of calls that wait"
	if s.Form == settings.NotifyBrief {
		line += ", brief"
	}
	switch {
	case s.Closed:
		line += "; that of the calls that wait now was closed"
	case s.Expired:
		line += "; that of the calls that wait now has expired, or was closed by another program"
	}
	return line
}

// New returns a Notifier, which does nothing before Run.
func New(o Options) *Notifier {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	return &Notifier{o: o, changed: make(chan struct{}, 1), asked: make(chan chan Status)}
}

// Changed says that Questions or Form may return something else. It does not wait.
func (n *Notifier) Changed() {
	select {
	case n.changed <- struct{}{}:
	default: // it will be looked at
	}
}

// Run shows notifications until ctx ends. Then it takes the one away that is shown.
func (n *Notifier) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := n.update(ctx)
		timer.Stop()
		if wait > 0 {
			timer.Reset(wait)
		}
		var events <-chan *dbus.Signal
		var gone <-chan struct{}
		if n.bus != nil {
			events, gone = n.bus.events, n.bus.conn.Context().Done()
		}
		select {
		case <-ctx.Done():
			n.takeAway(ctx)
			n.disconnect()
			return
		case <-n.changed:
		case <-timer.C:
		case reply := <-n.asked:
			reply <- n.find(ctx)
		case e := <-events:
			n.hear(ctx, e)
		case <-gone:
			n.fail(errors.New("the session bus has closed the connection"))
		}
	}
}

// update makes the notification what it should be, and returns when to call it again although
// nothing has changed, 0 for never.
func (n *Notifier) update(ctx context.Context) time.Duration {
	now := time.Now()
	if wait := n.look.Sub(now); wait > 0 {
		return wait
	}
	n.look = now.Add(lookEvery)
	form, list := n.o.Form(), []Question(nil)
	if form != settings.NotifyOff {
		list = n.o.Questions()
	}
	if n.idle = len(list) == 0; n.idle {
		n.closed = nil
		n.takeAway(ctx)
		n.disconnect()
		return 0
	}
	if n.isClosed(list) {
		return 0
	}
	if n.bus == nil {
		if wait := n.retry.Sub(now); wait > 0 {
			return wait
		}
		if !n.connect(ctx) {
			return n.wait
		}
	}
	server := n.bus.server.Load()
	if server.name == "" {
		n.note(errNoServer)
		return 0 // the bus says when there is one
	}
	if at := n.bus.place(); at != n.at {
		n.shown, n.at = 0, at
	}
	text := [2]string{}
	text[0], text[1] = render(list, form, server.markup)
	until := slices.MaxFunc(list, func(a, b Question) int { return a.Until.Compare(b.Until) }).Until
	if n.shown != 0 && text == n.text && !until.After(n.until) {
		n.ids = idsOf(list)
		return 0
	}
	if wait := n.next.Sub(now); wait > 0 {
		return wait
	}
	// It is of no use any longer, if permd cannot close it any more.
	id, err := n.bus.show(ctx, n.shown, text[0], text[1], time.Until(until)+time.Second)
	n.next = time.Now().Add(every)
	if n.broken = err; err != nil {
		n.fail(err)
		return n.wait
	}
	n.shown, n.text, n.until, n.ids, n.closed, n.wait = id, text, until, idsOf(list), nil, 0
	n.note(nil)
	return 0
}

func idsOf(list []Question) (ids []string) {
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

// isClosed reports whether the notification was closed, and nothing new waits. One that has expired
// is not shown again either: servers that have a shorter time for all would show it again and again.
func (n *Notifier) isClosed(list []Question) bool {
	if n.closed == nil {
		return false
	}
	return !slices.ContainsFunc(list, func(q Question) bool { return !slices.Contains(n.closed, q.ID) })
}

// dismissed is the reason of NotificationClosed for what a person has closed.
const dismissed = uint32(2)

// hear handles what the bus says.
func (n *Notifier) hear(ctx context.Context, s *dbus.Signal) {
	switch {
	case s.Sender == busName:
		if err := n.bus.lookUp(ctx); err != nil && !errors.Is(err, errNoServer) {
			n.fail(err)
		}
	case n.shown != 0 && len(s.Body) == 2 && s.Body[0] == n.shown:
		n.shown, n.closed, n.byHand = 0, n.ids, s.Body[1] == dismissed
	}
}

// takeAway closes the notification.
func (n *Notifier) takeAway(ctx context.Context) {
	id := n.shown
	n.shown = 0
	if id == 0 || n.bus == nil || n.bus.place() != n.at {
		return
	}
	if err := n.bus.hide(ctx, id); err != nil {
		n.fail(err)
	}
}

// connect connects to the bus.
func (n *Notifier) connect(ctx context.Context) bool {
	b, err := connect(ctx, n.o.Env)
	if err != nil {
		n.fail(err)
		return false
	}
	n.bus = b
	return true
}

func (n *Notifier) disconnect() {
	if n.bus != nil {
		n.bus.close()
		n.bus = nil
	}
}

// fail gives the connection up for a while.
func (n *Notifier) fail(err error) {
	n.disconnect()
	n.wait = min(max(2*n.wait, firstWait), lastWait)
	n.retry = time.Now().Add(n.wait)
	n.note(err)
}

// note notes why no notification is shown, and logs that once. That there is no bus is usual
// where there is no desktop.
func (n *Notifier) note(err error) {
	n.why = err
	switch {
	case err == nil:
		n.logged = ""
	case n.logged == "" && !errors.Is(err, errNoBus):
		n.logged = err.Error()
		n.o.Log.Warn("no desktop notification tells that a call waits", "error", err)
	}
}

// find finds out whether notifications would be shown now.
func (n *Notifier) find(ctx context.Context) Status {
	form := n.o.Form()
	if form == settings.NotifyOff {
		return Status{Form: form}
	}
	// While a call waits it is known from showing that.
	if now := time.Now(); n.idle && now.After(n.retry) && now.Sub(n.found) >= findEvery {
		b, err := connect(ctx, n.o.Env)
		if n.why = cmp.Or(err, n.broken); err == nil {
			if b.server.Load().name == "" {
				n.why = errNoServer
			}
			b.close()
		}
		n.found = time.Now()
	}
	s := Status{Form: form, NoBus: errors.Is(n.why, errNoBus), Closed: n.closed != nil && n.byHand, Expired: n.closed != nil && !n.byHand}
	if n.why != nil {
		s.Why = n.why.Error()
	}
	return s
}

// Status returns whether notifications are shown, as far as that is found out within a moment.
func (n *Notifier) Status() Status {
	late := time.NewTimer(askTime)
	defer late.Stop()
	reply := make(chan Status, 1)
	select {
	case n.asked <- reply:
	case <-late.C:
		return n.unknown()
	}
	select {
	case s := <-reply:
		return s
	case <-late.C:
		return n.unknown()
	}
}

func (n *Notifier) unknown() Status {
	return Status{Form: n.o.Form(), Why: "the session bus, or the notification server, has not answered yet"}
}
