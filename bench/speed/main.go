// Command speed measures what a decision of permd costs, in one run with what it is
// compared with: a server that echoes lines, one that echoes requests over HTTP, and Open
// Policy Agent's server, with the same rules and the input document that permd evaluates.
// All are processes of their own on Unix sockets, and take turns.
//
// See docs/performance.md for what is compared and how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

type options struct {
	rounds      int
	turn        time.Duration
	clients     []int // besides one
	headline    bool
	proxy       bool
	opa         bool
	instruments bool
	runs        int
	npm         bool
	profile     string // a folder
	profileFor  time.Duration
	budgets     bool
	decisions   int
	write       bool
	growth      bool
	only        []string
	most        int
	plots       string
	kind        string
	program     string
	against     string // another build of permd
	asJSON      bool
	quiet       bool
	load        float64 // of the machine, before the run
}

// mostClients is how many connections a server has at most.
func (o *options) mostClients() int {
	most := 1
	for _, n := range o.clients {
		most = max(most, n)
	}
	return most
}

// errUsage means that the flags are wrong.
var errUsage = errors.New("the flags are wrong")

func parse(args []string, w io.Writer) (options, error) {
	o := options{clients: []int{16, 64}, load: load()}
	f := flag.NewFlagSet("speed", flag.ContinueOnError)
	f.SetOutput(w)
	f.IntVar(&o.rounds, "rounds", 9, "rounds, in each of which every server has its turn")
	f.DurationVar(&o.turn, "turn", 300*time.Millisecond, "length of a turn")
	f.BoolVar(&o.headline, "headline", false, "measure small commands of one client alone")
	f.BoolVar(&o.proxy, "proxy", false, "instead, measure what permd acp adds to a decided request")
	f.BoolVar(&o.opa, "opa", true, "compare with Open Policy Agent's server, which is built on first use")
	f.BoolVar(&o.instruments, "instruments", true, "build permd with instruments too: for allocations, and times without a journal")
	f.IntVar(&o.runs, "runs", 40, "how often each program of the second table is run")
	f.BoolVar(&o.npm, "npm", false, "install other programs of the second table from npm, into the user's cache folder (800 MB)")
	f.StringVar(&o.profile, "profile", "", "instead, write profiles and flame graphs of the daemon into this folder, and print what takes most")
	f.DurationVar(&o.profileFor, "profile-for", 10*time.Second, "length of a profile")
	f.BoolVar(&o.budgets, "budgets", false, "also measure what takes minutes, print the budgets, and fail if one is exceeded")
	f.IntVar(&o.decisions, "decisions", 1_000_000, "with -budgets, after how many decisions the daemon's memory is measured")
	f.BoolVar(&o.write, "write", false, "write the results into docs/performance.md, and with -growth and -profile the pictures next to it")
	f.BoolVar(&o.growth, "growth", false, "instead, measure how cost and memory grow")
	only := f.String("only", "", "with -growth, only these dimensions, with commas: rules, choices, sessions, connections, bytes, calls, parallel")
	f.IntVar(&o.most, "most", 1<<20, "with -growth, the largest size")
	f.StringVar(&o.plots, "plots", "", "with -growth, draw the curves into this folder")
	f.StringVar(&o.against, "against", "", "instead, compare the daemon with that of this program, another build of permd; with -proxy, its proxy")
	f.StringVar(&o.kind, "kind", command, "with -profile and -against, the kind of calls: command, edit or mcp")
	f.StringVar(&o.program, "permd", "", "the permd program (default: built from this source)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.BoolVar(&o.quiet, "q", false, "do not say what is being done")
	if err := f.Parse(args); err != nil {
		return o, errors.Join(errUsage, err)
	}
	if f.NArg() > 0 || o.rounds < 1 || o.runs < 1 || o.profileFor < time.Second || !knownKind(o.kind) || o.turn <= 0 {
		f.Usage()
		return o, errUsage
	}
	if o.headline {
		o.clients = nil
	}
	if o.write && o.growth {
		o.plots = docsPlots
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

func main() {
	maybeEcho(os.Args[1:])
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "speed: error:", err)
		stop()
		os.Exit(1)
	}
}

// run starts the servers, measures them, and reports.
func run(ctx context.Context, o options, out io.Writer) error {
	progress := func(text string) {
		if !o.quiet {
			fmt.Fprintln(os.Stderr, text)
		}
	}
	if o.profile != "" {
		return runProfile(ctx, o, progress)
	}
	if o.growth {
		return runGrowth(ctx, o, out, progress)
	}
	if o.proxy {
		return runProxied(ctx, o, out, progress)
	}
	if o.against != "" {
		return runPairs(ctx, o, out, progress)
	}
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	p, err := newPlan(ctx, w, o, progress)
	if err != nil {
		return err
	}
	p.schedule(o)
	if err := w.measure(p.all, o.rounds, o.turn, progress); err != nil {
		return err
	}
	progress("allocations")
	allocated, err := p.allocations(ctx)
	if err != nil {
		return err
	}
	progress("whole processes")
	programs, err := p.programs(ctx, o)
	if err != nil {
		return err
	}
	if err := runPrograms(ctx, programs, o.runs); err != nil {
		return err
	}
	progress("the proxy")
	proxy, err := p.proxied(ctx, "", o.rounds, o.turn)
	if err != nil {
		return err
	}
	r := newReport(p, o, programs, allocated)
	r.Proxy = proxy
	if o.budgets {
		if r.Heavy, err = p.heavy(ctx, o, progress); err != nil {
			return err
		}
	}
	r.Budgets = r.budgets()
	if o.write {
		if err := writeDocs(docsSpeed, r.markdown()); err != nil {
			return err
		}
	}
	if o.asJSON {
		if err := r.writeJSON(out); err != nil {
			return err
		}
	} else {
		r.writeText(out)
	}
	if !o.budgets {
		return nil
	}
	if !o.asJSON {
		writeBudgets(out, r.Budgets)
	}
	return failed(r.Budgets)
}
