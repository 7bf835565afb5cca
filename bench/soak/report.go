package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// report prints each sample when it is taken.
type report struct {
	w      io.Writer
	asJSON bool
	daemon *daemon
	load   *load
	start  time.Time
	last   sample
}

// sample is the state of the daemon at one moment.
type sample struct {
	At        string  `json:"at,omitempty"` // "idle", "end" or "rest", or "" for one during the load
	Seconds   float64 `json:"seconds"`
	Decisions int64   `json:"decisions"`
	PerSecond float64 `json:"perSecond"` // requests a second since the sample before
	memory
	Journal float64 `json:"journalMiB"`
	Memory  float64 `json:"rememberMiB"`
	Reloads int64   `json:"reloads"`
	Stored  int64   `json:"choicesStored"`
}

func newReport(w io.Writer, asJSON bool, d *daemon, l *load) *report {
	if !asJSON {
		fmt.Fprintf(w, "%8s %10s %8s %8s %8s %8s %8s %9s %8s\n", "seconds", "decisions", "per s", "RSS", "peak RSS", "heap", "program", "journal", "choices")
	}
	return &report{w: w, asJSON: asJSON, daemon: d, load: l, start: time.Now()}
}

func (r *report) sample(at string) {
	s := sample{At: at, Seconds: time.Since(r.start).Seconds(), Decisions: r.load.done.Load(), Reloads: r.load.reloads.Load(), Stored: r.load.stored.Load()}
	var err error
	if s.memory, err = r.daemon.memory(); err != nil {
		fmt.Fprintln(r.w, "cannot read the memory use:", err)
		return
	}
	s.Journal, s.Memory = r.daemon.disk("decisions.db"), r.daemon.disk("remember.db")
	if took := s.Seconds - r.last.Seconds; took > 0 {
		s.PerSecond = float64(s.Decisions-r.last.Decisions) / took
	}
	r.last = s
	if r.asJSON {
		r.json(s)
		return
	}
	fmt.Fprintf(r.w, "%8.0f %10d %8.0f %8.1f %8.1f %8.1f %8.1f %9.1f %8d  %s\n",
		s.Seconds, s.Decisions, s.PerSecond, s.RSS, s.HWM, s.Anon, s.File, s.Journal, s.Stored, at)
}

// summary prints the verdicts, the durations, and whether the memory is within the
// budget.
func (r *report) summary() {
	l := r.load
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	at := func(percent int) float64 {
		if len(l.took) == 0 {
			return 0
		}
		return float64(l.took[len(l.took)*percent/100].Microseconds())
	}
	end := struct {
		Allow     int64   `json:"allow"`
		Ask       int64   `json:"ask"`
		Deny      int64   `json:"deny"`
		P50       float64 `json:"p50Micros"` // duration of a request, with others in flight
		P99       float64 `json:"p99Micros"`
		RSS       float64 `json:"rss"`
		Budget    int     `json:"budget"`
		InBudget  bool    `json:"inBudget"`
		Decisions int64   `json:"decisions"`
	}{l.allow.Load(), l.ask.Load(), l.deny.Load(), at(50), at(99), r.last.RSS, budget, r.last.RSS <= budget, l.done.Load()}
	if r.asJSON {
		r.json(end)
		return
	}
	fmt.Fprintf(r.w, "%d allowed, %d asked, %d denied; p50 %.0f µs, p99 %.0f µs for a request, with %d in flight on each of %d connections\n",
		end.Allow, end.Ask, end.Deny, end.P50, end.P99, l.o.inFlight, l.o.conns)
	word := "within"
	if !end.InBudget {
		word = "OVER"
	}
	fmt.Fprintf(r.w, "%.1f MiB resident after %d decisions, %s the budget of %d MiB (all sizes in MiB)\n", end.RSS, end.Decisions, word, budget)
}

func (r *report) json(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // it encodes a struct above, which cannot fail
	}
	fmt.Fprintln(r.w, string(line))
}
