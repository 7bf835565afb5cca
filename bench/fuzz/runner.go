package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// result is what came of a target.
type result struct {
	Target     string  `json:"target"`
	Executions int64   `json:"executions"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// Inputs are those that reach new code, of this run and of those before.
	Inputs int  `json:"inputs"`
	Failed bool `json:"failed"`
	// Case is the file of the input that failed, in the repository, "" for a seed.
	Case   string `json:"case,omitempty"`
	Output string `json:"output,omitempty"`
}

// add adds what came of a part of the time.
func (r *result) add(part *result) {
	r.Executions += part.Executions
	r.CPUSeconds += part.CPUSeconds
	r.Inputs = max(r.Inputs, part.Inputs)
	r.Failed, r.Case, r.Output = part.Failed, part.Case, part.Output
}

func (r *result) outcome() string {
	switch {
	case !r.Failed:
		return "ok"
	case r.Case == "":
		return "FAILED: a seed"
	}
	return "FAILED: " + r.Case
}

// runner builds each package once and runs its targets.
type runner struct {
	options
	dir     string // of the test programs
	pkg     string // the package that was built last
	program string
	cache   string // of inputs
	past    *state // nil for none
	commit  string
}

// build builds the tests of a target's package, with the instrumentation that guides the
// search for inputs.
func (r *runner) build(ctx context.Context, t target) error {
	if r.pkg == t.pkg {
		return nil
	}
	var err error
	if r.dir == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
		if err != nil {
			return fmt.Errorf("asking for Go's cache: %w", err)
		}
		r.cache = filepath.Join(strings.TrimSpace(string(out)), "fuzz")
		if r.dir, err = os.MkdirTemp("", "permd-fuzz"); err != nil {
			return err
		}
	}
	r.program, err = filepath.Abs(filepath.Join(r.dir, "fuzz.test"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-fuzz", t.name, "-o", r.program, "./"+t.pkg)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests: %w\n%s", err, out)
	}
	r.pkg = t.pkg
	return nil
}

func (r *runner) close() {
	if r.dir != "" {
		_ = os.Remove(r.program)
		_ = os.Remove(r.dir)
	}
}

// run runs a target until it has used its time of processors: on a busy machine, the time
// of the clock says little.
func (r *runner) run(ctx context.Context, t target) (*result, error) {
	if err := r.build(ctx, t); err != nil {
		return nil, err
	}
	res := &result{Target: t.String()}
	end := time.Now().Add(maxSlowdown * r.each)
	left := r.each
	if r.past != nil {
		left = r.past.left(t, r.each)
	}
	for !r.isDone(left) && time.Now().Before(end) && ctx.Err() == nil && !res.Failed {
		clock := left / time.Duration(r.parallel)
		if r.past != nil {
			clock = min(clock, maxRound)
		}
		part := &result{}
		used, err := r.round(ctx, t, clock, part)
		if err != nil {
			return nil, err
		}
		left -= used
		res.add(part)
		if r.past != nil {
			r.past.add(t, part, r.commit, time.Now())
			if err := r.past.write(); err != nil {
				return nil, err
			}
		}
	}
	return res, nil
}

// isDone reports whether so little of a target's time is left that it is not worth a start.
func (r *runner) isDone(left time.Duration) bool { return left <= r.each/20 }

// maxRound is how long a target runs, by the clock, until its state is written. At the
// beginning of each round its inputs are tried again, which takes a second or two.
const maxRound = 2 * time.Minute

// maxSlowdown is how many times longer than on an idle machine a target may take.
const maxSlowdown = 20

// round runs a target for a time of the clock, and returns the time of processors.
func (r *runner) round(ctx context.Context, t target, clock time.Duration, res *result) (used time.Duration, err error) {
	// Below the time of a worker's start nothing would be tried.
	clock = max(clock.Round(time.Millisecond), 500*time.Millisecond)
	cmd := exec.CommandContext(ctx, r.program, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", clock.String(),
		"-test.fuzzminimizetime", "1000x", "-test.parallel", strconv.Itoa(r.parallel),
		"-test.fuzzcachedir", filepath.Join(r.cache, "github.com/permd/permd", filepath.FromSlash(t.pkg)), "-test.timeout", "0")
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(t.pkg))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if state := cmd.ProcessState; state != nil {
		used = state.UserTime() + state.SystemTime()
	}
	res.CPUSeconds += used.Seconds()
	res.take(t, out.String())
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		if ctx.Err() == nil && !endedLate(out.String()) {
			res.Failed, res.Output = true, out.String()
		}
		err = nil
	}
	return used, err
}

// endedLate reports whether a target fails only because its time ended while it was being
// searched for a smaller input of new code, for which package testing fails it
// .
func endedLate(out string) bool {
	_, said, failed := strings.Cut(out, "--- FAIL: ")
	_, said, _ = strings.Cut(said, "\n")
	said, _, _ = strings.Cut(said, "\nFAIL")
	return failed && strings.TrimSpace(said) == "context deadline exceeded"
}

var (
	progress = regexp.MustCompile(`execs: (\d+) .*\(total: (\d+)\)`)
	// At first the seeds and the inputs of earlier runs are tried.
	baseline = regexp.MustCompile(`gathering baseline coverage: (\d+)/`)
	written  = regexp.MustCompile(`Failing input written to (\S+)`)
)

// take reads what the testing package prints of its progress.
func (r *result) take(t target, out string) {
	if all := progress.FindAllStringSubmatch(out, -1); all != nil {
		last := all[len(all)-1]
		n, _ := strconv.ParseInt(last[1], 10, 64)
		r.Executions += n
		r.Inputs, _ = strconv.Atoi(last[2])
	} else if all := baseline.FindAllStringSubmatch(out, -1); all != nil {
		n, _ := strconv.ParseInt(all[len(all)-1][1], 10, 64)
		r.Executions += n
	}
	if m := written.FindStringSubmatch(out); m != nil {
		r.Case = path.Join(t.pkg, filepath.ToSlash(m[1]))
	}
}
