package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/bundles"
)

// fleet is everything that runs.
type fleet struct {
	o          options
	dir        string
	repository string // the source of permd

	site     *site
	web      web
	receiver *receiverProcess
	stores   *stores
	judge    *judge
	machines []*machine
	daemons  []*daemon
	report   *report
	traffic  *traffic

	decisions   []*decisions.Record // of the real engine, for journals
	differs     []bool              // which of them the next rules decide otherwise
	revision    int                 // the last that was published and is good
	good        []byte              // the bundle of that revision
	discovering bool                // opa.yaml of machines has discovery
	idle        int                 // goroutines before any machine
	storeMiB    float64             // what one store takes
}

// run makes a fleet and takes it through the scenarios. Its error says what did not hold.
func run(ctx context.Context, o options, w io.Writer) (err error) {
	// The name is short: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	f := &fleet{o: o, dir: dir, report: &report{w: w, o: o}}
	defer func() { err = errors.Join(err, f.end(), os.RemoveAll(dir)) }()
	if err := f.furnish(ctx); err != nil {
		return err
	}
	f.report.head(f)
	for _, s := range scenarios {
		if s.name != firstRollout && len(o.only) > 0 && !slices.Contains(o.only, s.name) {
			continue
		}
		if err := f.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	f.report.decisions = f.expected()
	if err := f.allEnd(); err != nil {
		return err
	}
	f.report.summary(f)
	return nil
}

// furnish makes all that the machines need.
func (f *fleet) furnish(ctx context.Context) error {
	var err error
	if f.repository, err = repository(ctx); err != nil {
		return err
	}
	if f.site, err = newSite(f.dir, f.repository, f.o); err != nil {
		return err
	}
	if f.receiver, err = startReceiver(f.dir); err != nil {
		return err
	}
	if f.web, err = f.newWeb(); err != nil {
		return err
	}
	if err := f.web.start(ctx); err != nil {
		return err
	}
	f.traffic = &traffic{path: f.web.accessLog()}
	if f.stores, err = newStores(); err != nil {
		return err
	}
	before := heap()
	if f.judge, err = newJudge(ctx, f.stores); err != nil {
		return err
	}
	if _, err := f.publish(ctx, f.next(1)); err != nil {
		return err
	}
	f.idle = runtime.NumGoroutine()
	for n := range f.o.machines {
		m := f.newMachine(n)
		f.machines = append(f.machines, m)
		if n >= f.o.machines-f.o.journals {
			m.log = &journalling{fleet: f}
		}
		if n < f.o.stores {
			if m.store, err = f.stores.open(ctx, nil); err != nil {
				return err
			}
		}
	}
	f.storeMiB = (heap() - before) / float64(1+f.o.stores)
	if f.o.daemons > 0 {
		program, err := buildPermd(ctx, f.o.program, f.dir)
		if err != nil {
			return err
		}
		for n := range f.o.daemons {
			d, err := f.startDaemon(ctx, program, n)
			if err != nil {
				return err
			}
			f.daemons = append(f.daemons, d)
		}
	}
	return nil
}

// newWeb makes the server, which is nil after an error.
func (f *fleet) newWeb() (web, error) {
	if f.o.server == "go" {
		g, err := newGoServer(f.site, f.receiver.addr)
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	program, err := findNginx(f.o.nginx)
	if err != nil {
		return nil, err
	}
	n, err := newNginx(program, f.repository, f.site, f.receiver.addr)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// heap returns what is in use of it, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// next returns the next edition of the rules, which denies a command of its own.
func (f *fleet) next(revision int) edition {
	return edition{revision: revision, by: f.site.key, rules: deny(revision)}
}

func deny(n int) string {
	return fmt.Sprintf("deny:\n  run:\n    - {match: %q, reason: edition %d}\n", tool(n), n)
}

// tool is the command that an edition denies.
func tool(n int) string { return fmt.Sprintf("edtool %d", n) }

// publish has the server send a good edition from now on. As with `permd policy bundle build`, its
// rules are compiled and tested before. It returns when machines could have it.
func (f *fleet) publish(ctx context.Context, e edition) (at time.Time, err error) {
	data, err := e.build(f.site)
	if err != nil {
		return at, err
	}
	if err := f.judge.examine(ctx, data); err != nil {
		return at, err
	}
	f.revision, f.good = e.revision, data
	return time.Now(), f.site.publish(resource, data)
}

// publishBad has the server send a bundle that no machine may take.
func (f *fleet) publishBad(e edition) error {
	data, err := e.build(f.site)
	if err != nil {
		return err
	}
	return f.site.publish(resource, data)
}

// longest is the longest delay between two polls.
func (f *fleet) longest() time.Duration { return 2 * f.o.poll }

// limit is when the program gives up waiting.
func (f *fleet) limit() time.Duration { return time.Minute + 20*f.longest() }

// How many machines start, and do other things, at the same time. More would wait for this machine's
// processors, until what bounds the time of a journal's file system gives up.
const (
	startTogether = 4
	doTogether    = 64
)

// all calls do for machines, many at the same time.
func all(machines []*machine, together int, do func(*machine) error) error {
	errs := make([]error, len(machines))
	slots := make(chan struct{}, together)
	var wait sync.WaitGroup
	for i, m := range machines {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(m)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// startAgain ends machines and starts them anew.
func startAgain(ctx context.Context, machines []*machine) error {
	err := all(machines, doTogether, (*machine).end)
	return errors.Join(err, all(machines, startTogether, func(m *machine) error { return m.begin(ctx) }))
}

// spread is when machines reached something, in seconds since it could be had.
type spread struct {
	Half float64 `json:"half"`
	Most float64 `json:"most"` // 99 %
	All  float64 `json:"all"`
}

// await waits until something holds for all machines, and returns when it did. holds returns since
// when it does.
func (f *fleet) await(ctx context.Context, from time.Time, machines []*machine, holds func(*machine) (time.Time, bool)) (spread, error) {
	var took []time.Duration
	left := slices.Clone(machines)
	deadline := time.Now().Add(f.limit())
	for {
		left = slices.DeleteFunc(left, func(m *machine) bool {
			at, ok := holds(m)
			if ok {
				took = append(took, max(0, at.Sub(from)))
			}
			return ok
		})
		if len(left) == 0 {
			break
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			revision, _ := left[0].has(bundles.Org)
			why := left[0].delivery(bundles.Org).Error
			if f.discovering {
				why += left[0].delivery(bundles.Discovery).Error
			}
			return spread{}, errors.Join(ctx.Err(), fmt.Errorf("%d of %d machines are not there after %v; %s has revision %q and says %q",
				len(left), len(machines), time.Since(from).Round(time.Second), left[0].name(), revision, why))
		}
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(took)
	at := func(share float64) float64 { return took[min(len(took)-1, int(share*float64(len(took))))].Seconds() }
	return spread{Half: at(.5), Most: at(.99), All: took[len(took)-1].Seconds()}, nil
}

// awaitRevision waits until all machines and daemons have a revision in force.
func (f *fleet) awaitRevision(ctx context.Context, from time.Time, revision int) (spread, error) {
	want := fmt.Sprint(revision)
	s, err := f.await(ctx, from, f.machines, func(m *machine) (time.Time, bool) {
		got, at := m.has(bundles.Org)
		return at, got == want
	})
	if err != nil {
		return s, err
	}
	return s, errors.Join(f.awaitDaemons(ctx, want, ""), f.checkVerdict(ctx, tool(revision), "deny"))
}

// awaitProblem waits until all say why they took nothing, and returns an error if one took
// something.
func (f *fleet) awaitProblem(ctx context.Context, from time.Time, text string) (spread, error) {
	s, err := f.await(ctx, from, f.machines, func(m *machine) (time.Time, bool) {
		s := m.delivery(bundles.Org)
		return s.Since, strings.Contains(s.Error, text)
	})
	if err == nil {
		err = f.awaitDaemons(ctx, fmt.Sprint(f.revision), text)
	}
	return s, errors.Join(err, f.unchanged())
}

// awaitWell waits until no machine says that something is wrong.
func (f *fleet) awaitWell(ctx context.Context, from time.Time) (spread, error) {
	s, err := f.await(ctx, from, f.machines, func(m *machine) (time.Time, bool) {
		s := m.delivery(bundles.Org)
		return s.Checked, s.Error == "" && s.Checked.After(from)
	})
	if err == nil {
		err = f.awaitDaemons(ctx, fmt.Sprint(f.revision), "")
	}
	return s, err
}

// unchanged returns an error if a machine has another revision than the last good one.
func (f *fleet) unchanged() error {
	want := fmt.Sprint(f.revision)
	for _, m := range f.machines {
		if got, _ := m.has(bundles.Org); got != want {
			return fmt.Errorf("%s has revision %q, want %q", m.name(), got, want)
		}
		data, err := os.ReadFile(filepath.Join(m.kept(), "org-bundle.tar.gz"))
		if err != nil || !slices.Equal(data, f.good) {
			return errors.Join(err, fmt.Errorf("%s keeps another bundle than revision %s", m.name(), want))
		}
	}
	for _, m := range f.machines[1:f.o.stores] {
		if err := sameRules(f.machines[0].store, m.store); err != nil {
			return fmt.Errorf("%s: %w", m.name(), err)
		}
	}
	return nil
}

// allEnd stops all machines and the server, and returns an error if goroutines are left.
func (f *fleet) allEnd() error {
	err := all(f.machines, doTogether, (*machine).end)
	f.machines = nil
	if err = errors.Join(err, f.web.stop()); err != nil {
		return err
	}
	deadline := time.Now().Add(20 * time.Second)
	for runtime.NumGoroutine() > f.idle+10 {
		if time.Now().After(deadline) {
			stacks := make([]byte, 8<<10)
			return fmt.Errorf("%d goroutines are left of %d machines, %d were there before\n%s", runtime.NumGoroutine(), f.o.machines, f.idle, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// end stops what still runs.
func (f *fleet) end() error {
	var errs []error
	for _, d := range f.daemons {
		d.end()
	}
	_ = all(f.machines, doTogether, func(m *machine) error {
		if m.manager == nil {
			return nil
		}
		return m.end()
	})
	if f.web != nil {
		errs = append(errs, f.web.hang(false), f.web.stop())
	}
	if f.receiver != nil {
		errs = append(errs, f.receiver.stop())
	}
	return errors.Join(errs...)
}
