// Package hookproc is the process that an agent's harness starts before each call of a
// tool: permd hook HARNESS. The agent waits for it, so it does as little as it can.
//
// Most of what a permd process would do is to initialise packages that only the daemon
// uses: rules, HTTP, metrics, JSON Schema. So a hook is answered while this package is
// initialised, and the process ends before it is those packages' turn. Go initialises
// packages in a fixed order: of those whose imports are all initialised, the first by
// path. That holds only as long as nothing here imports, at any depth, what those
// packages need; TestInitialisation fails when that has changed.
package hookproc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/permd/permd/socket/hook"
)

func init() {
	h, after, o := harness(os.Args)
	if h == nil {
		return
	}
	// While packages are initialised, this goroutine is bound to its thread. Another one
	// need not be woken for each message.
	go func() { os.Exit(run(h, after, o, os.Stdin, os.Stdout, os.Stderr)) }()
	select {}
}

// Options are what the command line of a hook says.
type Options struct {
	// Wait is how long the hook waits for a person, 0 for not at all.
	Wait time.Duration
	// System has the hook ask the machine's daemon alone.
	System bool
}

// harness returns the harness of the command line permd hook HARNESS [--system] [--after |
// --wait DURATION], nil for another one.
func harness(args []string) (h *hook.Harness, after bool, o Options) {
	if len(args) < 3 || args[1] != "hook" {
		return nil, false, Options{}
	}
	words := args[3:]
	if len(words) > 0 && words[0] == "--system" {
		o.System, words = true, words[1:]
	}
	switch {
	case len(words) == 1 && words[0] == "--after":
		after = true
	case len(words) == 2 && words[0] == "--wait":
		var ok bool
		if o.Wait, ok = ParseWait(words[1]); !ok {
			return nil, false, Options{}
		}
	case len(words) > 0:
		return nil, false, Options{}
	}
	return hook.ByName(args[2]), after, o
}

// run answers one hook as the whole process, and returns the exit code.
func run(h *hook.Harness, after bool, o Options, in io.Reader, out, errw io.Writer) int {
	// Most harnesses proceed with the call when a hook dies of a signal. The signals are
	// not given back, because the process ends.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Some also proceed when a hook dies of SIGPIPE without a message on standard
	// error.
	signal.Ignore(syscall.SIGPIPE)
	if after {
		return After(ctx, h, o, in, out, errw)
	}
	return Answer(ctx, h, o, in, out, errw)
}

// Answer answers one hook, and returns the exit code.
func Answer(ctx context.Context, h *hook.Harness, o Options, in io.Reader, out, errw io.Writer) int {
	return write(answer(ctx, h, in, o), out, errw)
}

func write(answer hook.Output, out, errw io.Writer) int {
	if _, err := out.Write(answer.Stdout); err != nil && len(answer.Stdout) > 0 {
		answer = hook.Block("writing the answer: " + err.Error())
	}
	if answer.Stderr != "" {
		fmt.Fprint(errw, answer.Stderr)
	}
	return answer.Code
}
