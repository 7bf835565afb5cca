// Command programs runs the real programs of the program table and compares what
// they do with what permd decides about them. Each command line that the shipped
// rules allow is run under strace, without a network, in a project whose files are
// hostile. It must run nothing but itself, change nothing and reach no network, and
// read only those of the person's files that the effects name.
//
// The result is the table in docs/programs.md, which -write writes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "only these programs, with commas; \"fast\" are those of .ci/run, \"sixty\" those that agents use most")
	install := flag.Bool("install", false, "install what is missing with apt-get (as root), npm and go")
	limit := flag.Duration("limit", 10*time.Second, "how long one run of a program may take")
	within := flag.Duration("within", 4*time.Hour, "what has not begun by then is not run, and named")
	every := flag.Duration("each", 0, "how long one program may take; what has not begun by then is not run (default: as long as it takes)")
	most := flag.Int("most", 0, "how many forms of a program are run (default: all)")
	random := flag.Int("random", 0, "run this many command lines of each program with words in random orders and spellings, instead of the table's forms")
	seed := flag.Uint64("seed", 1, "of the random command lines")
	posix := flag.Bool("posix", false, "set POSIXLY_CORRECT in the programs' environment")
	keep := flag.Bool("keep", false, "keep the folder with the project")
	asJSON := flag.Bool("json", false, "print outcomes as JSON, one a line")
	results := flag.String("results", "", "a file that outcomes are added to; without -only, programs that are in it are not tried again, and -write takes the last outcome of each")
	write := flag.Bool("write", false, "write the outcomes into docs/programs.md")
	ownData := flag.Int("git", 0, "run git's commands that change its own data in repositories that are prepared in each way by itself, and then in this many pairs")
	verbose := flag.Bool("v", false, "print each command line with its outcome")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t := &trial{limit: *limit, max: *most, each: *every, until: time.Now().Add(*within), keep: *keep, verbose: *verbose, random: *random, seed: *seed, posix: *posix}
	if *ownData > 0 {
		ok, err := gitOnly(ctx, t, *ownData)
		if err != nil {
			fmt.Fprintf(os.Stderr, "programs: error: %v\n", err)
		}
		if err != nil || !ok {
			stop()
			os.Exit(1)
		}
		return
	}
	ok, err := all(ctx, t, *only, *results, *install, *asJSON, *write)
	if err != nil {
		fmt.Fprintf(os.Stderr, "programs: error: %v\n", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

func all(ctx context.Context, t *trial, only, results string, install, asJSON, write bool) (bool, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return false, errors.New("strace is not installed (apt-get install strace)")
	}
	table, err := readTable()
	if err != nil {
		return false, err
	}
	names := table.names()
	switch only {
	case "":
	case "fast":
		names = fast
	case "sixty":
		names = sixty
	default:
		names = strings.Split(only, ",")
	}
	dir, err := toolsFolder()
	if err != nil {
		return false, err
	}
	t.path = toolsPath(dir)
	if install {
		for _, line := range installAll(ctx, dir, names) {
			fmt.Fprintln(os.Stderr, line)
		}
	}
	if results != "" && only == "" {
		had, err := last(results, table)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(had, func(o *programResult) bool { return o.Name == name })
		})
	}
	good := true
	var kept error
	var outcomes []*programResult
	err = t.run(ctx, names, func(o *programResult) {
		good = good && len(o.Findings) == 0
		outcomes = append(outcomes, o)
		if results != "" {
			kept = errors.Join(kept, keep(results, o))
		}
		if asJSON {
			_ = json.NewEncoder(os.Stdout).Encode(o)
			return
		}
		fmt.Printf("%s %s: %d command lines run, %d not allowed, %d allowed but only seen failing, %s%s\n", o.Name, o.Version, o.Forms, o.Asked, len(o.Untried), differences(len(o.Findings)), prefixed("; ", o.Missing))
		for _, f := range o.Findings {
			fmt.Println("   ", f)
		}
	})
	if err = errors.Join(err, kept); err != nil {
		return false, err
	}
	if write {
		if results != "" {
			if outcomes, err = last(results, table); err != nil {
				return false, err
			}
		}
		err = writeDocs(outcomes)
	}
	return good, err
}

func prefixed(with, text string) string {
	if text == "" {
		return ""
	}
	return with + text
}

// gitOnly runs the commands of git that change its own data, and prints the totals.
func gitOnly(ctx context.Context, t *trial, pairs int) (bool, error) {
	totals, err := t.ownData(ctx, pairs)
	if totals == nil {
		return false, err
	}
	fmt.Printf("%d runs allowed, %d of them ended well; %d asked, of which %d ran nevertheless and %d did more; %s\n", totals.allowed, totals.done, totals.asked, totals.tried, totals.astray, differences(len(totals.findings)))
	for _, f := range totals.findings {
		fmt.Println("   ", f)
	}
	if len(totals.failed) > 0 {
		fmt.Println("preparations that failed:", strings.Join(totals.failed, "; "))
	}
	return len(totals.findings) == 0, err
}
