// Command fleet runs many simulated machines against a real nginx that serves their rules, and
// takes each through what happens to a fleet: a rollout of signed rules, rules that are broken,
// another key, an old revision, a rollback, an outage, a server that hangs, and a canary.
//
// Each machine is permd's client code with a folder of its own: it parses its opa.yaml, downloads
// over TLS, verifies, refuses what may not follow, and keeps what it accepts. Only compiling rules
// is shared: it takes a second of a processor, so the rules of each bundle are compiled and tested
// once for all machines, and by a few machines that have a store each, besides a few real daemons. The program fails if a machine has other rules than it must have.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	machines int
	journals int
	stores   int
	daemons  int
	poll     time.Duration
	outage   time.Duration
	calls    int
	rules    int
	rego     bool
	answer   time.Duration
	server   string
	nginx    string
	program  string
	only     []string
	asJSON   bool
	headline bool
	verbose  bool
	profile  string
}

// errUsage means that the flags are wrong.
var errUsage = errors.New("the flags are wrong")

func parse(args []string, w io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.SetOutput(w)
	f.IntVar(&o.machines, "machines", 1000, "simulated machines")
	f.IntVar(&o.journals, "journals", -1, "machines among them that decide calls and send their log (-1: a tenth)")
	f.IntVar(&o.stores, "stores", 3, "machines among them that compile all rules themselves")
	f.IntVar(&o.daemons, "daemons", 2, "real daemons besides, as processes")
	f.DurationVar(&o.poll, "poll", 5*time.Second, "least delay between two polls of a machine, in whole seconds; the most is twice that (permd's default: 60 s)")
	f.DurationVar(&o.outage, "outage", 0, "how long the server is down (0: five times the longest delay)")
	f.IntVar(&o.calls, "calls", 20, "calls that a machine with a journal decides in each of three scenarios")
	f.IntVar(&o.rules, "rules", 200, "lines of rules in a bundle")
	f.BoolVar(&o.rego, "rego", false, "have the policies of examples/policies/org in bundles, too, whose reading takes most of the time of a machine")
	f.DurationVar(&o.answer, "answer", 0, "how long machines wait for an answer, in whole seconds (0: permd's 10 s, with less than 200 machines 2 s)")
	f.StringVar(&o.server, "server", "nginx", "what serves: nginx, or go for the file server of this program")
	f.StringVar(&o.nginx, "nginx", "", "the nginx program (default: found in PATH and in the folders of system programs)")
	f.StringVar(&o.program, "permd", "", "the permd program of the daemons (default: built from this source)")
	only := f.String("only", "", "of the scenarios after the first rollout, run these alone, as new,outage")
	f.BoolVar(&o.asJSON, "json", false, "print JSON: a line for each scenario and one for the summary")
	f.BoolVar(&o.headline, "headline", false, "print the summary alone")
	f.BoolVar(&o.verbose, "v", false, "print what machines log")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of the machines to this file")
	if err := f.Parse(args); err != nil {
		return o, errors.Join(errUsage, err)
	}
	if o.journals < 0 {
		o.journals = max(1, o.machines/10)
	}
	if o.answer == 0 {
		if o.answer = 10 * time.Second; o.machines < enough {
			o.answer = 2 * time.Second
		}
	}
	if o.outage == 0 {
		o.outage = 10 * o.poll
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name == "" {
			continue
		}
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			fmt.Fprintf(w, "fleet: there is no scenario %q\n", name)
			return o, errUsage
		}
		o.only = append(o.only, name)
	}
	if f.NArg() > 0 || o.machines < 5 || o.journals > o.machines || o.stores < 1 || o.stores > o.machines || o.daemons < 0 || o.poll < time.Second ||
		o.poll%time.Second != 0 || o.outage < time.Second || o.calls < 1 || o.rules < 1 || o.answer < 0 || o.server != "nginx" && o.server != "go" {
		fmt.Fprintln(w, "fleet: the flags do not fit together: at least 5 machines, as many journals and stores at most, whole seconds")
		f.Usage()
		return o, errUsage
	}
	return o, nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == receiverCommand {
		if err := receive(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "fleet: receiver:", err)
			os.Exit(1)
		}
		return
	}
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := profiled(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet: error:", err)
		stop()
		os.Exit(1)
	}
}

// profiled runs the fleet, with a profile if that is wanted.
func profiled(ctx context.Context, o options, w io.Writer) (err error) {
	if o.profile == "" {
		return run(ctx, o, w)
	}
	f, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return run(ctx, o, w)
}
