package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := newLog(slog.NewTextHandler(&out, nil))
		for range 10 * logBurst {
			log.Error("decision not logged", "error", "no space")
		}
		log.With("conn", 1).Error("decision not logged") // the same message
		log.Info("another message")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != logBurst+1 || !strings.Contains(lines[logBurst], "another message") {
			t.Errorf("%d lines, the last is %q; want %d of the one message and the other", len(lines), lines[len(lines)-1], logBurst)
		}
		out.Reset()
		time.Sleep(logPeriod)
		log.Error("decision not logged")
		log.Error("decision not logged")
		lines = strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "left_out=181") || strings.Contains(lines[1], "left_out") {
			t.Errorf("the next period begins with %q", lines)
		}
	})
}
