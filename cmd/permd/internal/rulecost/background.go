package rulecost

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/policy"
)

// Method of the management socket returns a [State]. It has no parameters, and does not wait.
const Method = "permd/ruleCosts"

// Bounds of what the daemon measures, and keeps.
const (
	fewCalls = 500
	fewRules = 100 // the slowest
	// within is how long it measures, without the time in which it rests: after restAfter of
	// work restTimes as long, since requests must not miss the processor.
	within    = 2 * time.Second
	restAfter = 5 * time.Millisecond
	restTimes = 3
	// freshFor is how long a report is returned before others are measured, and retryAfter that
	// after which a measurement that failed is tried again.
	freshFor   = 10 * time.Minute
	retryAfter = 30 * time.Second
	// back is how far back calls are looked at.
	back = 7 * 24 * time.Hour
)

// State is what the daemon knows of what rules cost. Its JSON form is stable.
type State struct {
	Report  *Report   `json:"report,omitzero"` // nil if nothing was measured yet
	Made    time.Time `json:"made,omitzero"`   // when it was
	Running bool      `json:"running"`         // a measurement is under way
	Problem string    `json:"problem,omitzero"`
}

// Background measures the rules that are in force when it is asked for that, in the background
// and one measurement at a time.
type Background struct {
	// Flush, if not nil, waits until the arguments of earlier decisions are in the folder, or
	// the context has ended.
	Flush func(context.Context)

	from source
	log  *slog.Logger
	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	state State
	ended time.Time // the latest measurement
	over  bool      // none begins any more
}

// NewBackground returns what measures the rules on the requests in a log, whose arguments are kept
// in a folder. Nothing is measured before the first State.
func NewBackground(log *journal.Reader, e *engine.Engine, r *engine.Rules, folder string, to *slog.Logger) *Background {
	b := &Background{log: to}
	b.ctx, b.end = context.WithCancel(context.Background())
	spent := time.Duration(0)
	b.from = source{
		page: records.Journal{Reader: log}.Page, engine: e, rules: r, policy: loaded{r.Store},
		calls: func(ids map[string]bool) (callOf, error) {
			calls, err := arguments.ReadCalls(folder, ids)
			if err != nil {
				return nil, err
			}
			return func(id string) (*arguments.Call, int) { return calls[id], 1 }, nil
		},
		maxCalls: fewCalls, maxWork: within,
		rest: func(ctx context.Context, took time.Duration) {
			if spent += took; spent < restAfter {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(restTimes * spent):
			}
			spent = 0
		},
	}
	return b
}

// State returns what is known, at once. It has the rules measured if they were not, or are others
// by now, or that was long ago.
func (b *Background) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.state.Running && !b.over && b.due() {
		b.state.Running = true
		b.done.Go(b.run)
	}
	return b.state
}

// due reports whether the rules are to be measured. It is called with mu held.
func (b *Background) due() bool {
	ago := time.Since(b.ended)
	switch {
	case b.state.Problem != "":
		return ago > retryAfter
	case b.state.Report == nil:
		return true
	}
	return ago > freshFor || b.state.Report.Digest != b.from.rules.Digest()
}

func (b *Background) run() {
	r, err := b.measure()
	if b.ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Running, b.ended = false, time.Now()
	if err != nil {
		b.state.Problem = err.Error()
		b.log.Warn("what rules cost cannot be measured", "error", err)
		return
	}
	r.Rules = r.Rules[:min(fewRules, len(r.Rules))]
	b.state.Report, b.state.Made, b.state.Problem = r, b.ended, ""
}

func (b *Background) measure() (r *Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("measuring panicked: %v", p)
		}
	}()
	if b.Flush != nil {
		limited, cancel := context.WithTimeout(b.ctx, time.Second)
		b.Flush(limited)
		cancel()
	}
	from := b.from
	from.off = !from.rules.KeepsArguments()
	return from.measure(b.ctx, decisions.RecordFilter{Since: time.Now().Add(-back)})
}

// Close ends what is under way.
func (b *Background) Close() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.end()
	b.done.Wait()
}

// loaded are the rules that are in force, without counting as a use of those of a project.
type loaded struct{ *policy.Store }

// Snapshot implements [decisions.Policy].
func (l loaded) Snapshot(uid uint32, project string) (decisions.Snapshot, error) {
	return l.Loaded(uid, project)
}
