//go:build linux

// Command shells compares what permd understands of shell text with what real
// shells do with it. It makes texts from a grammar and by changing those of
// corpora, and decides them with the shipped rules as the daemon would. It runs the
// allowed texts in every shell that the call may use: bash, dash, zsh and busybox.
// Each runs in its own session, as nobody, with programs on the PATH that only log
// how they were started. Whatever a text did that is no effect of its decision is a
// difference:
//
//   - a program ran, with these words, in this folder or with this kind of
//     standard input;
//   - a file was written or deleted;
//   - with strace, and real programs: a file was opened, a program executed or
//     an address connected to.
//
// A decision may have more effects than happen: shells end early, and branches are
// not taken. Differences are minimised and printed; there must be none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the options of the command line.
type options struct {
	allowed int
	traced  int
	seed    uint64
	only    uint64
	text    string
	family  string
	agent   string
	tree    string
	shells  string
	corpus  string
	module  string
	within  time.Duration
	max     int
	asJSON  bool
	small   bool
	asked   int
	inside  bool // this process has its own network namespace
}

// errDifferent means that a text did something that is no effect of its decision.
var errDifferent = errors.New("a text did something that is no effect of its decision")

func main() {
	var o options
	flag.IntVar(&o.allowed, "n", 2000, "run this many texts that are allowed, with stubs")
	flag.IntVar(&o.traced, "strace", 200, "and this many under strace, with real programs")
	flag.Uint64Var(&o.seed, "seed", 1, "of the texts")
	flag.Uint64Var(&o.only, "only", 0, "try only the text of this `NUMBER` of the seed, and print all that is seen")
	flag.StringVar(&o.text, "text", "", "try only this text, and print all that is seen")
	flag.StringVar(&o.family, "family", "", "make only texts of this family, such as shared or options")
	flag.StringVar(&o.agent, "agent", "", "with -text, the agent that sends it: goose, whose shells are not known, claude-code or gemini-cli")
	flag.StringVar(&o.tree, "tree", "project", "with -text, the folder that it is tried in: project, empty or names")
	flag.StringVar(&o.shells, "shells", "bash,dash,zsh,busybox", "the shells that texts are run in; one that is missing is named and left out")
	flag.StringVar(&o.corpus, "corpus", "", "a `FOLDER` with files *.jsonl whose commands are changed as well as the project's own")
	flag.StringVar(&o.module, "module", ".", "the folder of the module, whose test data is read")
	flag.DurationVar(&o.within, "time", time.Hour, "stop after this time, whatever was run")
	flag.IntVar(&o.max, "most", 100, "stop after this many differences")
	flag.BoolVar(&o.asJSON, "json", false, "print the summary and the differences as JSON, an object a line")
	flag.BoolVar(&o.small, "minimise", true, "make differences small")
	flag.IntVar(&o.asked, "asked", 10, "lines of why texts that are plain were not allowed")
	flag.BoolVar(&o.inside, "inside", false, "do not start again in a network namespace")
	flag.Parse()
	if flag.NArg() > 0 || o.allowed < 0 || o.traced < 0 || o.max < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, again := 0, false
	if !o.inside {
		code, again = apart(ctx)
	}
	if !again {
		if err := hunt(ctx, os.Stdout, &o); err != nil {
			fmt.Fprintln(os.Stderr, "shells: error:", err)
			code = 1
		}
	}
	stop()
	os.Exit(code)
}

// apart starts this program again in a network namespace without a network, if the
// system allows that, so that a wrong allow reaches nobody. It reports whether it
// did.
func apart(ctx context.Context) (code int, done bool) {
	test := exec.CommandContext(ctx, "true")
	test.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := test.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "shells: cannot make a network namespace: programs that run can reach the network")
		return 0, false
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"-inside"}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), true
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shells: error:", err)
		return 1, true
	}
	return 0, true
}

// shellPath has the paths of the installed shells, by name.
var shellPath = map[string]string{}

// findShells finds the shells, and prints those that are missing.
func findShells(list string) error {
	clear(shellPath)
	for name := range strings.SplitSeq(list, ",") {
		if shellArgs[name] == nil {
			return fmt.Errorf("unknown shell %q", name)
		}
		path, err := exec.LookPath(name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "shells: %s is not installed: no text runs in it\n", name)
			continue
		}
		shellPath[name] = path
	}
	if len(shellPath) == 0 {
		return errors.New("none of the shells is installed")
	}
	return nil
}
