package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/socket/client"
)

// load is the work of all clients, with what they counted.
type load struct {
	daemon  *daemon
	options options
	oracle  *oracle
	rules   *rules
	admin   *client.Client // shared by all clients

	counts   counts
	answered *answered
	// lateReason is the first reason of a decision that failed.
	lateReason atomic.Pointer[string]

	mu   sync.Mutex
	took []time.Duration // of one request in sampledOf, the first maxTook of them
}

// counts are the events of a run.
type counts struct {
	sent      atomic.Int64 // requests for a decision
	allow     atomic.Int64 // decisions, all compared with the oracle
	ask       atomic.Int64
	deny      atomic.Int64
	cancelled atomic.Int64 // requests that were answered as cancelled
	busy      atomic.Int64 // requests that were refused for a limit
	starved   atomic.Int64 // times that a client had no processor for as long as it waits at most
	late      atomic.Int64 // decisions that were not made in time, and asked, denied or refused instead
	abandoned atomic.Int64 // requests of clients that vanished
	chosen    atomic.Int64 // answers of persons
	overtaken atomic.Int64 // a yes that was refused because the rules had changed
	stored    atomic.Int64 // choices
	forgotten atomic.Int64
	connected atomic.Int64
}

// maxTook bounds the sample of durations, sampledOf says that one request of so many is
// in it.
const (
	maxTook   = 100_000
	sampledOf = 16
)

// run lets all clients work until timed is done, and checks that nothing is left
// unanswered. Its error is the first thing that did not hold.
func (l *load) run(ctx, timed context.Context) error {
	admin, err := client.Dial(ctx, l.daemon.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer admin.Close()
	l.admin = admin
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	timed, stop := context.WithCancel(timed)
	defer stop()
	unhook := context.AfterFunc(ctx, stop)
	defer unhook()
	var clients, others sync.WaitGroup
	for number := range l.options.clients {
		clients.Go(func() {
			c := &connection{load: l, number: number, rand: rand.New(rand.NewPCG(l.options.seed, uint64(number)))}
			if err := c.run(ctx, timed); err != nil {
				fail(fmt.Errorf("client %d: %w", number, err))
			}
		})
	}
	around, end := context.WithCancel(ctx)
	for _, work := range []func(context.Context) error{
		func(ctx context.Context) error { return l.rules.change(ctx, l.options.reload) }, l.look,
	} {
		others.Go(func() {
			if err := work(around); err != nil && around.Err() == nil {
				fail(err)
			}
		})
	}
	clients.Wait()
	end()
	others.Wait()
	return context.Cause(ctx)
}

// look reads the status, the journal and the choices, as people do while agents work.
func (l *load) look(ctx context.Context) error {
	c, err := client.Dial(ctx, l.daemon.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
		var state struct {
			Journal struct {
				Failing string `json:"failing"`
			} `json:"journal"`
			Memory struct {
				Degraded []string `json:"degraded"`
			} `json:"memory"`
		}
		if err := c.Call(ctx, "permd/status", struct{}{}, &state); err != nil {
			return fmt.Errorf("reading the status: %w", err)
		}
		if state.Journal.Failing != "" || len(state.Memory.Degraded) > 0 {
			return fmt.Errorf("the daemon is degraded: %+v", state)
		}
		if err := c.Call(ctx, "permd/decisions.list", map[string]int{"limit": 100}, nil); err != nil {
			return fmt.Errorf("listing decisions: %w", err)
		}
		if err := c.Call(ctx, "permd/choices.list", map[string]int{"limit": 100}, nil); err != nil {
			return fmt.Errorf("listing choices: %w", err)
		}
	}
}

// count counts a decision.
func (l *load) count(d *decision) {
	switch d.Verdict {
	case "allow":
		l.counts.allow.Add(1)
	case "deny":
		l.counts.deny.Add(1)
	default:
		l.counts.ask.Add(1)
	}
}

// late counts a decision that was not made in time, for a reason.
func (l *load) late(reason string) {
	l.counts.late.Add(1)
	l.lateReason.CompareAndSwap(nil, &reason)
}

// lateOf is how many decisions may be late: one of so many. What is late is safe, but a
// daemon that is always late is of no use.
const lateOf = 50

// checkLate returns an error if too many decisions were late.
func (l *load) checkLate() error {
	if late, sent := l.counts.late.Load(), l.counts.sent.Load(); late*lateOf > sent {
		return fmt.Errorf("%d of %d decisions were not made in time", late, sent)
	}
	return nil
}

// decided is how many requests were answered with a decision.
func (l *load) decided() int64 {
	return l.counts.allow.Load() + l.counts.ask.Load() + l.counts.deny.Load()
}

// note takes in how long a request took.
func (l *load) note(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) < maxTook {
		l.took = append(l.took, took)
	}
}
