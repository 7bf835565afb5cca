package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/policy/bundles"
)

// decide has all machines with a journal decide calls.
func (f *fleet) decide(ctx context.Context) error {
	return all(f.journalling(), startTogether, func(m *machine) error { return m.log.decide(ctx, f.o.calls) })
}

func (f *fleet) journalling() []*machine { return f.machines[len(f.machines)-f.o.journals:] }

// outage stops the server, has machines decide and some of them restart meanwhile, and starts it
// again with a new policy.
func (f *fleet) outage(ctx context.Context, r *result) (err error) {
	if err := f.decide(ctx); err != nil {
		return err
	}
	down := time.Now()
	if err := f.web.stop(); err != nil {
		return err
	}
	if _, err := f.awaitProblem(ctx, down, "refused"); err != nil {
		return err
	}
	if err := f.decide(ctx); err != nil {
		return err
	}
	// Some start anew without a server: one with a store, and some that have a log to send.
	again := append([]*machine{f.machines[0]}, f.machines[len(f.machines)-max(1, len(f.machines)/10):]...)
	if err := startAgain(ctx, again); err != nil {
		return err
	}
	for _, m := range again {
		if m.start != fmt.Sprint(f.revision) {
			return fmt.Errorf("%s started without the server with revision %q, want %d", m.name(), m.start, f.revision)
		}
	}
	if err := errors.Join(f.unchanged(), pause(ctx, f.o.outage-time.Since(down))); err != nil {
		return err
	}
	if _, err := f.publish(ctx, f.next(f.revision+1)); err != nil {
		return err
	}
	up := time.Now()
	if err := f.web.start(ctx); err != nil {
		return err
	}
	if r.spread, err = f.awaitRevision(ctx, up, f.revision); err != nil {
		return err
	}
	if err := pause(ctx, 2*f.longest()); err != nil {
		return err
	}
	took, err := f.awaitLogs(ctx, up)
	r.Note = fmt.Sprintf("down for %.0f s; %d decisions of %d machines are there %.1f s after the return, complete and in order", up.Sub(down).Seconds(), f.expected(), f.o.journals, took.Seconds())
	// Polls come no closer than if all machines always waited the least delay, and half as many more.
	r.returned, r.most = up, int(1.5*float64(len(f.machines))/f.o.poll.Seconds())
	return errors.Join(err, f.unchanged())
}

// hang has the server accept connections and answer nothing until all machines have noticed.
func (f *fleet) hang(ctx context.Context, r *result) (err error) {
	start := time.Now()
	if err := f.web.hang(true); err != nil {
		return err
	}
	if _, err = f.await(ctx, start, f.machines, func(m *machine) (time.Time, bool) {
		s := m.delivery(bundles.Org)
		return s.Since, s.Error != ""
	}); err != nil {
		return err
	}
	up := time.Now()
	if err := errors.Join(f.unchanged(), f.web.hang(false)); err != nil {
		return err
	}
	r.spread, err = f.awaitWell(ctx, up)
	r.Note = fmt.Sprintf("it hung for %.0f s", up.Sub(start).Seconds())
	// The poll in which each machine waits is answered at once, and one that it has given up may be.
	r.returned, r.most = up, 2*len(f.machines)
	return errors.Join(err, f.unchanged())
}
