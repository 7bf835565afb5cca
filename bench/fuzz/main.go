// Command fuzz runs the fuzz targets of this repository, all or some of them, each for a
// given time of processors, and prints how often each was executed.
//
// It finds the targets itself. An input that fails is written to testdata/fuzz of its
// package, where go test tries it from then on. Inputs that reach new code are kept in
// Go's build cache, so that the next run begins with them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
	"time"
)

type options struct {
	each     time.Duration
	only     *regexp.Regexp
	exposed  bool
	list     bool
	parallel int
	asJSON   bool
	root     string
	state    string // a file, "" for none
	shard    shard
}

// exposed are the targets that read what an agent or a client sends, before anything else
// has looked at it. .ci/run tries these.
var exposed = map[string]bool{
	"internal/strictjson.FuzzFastCheck":     true,
	"socket.FuzzDecode":                     true,
	"socket/acp.FuzzRequest":                true,
	"decisions/effects/shell.FuzzShell":     true,
	"decisions/effects/plainshell.FuzzRead": true,
}

func main() {
	var o options
	flag.DurationVar(&o.each, "each", 10*time.Second, "processor time for each target")
	only := flag.String("only", "", "run the targets that match this `regexp`, such as socket/acp.FuzzRequest")
	flag.BoolVar(&o.exposed, "exposed", false, "run only the targets that read what clients send")
	flag.BoolVar(&o.list, "list", false, "print the names of the targets, with -state what came of them, and run none")
	flag.IntVar(&o.parallel, "parallel", 1, "processes that run a target at the same time")
	flag.BoolVar(&o.asJSON, "json", false, "print JSON, a line for each target")
	flag.StringVar(&o.state, "state", "", "keep what came of each target in this `file`, and go on where a former run with it ended: -each is for all runs together")
	o.shard = shard{1, 1}
	flag.Var(&o.shard, "shard", "run only a `part` of the targets, such as 2/4; each part needs a -state of its own")
	flag.StringVar(&o.root, "C", ".", "the `folder` of the repository")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil || flag.NArg() > 0 || o.each <= 0 || o.parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz: error:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// run runs the chosen targets, and reports whether none failed.
func run(ctx context.Context, o options) (ok bool, err error) {
	all, err := findTargets(o.root)
	if err != nil {
		return false, err
	}
	chosen := choose(all, o)
	if len(chosen) == 0 {
		return false, fmt.Errorf("none of the %d targets is chosen", len(all))
	}
	var past *state
	if o.state != "" {
		if past, err = readState(o.state); err != nil {
			return false, err
		}
	}
	if o.list {
		for _, t := range chosen {
			if past == nil {
				fmt.Println(t)
			} else if r := past.Targets[t.String()]; r != nil {
				fmt.Printf("%s: %d executions in %.0f s of processors, %d inputs kept, %d failures, last on %s at %s\n", t, r.Executions, r.CPUSeconds, r.Inputs, r.Failures, r.Day, r.Commit)
			} else {
				fmt.Printf("%s: none\n", t)
			}
		}
		return true, nil
	}
	r := &runner{options: o, past: past, commit: commitOf(ctx, o.root)}
	defer r.close()
	ok = true
	var total result
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range chosen {
		if past != nil && r.isDone(past.left(t, o.each)) {
			continue
		}
		res, err := r.run(ctx, t)
		if err != nil {
			return false, fmt.Errorf("%s: %w", t, err)
		}
		ok = ok && !res.Failed
		total.Executions += res.Executions
		total.CPUSeconds += res.CPUSeconds
		if o.asJSON {
			line, err := json.Marshal(res)
			if err != nil {
				return false, err
			}
			fmt.Println(string(line))
		} else {
			fmt.Fprintf(out, "%s\t%d executions\t%.0f s\t%d inputs kept\t%s\n", res.Target, res.Executions, res.CPUSeconds, res.Inputs, res.outcome())
			out.Flush()
		}
		if res.Failed {
			fmt.Fprintln(os.Stderr, res.Output)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	if !o.asJSON {
		fmt.Printf("%d targets, %d executions in %.0f s of processors\n", len(chosen), total.Executions, total.CPUSeconds)
	}
	return ok, nil
}

func choose(all []target, o options) (chosen []target) {
	for _, t := range all {
		if o.only.MatchString(t.String()) && (!o.exposed || exposed[t.String()]) {
			chosen = append(chosen, t)
		}
	}
	var part []target
	for i, t := range chosen {
		if o.shard.has(i) {
			part = append(part, t)
		}
	}
	return part
}
