package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How often one message may be logged: what clients or a full disk cause with
// every request must not fill the disk as well.
const (
	logBurst  = 20
	logPeriod = 10 * time.Second
)

// newLog is the daemon's log on a handler, each message limited by itself.
func newLog(h slog.Handler) *slog.Logger {
	return slog.New(&limitedHandler{Handler: h, counts: &logCounts{of: map[string]*logCount{}}})
}

// limitedHandler passes on at most logBurst records of one message in a logPeriod. The
// first record of the next period has the number of those left out.
type limitedHandler struct {
	slog.Handler
	counts *logCounts // shared with the handlers derived from this one
}

// logCounts is keyed by messages, which are constants of the program.
type logCounts struct {
	mu sync.Mutex
	of map[string]*logCount
}

type logCount struct {
	start        time.Time // of the period
	passed, left int
}

// Handle implements slog.Handler.
func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	left, ok := h.counts.admit(r.Message, r.Time)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", left))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limitedHandler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup implements slog.Handler.
func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.counts}
}

// admit counts a record. It returns whether to log it, and how many of the
// period before were not.
func (c *logCounts) admit(message string, now time.Time) (left int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[message]
	switch {
	case n == nil:
		c.of[message] = &logCount{start: now, passed: 1}
		return 0, true
	case now.Sub(n.start) >= logPeriod, now.Before(n.start):
		left = n.left
		*n = logCount{start: now, passed: 1}
		return left, true
	case n.passed < logBurst:
		n.passed++
		return 0, true
	}
	n.left++
	return 0, false
}
