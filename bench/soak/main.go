// Command soak sends a real daemon a million calls over its socket, as agents make
// them, and prints the daemon's memory use meanwhile.
//
// With -hostile it measures what clients can bring about that use as much as they can.
//
// It is a benchmark, not a test: its numbers are for people on a quiet machine. It
// fails only if the daemon answers wrongly or not at all, or hostile clients get more
// than they may.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// budget is how much memory the daemon may use at the end, in MiB.
const budget = 64

type options struct {
	calls    int
	conns    int
	inFlight int
	every    time.Duration
	max      time.Duration
	program  string
	settings string
	asJSON   bool
	hostile  string
}

func main() {
	var o options
	flag.IntVar(&o.calls, "n", 1_000_000, "decisions to ask for")
	flag.IntVar(&o.conns, "conns", 8, "connections that ask at the same time")
	flag.IntVar(&o.inFlight, "inflight", 4, "requests that a connection has open at the same time")
	flag.DurationVar(&o.every, "every", 10*time.Second, "time between two lines of the report")
	flag.DurationVar(&o.max, "for", 0, "end after this time, however many were asked for (0: no limit)")
	flag.StringVar(&o.program, "permd", "", "the permd program (default: built from this source)")
	flag.StringVar(&o.settings, "settings", "", "a permd.toml for the daemon")
	flag.BoolVar(&o.asJSON, "json", false, "print JSON, a line for each sample")
	flag.StringVar(&o.hostile, "hostile", "", "instead, run clients that use as much as they can: hogs, message, connections or all")
	flag.Parse()
	if flag.NArg() > 0 || o.calls < 1 || o.conns < 1 || o.inFlight < 1 || o.every <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := soak
	if o.hostile != "" {
		run = runHostile
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak: error:", err)
		stop()
		os.Exit(1)
	}
}

// soak starts a daemon, drives it, and reports.
func soak(ctx context.Context, o options) error {
	if o.max > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.max)
		defer cancel()
	}
	d, err := startDaemon(ctx, o)
	if err != nil {
		return err
	}
	defer d.end()
	load := newLoad(d, o)
	report := newReport(os.Stdout, o.asJSON, d, load)
	report.sample("idle")

	ended := make(chan error, 1)
	go func() { ended <- load.run(ctx) }()
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			report.sample("end")
			if err == nil {
				// Memory that is no longer in use is returned within seconds, or
				// not at all.
				time.Sleep(25 * time.Second)
				report.sample("rest")
			}
			report.summary()
			return err
		case <-tick.C:
			report.sample("")
		}
	}
}
