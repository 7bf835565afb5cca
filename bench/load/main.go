// Command load holds a real daemon under the load of many clients for a set time, while
// rules are reloaded, choices are remembered and forgotten, and requests are cancelled.
//
// It compares each answer with that of a decisions.Engine in this process that has the
// same rules. It fails if a request has no answer or two, if an answer is not that of any
// rules that were in force meanwhile, if the journal lacks an answer, or if the daemon's
// memory, goroutines or descriptors grow.
//
// With -hostile it measures what clients can bring about that use as much as they can.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

type options struct {
	clients  int
	inFlight int
	requests int
	duration time.Duration
	every    time.Duration
	reload   time.Duration
	rest     time.Duration
	budget   float64
	seed     uint64
	program  string
	settings string
	asJSON   bool
	hostile  string
}

// errUsage means that the flags are wrong.
var errUsage = errors.New("the flags are wrong")

func parse(args []string, w io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(w)
	f.IntVar(&o.clients, "clients", 64, "clients that are connected at the same time")
	f.IntVar(&o.inFlight, "inflight", 4, "most requests that a client has open at the same time")
	f.DurationVar(&o.duration, "for", time.Minute, "how long")
	f.IntVar(&o.requests, "n", 0, "end after this many requests, if that is earlier (0: no limit)")
	f.DurationVar(&o.every, "every", 10*time.Second, "time between two lines of the report")
	f.DurationVar(&o.reload, "reload", time.Second, "time between two changes of the rules")
	f.DurationVar(&o.rest, "rest", 5*time.Second, "time for the daemon to give back what clients held, after they are gone")
	f.Float64Var(&o.budget, "budget", 0, "most resident memory after the rest, in MiB (0: no limit)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of what the clients do")
	f.StringVar(&o.program, "permd", "", "the permd program (default: built from this source)")
	f.StringVar(&o.settings, "settings", "", "a permd.toml for the daemon")
	f.StringVar(&o.hostile, "hostile", "", "instead, run clients that use as much as they can: hogs, message, connections or all")
	f.BoolVar(&o.asJSON, "json", false, "print JSON, a line for each sample and one for the summary")
	if err := f.Parse(args); err != nil {
		return o, errors.Join(errUsage, err)
	}
	if f.NArg() > 0 || o.clients < 1 || o.inFlight < 1 || o.requests < 0 || o.duration <= 0 || o.every <= 0 || o.reload <= 0 || o.rest < 0 {
		f.Usage()
		return o, errUsage
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.hostile != "" {
		err = runHostile(ctx, o)
	} else {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load: error:", err)
		stop()
		os.Exit(1)
	}
}

// run starts a daemon, drives it, and reports. Its error says what did not hold.
func run(ctx context.Context, o options, w io.Writer) error {
	d, err := startDaemon(ctx, o)
	if err != nil {
		return err
	}
	defer d.end()
	if err := d.findHTTP(ctx); err != nil {
		return err
	}
	oracle, err := newOracle(ctx, d)
	if err != nil {
		return err
	}
	defer oracle.close()
	rules := newRules(d, oracle)
	if err := rules.begin(ctx); err != nil {
		return err
	}
	l := &load{daemon: d, options: o, oracle: oracle, rules: rules, answered: newAnswered(maxAnswered)}
	r := newReport(w, o.asJSON, d, l)
	idle, err := r.sample(ctx, "idle")
	if err != nil {
		return err
	}

	timed, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx, timed) }()
	err = r.follow(ctx, ended)
	failures := []error{err}
	if err == nil {
		failures = append(failures, l.checkLate())
		failures = append(failures, r.grown())
		failures = append(failures, r.atRest(ctx, idle))
		failures = append(failures, l.checkJournal(ctx))
	}
	err = errors.Join(failures...)
	r.summary(err)
	return err
}
