package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// report takes samples, and prints some of them.
type report struct {
	w       io.Writer
	asJSON  bool
	daemon  *daemon
	load    *load
	start   time.Time
	last    sample
	samples []usage // during the load
	rest    *usage  // when it is over
}

// sample is the state of the daemon at one moment.
type sample struct {
	At        string  `json:"at,omitempty"` // "idle" or "rest", or "" for one during the load
	Seconds   float64 `json:"seconds"`
	Decisions int64   `json:"decisions"`
	PerSecond float64 `json:"perSecond"` // since the line before
	usage
	Journal float64 `json:"journalMiB"`
	Memory  float64 `json:"rememberMiB"`
	Changes int64   `json:"changes"` // of the rules
	Choices int64   `json:"choices"` // that were stored
}

func newReport(w io.Writer, asJSON bool, d *daemon, l *load) *report {
	if !asJSON {
		fmt.Fprintf(w, "%8s %10s %8s %8s %8s %8s %8s %8s %9s %8s %8s\n",
			"seconds", "decisions", "per s", "RSS", "peak RSS", "goroutin", "descript", "threads", "journal", "changes", "choices")
	}
	return &report{w: w, asJSON: asJSON, daemon: d, load: l, start: time.Now()}
}

// follow takes samples until the load has ended, and returns the load's error.
func (r *report) follow(ctx context.Context, ended <-chan error) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	next := time.Now().Add(r.load.options.every)
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		// Clients that end all at once are not what grows.
		select {
		case err := <-ended:
			return err
		default:
		}
		u, err := r.daemon.usage(ctx)
		if err != nil {
			fmt.Fprintln(r.w, "cannot read what the daemon uses:", err)
			continue
		}
		r.samples = append(r.samples, u)
		if time.Now().After(next) {
			r.line("", u)
			next = time.Now().Add(r.load.options.every)
		}
	}
}

// grown returns an error if the daemon uses more and more.
func (r *report) grown() error { return growth(r.samples) }

// atRest waits until the daemon has nothing left of the clients, and checks its memory.
func (r *report) atRest(ctx context.Context, idle usage) error {
	var now usage
	var err error
	// What is left may still be given back for some time.
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if now, err = r.daemon.usage(ctx); err == nil {
			err = left(idle, now)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.load.options.rest):
	}
	if now, err = r.sample(ctx, "rest"); err != nil {
		return err
	}
	r.rest = &now
	if budget := r.load.options.budget; budget > 0 && now.RSS > budget {
		return fmt.Errorf("%.1f MiB are resident without clients, over the budget of %.0f MiB", now.RSS, budget)
	}
	return nil
}

// sample prints what the daemon uses now.
func (r *report) sample(ctx context.Context, at string) (usage, error) {
	u, err := r.daemon.usage(ctx)
	if err != nil {
		return u, fmt.Errorf("reading what the daemon uses: %w", err)
	}
	r.line(at, u)
	return u, nil
}

func (r *report) line(at string, u usage) {
	l := r.load
	s := sample{
		At: at, Seconds: time.Since(r.start).Seconds(), Decisions: l.decided(), usage: u, Changes: l.rules.loaded.Load(), Choices: l.counts.stored.Load(),
		Journal: r.daemon.disk("decisions.db"), Memory: r.daemon.disk("remember.db"),
	}
	if took := s.Seconds - r.last.Seconds; took > 0 {
		s.PerSecond = float64(s.Decisions-r.last.Decisions) / took
	}
	r.last = s
	if r.asJSON {
		r.json(s)
		return
	}
	fmt.Fprintf(r.w, "%8.0f %10d %8.0f %8.1f %8.1f %8d %8d %8d %9.1f %8d %8d  %s\n",
		s.Seconds, s.Decisions, s.PerSecond, s.RSS, s.HWM, s.Goroutines, s.Descriptors, s.Threads, s.Journal, s.Changes, s.Choices, at)
}

