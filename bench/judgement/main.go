// Command judgement measures how good the shipped rules decide: it runs them,
// as a daemon would, over corpora of labelled attacks, labelled calls, calls
// that agents really made, test cases of other permission systems and examples
// of documentation, and prints the scores.
//
// Nothing of it touches the machine: homes, projects and their files are made
// in memory. It is a benchmark of judgement, not of time, so its numbers are the
// same on every machine, and -check holds them against a file of scores.
//
// It knows no verdict by itself. What a row expects is in the corpus; how
// the rules of other systems are written in permd's own form is in
// translate.go and peers_rules.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// options are what the command line says.
type options struct {
	corpus   string
	profile  string
	asJSON   bool
	failures string
	check    string
	update   string
	max      int
}

// errWorse means that a score is worse than the one it was held against.
var errWorse = errors.New("a score is worse than it was")

func main() {
	var o options
	flag.StringVar(&o.corpus, "corpus", "../shared/corpus", "folder of the corpora")
	flag.StringVar(&o.profile, "profile", "balanced", "profile of the base rules: careful, balanced or unattended")
	flag.BoolVar(&o.asJSON, "json", false, "print the scores as one JSON object")
	flag.StringVar(&o.failures, "failures", "", "print the rows of a `CLASS` instead of the scores; \"list\" prints the classes")
	flag.StringVar(&o.check, "check", "", "fail when a score is worse than in this `FILE`")
	flag.StringVar(&o.update, "update", "", "write the scores to this `FILE`")
	flag.IntVar(&o.max, "most", 15, "lines of each list of what is asked and not known")
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
			fmt.Fprintf(os.Stderr, "judgement: hint: if that is meant, -update %s writes the new scores\n", o.check)
		}
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(flag.CommandLine.Output(), `usage: judgement [-corpus DIR] [-profile NAME] [-json | -failures CLASS] [-check FILE | -update FILE]

Runs the shipped rules over the corpora in DIR and prints the scores.

`)
	flag.PrintDefaults()
}

// judge measures and prints what the options ask for.
func judge(ctx context.Context, out io.Writer, o options) (err error) {
	b, err := newBench(ctx, o.profile)
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
