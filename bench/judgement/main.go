// Command judgement measures how well the shipped rules decide. It runs them, as a
// daemon would, on corpora of labelled attacks, labelled calls, calls that agents
// really made, test cases of other permission systems and examples of
// documentation, and prints the scores.
//
// It does not touch the machine: homes, projects and their files are made in
// memory. It measures verdicts, not time, so its numbers are the same on every
// machine, and -check compares them with a file of scores.
//
// The wanted verdicts are in the corpora. translate.go and peers_rules.go translate
// careless rules, and those of other systems, into permd's own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/permd/permd/decisions"
)

// options are the options of the command line.
type options struct {
	corpus   string
	profile  string
	asJSON   bool
	failures string
	check    string
	update   string
	max      int
	compare  func(in *decisions.Input, kept, anew []decisions.Finding) // see shipped.Rules; for tests
}

// errWorse means that a score is worse than the one in the file of -check.
var errWorse = errors.New("a score is worse than it was")

func main() {
	var o options
	flag.StringVar(&o.corpus, "corpus", "../shared/corpus", "folder of the corpora")
	flag.StringVar(&o.profile, "profile", "balanced", "profile of the base rules: careful, balanced or unattended")
	flag.BoolVar(&o.asJSON, "json", false, "print the scores as one JSON object")
	flag.StringVar(&o.failures, "failures", "", "print the rows of a `CLASS` instead of the scores; \"list\" prints the classes")
	flag.StringVar(&o.check, "check", "", "fail when a score is worse than in this `FILE`")
	flag.StringVar(&o.update, "update", "", "write the scores to this `FILE`")
	flag.IntVar(&o.max, "most", 15, "maximum `LINES` of each list of reasons and unknown programs")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() > 0 || o.check != "" && o.update != "" || o.max < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := judge(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "judgement: error:", err)
		if errors.Is(err, errWorse) {
			fmt.Fprintf(os.Stderr, "judgement: hint: if that is intended, -update %s writes the new scores\n", o.check)
		}
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(flag.CommandLine.Output(), `usage: judgement [-corpus DIR] [-profile NAME] [-json | -failures CLASS] [-check FILE | -update FILE]

Decides the calls of the corpora in DIR with the shipped rules, and prints how many verdicts are right.

`)
	flag.PrintDefaults()
}

// judge measures the rules and prints what the options ask for.
func judge(ctx context.Context, out io.Writer, o options) (err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.rules.Close()) }()
	score, err := b.measure(ctx, o.corpus)
	if err != nil {
		return err
	}
	switch {
	case o.failures == "list":
		b.found.classes(out)
	case o.failures != "":
		if err := b.found.print(out, o.failures); err != nil {
			return err
		}
	case o.asJSON:
		if err := writeJSON(out, score); err != nil {
			return err
		}
	default:
		report(out, score, o.max)
	}
	if o.update != "" {
		return writeScores(o.update, score)
	}
	if o.check != "" {
		return checkScores(out, o.check, score, o.asJSON)
	}
	return nil
}
