package daemon

import (
	"context"
	"fmt"
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

// summary is the status for the service manager. It has times and no durations, since
// it is not updated every second.
func (s *server) summary(rules policy.Status) string {
	text := rules.Summary()
	for _, m := range s.engine.Mounts.Stuck() {
		text += fmt.Sprintf("; %s stuck since %s below %s", cli.Plural(m.Looks, "look"), m.Since.Local().Format(time.TimeOnly), display.Display(m.Mount))
	}
	return text + memorySummary(s.memory.Damage())
}

// watchFiles keeps the list of mounts current, and notifies the service manager of file
// systems that do not answer.
func (s *server) watchFiles(ctx context.Context) {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.engine.Mounts.Watch(ctx)
	}()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.engine.Mounts.Changed():
			s.filesChanged()
		}
	}
	<-watching
}

// filesChanged is called when a file system stops answering, or answers again.
func (s *server) filesChanged() {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	text := s.summary(s.rules.Status())
	if text == s.lastStatus {
		return
	}
	s.lastStatus = text
	s.log.Warn("file systems changed in whether they answer", "status", text)
	if err := systemd.Status(text); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
}
