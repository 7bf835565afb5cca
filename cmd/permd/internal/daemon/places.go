package daemon

import (
	"context"
	"time"

	"github.com/permd/permd/remember"
)

// lookEvery is how often the daemon makes sure that its databases are in their place.
const lookEvery = time.Second

// watchPlaces notices that a database, its folder or one above is moved away while the
// daemon runs, and says so. A look waits for nobody but this goroutine.
func (s *server) watchPlaces(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var was string
	for {
		var now string
		memory, journal := s.memory.Look(), s.journal.Look()
		switch {
		case memory != nil:
			now = memory.Error()
		case journal != nil:
			now = journal.Error()
		}
		switch now {
		case was:
		case "":
			s.log.Info("the databases are in their place again")
		default:
			s.log.Error("the databases are not where permd opened them: nothing can be remembered or revoked for good, and remembered allows are off", "why", now)
		}
		was = now
		s.healthChanged()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// memorySummary describes a damaged memory for the status of the service, "" if it is
// not damaged.
func memorySummary(m remember.Damage) (text string) {
	if m.AllowsOff {
		text += "; remembered allows are off"
	}
	if m.Gone != "" {
		text += "; the databases are not in their place"
	}
	if m.Lost != "" {
		text += "; rejects may be lost, so every call asks (permd remember forget " + m.Lost + ")"
	}
	return text
}
