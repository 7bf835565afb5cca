package daemon

import (
	"os"

	"github.com/permd/permd/cmd/permd/internal/notify"
	"github.com/permd/permd/policy/settings"
)

// waiting returns the calls whose clients wait for an answer of the daemon's user, for a
// notification. The calls that a harness has blocked are not among them: no client waits, and the
// harness has told the person.
func (d *daemon) waiting() []notify.Question {
	uid := uint32(os.Geteuid())
	open := d.engine.Waiting.Questions(&uid)
	list := make([]notify.Question, len(open))
	for i := range open {
		o := &open[i]
		q := notify.Question{
			ID: o.Decision.ID, Agent: o.Harness, Tool: o.Tool, Arguments: o.Arguments, Reason: reasonOf(o), Until: o.Until,
		}
		for i := range o.Decision.Effects {
			q.Effects = append(q.Effects, o.Decision.Effects[i].Text)
		}
		list[i] = q
	}
	return list
}

// notifies returns what notifications show. A daemon that serves several people has no session
// bus, and the desktop may be that of another person.
func (d *daemon) notifies() string {
	if d.dirs.System {
		return settings.NotifyOff
	}
	return d.rules.Notify()
}

// wholeStatus is the status with what takes a moment to find out.
func (d *daemon) wholeStatus() Status {
	s := d.status()
	if !d.dirs.System {
		n := d.notifier.Status()
		s.Notify = &n
	}
	return s
}
