package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/bench/internal/cputime"
)

// series is what is measured in each round: one server with requests of one kind.
type series struct {
	Server   string `json:"server"`
	Kind     string `json:"kind"`
	Size     string `json:"size"`
	Repeated bool   `json:"repeated"` // the same call again; otherwise each is new
	Clients  int    `json:"clients"`

	request template
	want    []byte
	rounds  []round
}

// round is what one turn of a series has shown.
type round struct {
	p50, p99, p999 float64 // µs
	perSecond      float64
	cpu            float64 // µs of the server's processor time for a request, NaN if not known
	switches       float64 // how often threads of the server stopped for a request, NaN if not known
	n              int
}

// numbers hands out the numbers of requests.
type numbers struct{ argument, id atomic.Int64 }

// next returns what makes the next request of a series.
func (n *numbers) next(s *series) func([]byte) []byte {
	return func(to []byte) []byte {
		argument, id := firstNumber, firstNumber+int(n.id.Add(1)%(lastNumber-firstNumber))
		if !s.Repeated {
			argument += int(n.argument.Add(1) % (lastNumber - firstNumber))
		}
		return s.request.append(to, argument, id)
	}
}

// turn lets a series' clients send requests for a time.
func (w *world) turn(s *series, n *numbers, length time.Duration) (round, error) {
	server := w.servers[s.Server]
	conns, err := server.connections(s.Clients)
	if err != nil {
		return round{}, err
	}
	took := make([][]time.Duration, s.Clients)
	for i := range took {
		took[i] = make([]time.Duration, 0, int(length/(5*time.Microsecond))/s.Clients)
	}
	runtime.GC() // what was allocated here is not collected in the turn
	errs := make([]error, s.Clients)
	pid := server.cmd.Process.Pid
	switched, switchErr := switches(pid)
	before, cpuErr := cputime.Of(pid)
	start := time.Now()
	until := start.Add(length)
	if s.Clients == 1 {
		took[0], errs[0] = conns[0].drive(n.next(s), s.want, until, math.MaxInt, took[0])
	} else {
		var all sync.WaitGroup
		for i, c := range conns {
			all.Go(func() { took[i], errs[i] = c.drive(n.next(s), s.want, until, math.MaxInt, took[i]) })
		}
		all.Wait()
	}
	elapsed := time.Since(start)
	after, err := cputime.Of(pid)
	if cpuErr == nil {
		cpuErr = err
	}
	switchedNow, err := switches(pid)
	if switchErr == nil {
		switchErr = err
	}
	for _, err := range errs {
		if err != nil {
			return round{}, fmt.Errorf("%s: %w", s.Server, err)
		}
	}
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	r := round{
		p50: micros(percentile(sorted, 0.5)), p99: micros(percentile(sorted, 0.99)), p999: micros(percentile(sorted, 0.999)),
		n: len(sorted), perSecond: float64(len(sorted)) / elapsed.Seconds(), cpu: math.NaN(), switches: math.NaN(),
	}
	if cpuErr == nil {
		r.cpu = micros(after-before) / float64(len(sorted))
	}
	if switchErr == nil {
		r.switches = float64(switchedNow-switched) / float64(len(sorted))
	}
	return r, nil
}

// measure takes turns: each series has one turn in a round, so that what happens to the
// machine meanwhile happens to all of them. The first round only fills caches and heaps.
func (w *world) measure(all []*series, rounds int, length time.Duration, progress func(string)) error {
	var n numbers
	for i := range rounds + 1 {
		progress(fmt.Sprintf("round %d of %d", i, rounds))
		for _, s := range all {
			r, err := w.turn(s, &n, length)
			if err != nil {
				return err
			}
			if i > 0 {
				s.rounds = append(s.rounds, r)
			}
		}
	}
	return nil
}

// each returns a value of all rounds.
func (s *series) each(of func(round) float64) []float64 {
	var out []float64
	for _, r := range s.rounds {
		out = append(out, of(r))
	}
	return out
}

func (s *series) p50() []float64       { return s.each(func(r round) float64 { return r.p50 }) }
func (s *series) p99() []float64       { return s.each(func(r round) float64 { return r.p99 }) }
func (s *series) perSecond() []float64 { return s.each(func(r round) float64 { return r.perSecond }) }
