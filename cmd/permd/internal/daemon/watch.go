package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/socket/systemd"
)

// UnansweredLine is a file system that does not answer, in one line.
func UnansweredLine(s mounts.Stuck, now time.Time) string {
	return fmt.Sprintf("%s stuck for %s below %s: calls that need it ask",
		cli.Plural(s.Looks, "look"), now.Sub(s.Since).Round(time.Second), display.Display(s.Mount))
}

// summary is the status for the service manager. It names times and not how long ago
// that was: nobody updates it every second.
func (s *server) summary(rules policy.Status) string {
	texts, _ := s.hangs()
	if lines := WaitingLines(rules.Waiting); lines != nil {
		texts = append(lines[:1], texts...)
	}
	return strings.Join(append([]string{rules.Summary()}, texts...), "; ") + memorySummary(s.memory.Damage())
}

// hangs says what hangs, and of what kind that is: without numbers and times, which may
// change all the time.
func (s *server) hangs() (texts, kinds []string) {
	for _, m := range s.engine.Mounts.Stuck() {
		kind := "below " + display.Display(m.Mount)
		texts = append(texts, fmt.Sprintf("%s stuck since %s %s", cli.Plural(m.Looks, "look"), m.Since.Local().Format(time.TimeOnly), kind))
		kinds = append(kinds, "looks stuck "+kind)
	}
	for _, d := range s.stuck(time.Now()) {
		texts = append(texts, d.since())
		kinds = append(kinds, "decisions stuck "+d.place())
	}
	for _, p := range s.files.list() {
		texts = append(texts, p.Problem)
		kinds = append(kinds, p.Problem)
	}
	if s.watchdog.failure() != "" { // the log has more of it
		texts = append(texts, "the self-check failed")
	}
	return texts, kinds
}

// watchEvery is how often the daemon looks how it is. What it looks at is in its memory,
// but for the files of its sockets.
const watchEvery = 2 * time.Second

// watch keeps up to date what is mounted, looks for decisions that are stuck and for
// sockets whose files are gone, and tells the service manager.
func (s *server) watch(ctx context.Context) {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.engine.Mounts.Watch(ctx)
	}()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.engine.Mounts.Changed():
			s.healthChanged()
		case <-tick.C:
			for _, path := range s.files.repair() {
				s.log.Warn("the file of a socket was gone, it is bound anew", "path", path)
			}
			s.healthChanged()
		}
	}
	<-watching
}

// healthChanged tells the service manager how the daemon is, if that is not what it was
// told last.
func (s *server) healthChanged() {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	text := s.summary(s.rules.Status())
	if text == s.lastStatus {
		return
	}
	s.lastStatus = text
	if _, kinds := s.hangs(); !slices.Equal(kinds, s.hanging) {
		s.hanging = kinds
		if len(kinds) > 0 {
			s.log.Warn("something hangs", "what", strings.Join(kinds, "; "))
		} else {
			s.log.Info("nothing hangs any more")
		}
	}
	if err := systemd.Status(text); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
}
