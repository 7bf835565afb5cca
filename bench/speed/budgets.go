package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/permd/permd/policy/policytest"
)

// budget is what something may take, and what it took.
type budget struct {
	Name    string  `json:"name"`
	Figure  float64 `json:"figure"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least"` // the figure must be at least the limit, otherwise at most
	Passed  bool    `json:"passed"`
	Known   bool    `json:"known"` // it was measured
}

// heavy are figures that take minutes to find, for -budgets alone. What was not measured is
// 0.
type heavy struct {
	ReloadMS    float64 `json:"reload_1000_rules_ms"`
	Decisions   int     `json:"decisions"`
	MemoryMiB   float64 `json:"rss_after_decisions_mib"`
	PeakMiB     float64 `json:"rss_peak_of_decisions_mib"`
	ParallelSec float64 `json:"parallel_256_of_100_s"`
}

// budgets are those of the report.
func (r *report) budgets() []budget {
	var all []budget
	add := func(name string, figure, limit float64, atLeast bool) {
		known := figure != 0 && !math.IsNaN(figure)
		passed := known && (atLeast && figure >= limit || !atLeast && figure <= limit)
		all = append(all, budget{name, figure, limit, atLeast, passed, known})
	}
	most := func(name string, figure, limit float64) { add(name, figure, limit, false) }
	least := func(name string, figure, limit float64) { add(name, figure, limit, true) }
	most("a new command's p50, by the echo's", r.RatioFresh, 5)
	most("a repeated command's p50, by the echo's", r.RatioCached, 2.5)
	least("OPA's p50, by a new command's", r.SpeedupOPA, 4)
	for _, c := range r.Compared {
		if c.Clients > 1 {
			least(fmt.Sprintf("throughput of %d clients, new commands, by OPA's", c.Clients), c.Fresh, 3)
			least(fmt.Sprintf("throughput of %d clients, repeated commands, by OPA's", c.Clients), c.Repeated, 6)
		}
		most(fmt.Sprintf("p99 of %d clients, new commands, by OPA's", c.Clients), c.P99, 1)
	}
	most("permd hook claude, p50 in ms", r.HookP50, 10)
	most("what permd acp adds to a decided request, p50 in µs", r.Proxy.Added, 50)
	most("allocations of a repeated command, over the socket", r.AllocsCached, 50)
	most("bytes of a repeated command, over the socket", r.BytesCached, 5000)
	most("allocations of a new command of a known shape, over the socket", r.AllocsFresh, 120)
	most("reload of 1,000 rules, in ms", r.Heavy.ReloadMS, 300)
	most(fmt.Sprintf("resident memory after %d decisions, in MiB", r.Heavy.Decisions), r.Heavy.MemoryMiB, 64)
	most("256 parallel AAP calls of 100 operands, in s", r.Heavy.ParallelSec, 1.5)
	return all
}

// writeBudgets prints the budgets, line by line.
func writeBudgets(w io.Writer, all []budget) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "budget\tfigure\tlimit\t")
	for _, b := range all {
		sign := "≤"
		if b.AtLeast {
			sign = "≥"
		}
		result := "FAIL"
		switch {
		case b.Passed:
			result = "pass"
		case !b.Known:
			result = "not measured"
		}
		fmt.Fprintf(t, "%s\t%.4g\t%s %g\t%s\n", b.Name, b.Figure, sign, b.Limit, result)
	}
	t.Flush()
}

// heavy measures what is measured for the budgets alone.
func (p *plan) heavy(ctx context.Context, o options, progress func(string)) (h heavy, err error) {
	g := &growth{world: p.world, permd: p.permd, turn: o.turn}
	progress("reloading 1,000 rules")
	if h.ReloadMS, err = g.reload(ctx, 1000); err != nil {
		return h, fmt.Errorf("reloading: %w", err)
	}
	progress("256 parallel calls")
	turn, err := ofParallel(ctx, g, 256)
	if err != nil {
		return h, err
	}
	h.ParallelSec = turn.Fresh / 1e6
	progress(fmt.Sprintf("%d decisions", o.decisions))
	h.Decisions = o.decisions
	u, err := g.decide(ctx, o.decisions)
	h.MemoryMiB, h.PeakMiB = u.RSS, u.Peak
	return h, err
}

// reload measures how long permd/reload takes after one of n rules has changed, in
// milliseconds.
func (g *growth) reload(ctx context.Context, n int) (float64, error) {
	rules := policytest.Rules(0, n-1)
	var path string
	s, err := g.daemon(ctx, configuration{connections: 1}, func(dir string) error {
		path = filepath.Join(dir, "config", "permd", "policy.d", "more.rego")
		return write(path, rules)
	})
	if err != nil {
		return 0, err
	}
	defer g.end(s)
	admin, err := dial(filepath.Join(filepath.Dir(filepath.Dir(s.socket)), "permd-admin", "admin.sock"), false)
	if err != nil {
		return 0, err
	}
	defer admin.conn.Close()
	var took []float64
	for i := range 2*growthRounds + 1 {
		text := fmt.Sprintf("%s\nask contains \"new %d\" if input.effect.program == \"new\"\n", rules, i)
		if err := write(path, text); err != nil {
			return 0, err
		}
		// Files that have just been written are waited for; that takes no processor.
		past := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Chtimes(path, past, past), os.Chtimes(filepath.Dir(path), past, past)); err != nil {
			return 0, err
		}
		start := time.Now()
		answer, err := admin.roundTrip(withID(line("permd/reload", "{}")))
		if err == nil && !bytes.Contains(answer, []byte(`"result"`)) {
			err = fmt.Errorf("%w: %s", errWrongAnswer, answer)
		}
		if err != nil {
			return 0, err
		}
		if i > 0 {
			took = append(took, micros(time.Since(start))/1000)
		}
	}
	return median(took), nil
}

// restAfter is how long a daemon has no requests before its memory is looked at: it gives
// back what it does not use some seconds after the last one.
const restAfter = 10 * time.Second

// decide has a daemon decide as many commands as told, half of them new, by eight clients,
// and returns its memory after a rest.
func (g *growth) decide(ctx context.Context, decisions int) (usage, error) {
	const clients = 8
	s, err := g.daemon(ctx, configuration{connections: clients}, nil)
	if err != nil {
		return usage{}, err
	}
	defer g.end(s)
	conns, err := s.connections(clients)
	if err != nil {
		return usage{}, err
	}
	p := &plan{world: g.world}
	fresh := p.make(s.name, command, small, false, clients)
	repeated := p.make(s.name, command, small, true, clients)
	errs := make(chan error, clients)
	for _, c := range conns {
		go func() {
			var err error
			for left := decisions / clients; left > 0 && err == nil && ctx.Err() == nil; left -= 200 {
				for _, series := range []*series{fresh, repeated} {
					if err == nil {
						_, err = c.drive(g.calls.next(series), series.want, time.Now().Add(time.Hour), min(100, max(1, left/2)), nil)
					}
				}
			}
			errs <- err
		}()
	}
	for range clients {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return usage{}, err
	}
	select {
	case <-ctx.Done():
		return usage{}, ctx.Err()
	case <-time.After(restAfter):
	}
	return s.usage()
}

// failed returns an error that names how many budgets were exceeded.
func failed(all []budget) error {
	n := len(all) - len(slices.DeleteFunc(slices.Clone(all), func(b budget) bool { return b.Known && !b.Passed }))
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d budgets are exceeded", n, len(all))
}