// summary are the numbers of a run.
type summary struct {
	OK        bool    `json:"ok"`
	Failure   string  `json:"failure,omitempty"`
	Clients   int     `json:"clients"`
	Seconds   float64 `json:"seconds"`
	Seed      uint64  `json:"seed"`
	Sent      int64   `json:"sent"`
	Allow     int64   `json:"allow"`
	Ask       int64   `json:"ask"`
	Deny      int64   `json:"deny"`
	Cancelled int64   `json:"cancelled"`
	Abandoned int64   `json:"abandoned"`
	Busy      int64   `json:"busy"`
	Starved   int64   `json:"starvedClients"`
	Late      int64   `json:"late"`
	LateWhy   string  `json:"lateReason,omitempty"` // of the first
	Changes   int64   `json:"changes"`
	Broken    int64   `json:"brokenChanges"`
	Chosen    int64   `json:"chosen"`
	Overtaken int64   `json:"overtaken"`
	Stored    int64   `json:"stored"`
	Forgotten int64   `json:"forgotten"`
	Connected int64   `json:"connections"`
	P50       float64 `json:"p50Millis"` // duration of a request, of those in load.took
	P99       float64 `json:"p99Millis"`
	Peak      float64 `json:"peakRSS"`
	Rest      *usage  `json:"rest,omitempty"`
}

// summary prints the numbers of the run. err is what did not hold, nil if all did.
func (r *report) summary(err error) {
	l := r.load
	n := &l.counts
	s := summary{
		OK: err == nil, Clients: l.options.clients, Seconds: time.Since(r.start).Seconds(), Seed: l.options.seed,
		Sent: n.sent.Load(), Allow: n.allow.Load(), Ask: n.ask.Load(), Deny: n.deny.Load(), Cancelled: n.cancelled.Load(),
		Abandoned: n.abandoned.Load(), Busy: n.busy.Load(), Starved: n.starved.Load(), Late: n.late.Load(), Changes: l.rules.loaded.Load(), Broken: l.rules.refused.Load(),
		Chosen: n.chosen.Load(), Overtaken: n.overtaken.Load(), Stored: n.stored.Load(), Forgotten: n.forgotten.Load(), Connected: n.connected.Load(),
		P50: l.percentile(50), P99: l.percentile(99), Peak: r.last.HWM, Rest: r.rest,
	}
	if why := l.lateReason.Load(); why != nil {
		s.LateWhy = *why
	}
	if err != nil {
		s.Failure = err.Error()
	}
	if r.asJSON {
		r.json(s)
		return
	}
	fmt.Fprintf(r.w, "%d clients on %d connections, %.0f s, seed %d: %d requests, p50 %.1f ms, p99 %.1f ms\n",
		s.Clients, s.Connected, s.Seconds, s.Seed, s.Sent, s.P50, s.P99)
	fmt.Fprintf(r.w, "answers: %d allow, %d ask, %d deny; %d not decided in time; %d cancelled, %d refused for a limit; %d requests of clients that vanished\n",
		s.Allow, s.Ask, s.Deny, s.Late, s.Cancelled, s.Busy, s.Abandoned)
	if s.Starved > 0 {
		fmt.Fprintf(r.w, "%d times a client itself had no processor for %v\n", s.Starved, patience)
	}
	if s.Late > 0 {
		fmt.Fprintf(r.w, "the first that failed: %s\n", s.LateWhy)
	}
	fmt.Fprintf(r.w, "%d changes of the rules, %d broken ones; %d answers of persons, %d overtaken by a change; %d choices stored, %d forgotten\n",
		s.Changes, s.Broken, s.Chosen, s.Overtaken, s.Stored, s.Forgotten)
	if err == nil {
		fmt.Fprintf(r.w, "every request has one answer, none is wrong, the journal has them, nothing grows; %.1f MiB resident at the end (all sizes in MiB)\n", r.rest.RSS)
	}
}

// percentile returns a percentile of the durations of requests, in milliseconds.
func (l *load) percentile(percent int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return float64(l.took[len(l.took)*percent/100].Microseconds()) / 1000
}

func (r *report) json(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // it encodes a struct above, which cannot fail
	}
	fmt.Fprintln(r.w, string(line))
}
