package hookproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/hook"
)

const (
	// maxWait is the longest time for which a hook waits for a person.
	maxWait = time.Hour
	// Margin is how much longer than the wait a harness must let its hook run. The hook ends by
	// itself at half of it, also if the daemon hangs.
	Margin = 2 * Deadline
)

// minWait is the shortest time for which it is worth to wait.
const minWait = time.Second

// maxRounds bounds how often a call is asked about while a hook waits. It is asked about again when
// it would do something else by now, or the daemon has ended.
const maxRounds = 5

// ParseWait parses the value of --wait, as permd hook install writes it.
func ParseWait(text string) (time.Duration, bool) {
	wait, err := time.ParseDuration(text)
	return wait, err == nil && CheckWait(wait) == nil
}

// CheckWait returns an error for a time for which a hook cannot wait.
func CheckWait(wait time.Duration) error {
	if wait < minWait || wait > maxWait {
		return fmt.Errorf("a hook can wait from %s to %s", minWait, maxWait)
	}
	return nil
}

// waiter asks the daemon about calls, and waits for the answers of persons.
type waiter struct {
	Harness *hook.Harness
	Options
	// Limit returns how long the harness lets the hook run; nil means for as long as it takes.
	Limit func(ctx context.Context) (time.Duration, error)
	// Unattended is set if nobody is in front of the harness.
	Unattended bool
}

// errTooLong is the cause of the end of a hook that must have answered.
var errTooLong = errors.New("it took too long")

// Decide requests a decision about a call. begun is when the harness started to wait. It returns
// at the latest Wait and Deadline after that, or Margin/2 before the harness waits no longer.
func (w *waiter) Decide(ctx context.Context, r *hook.Request, begun time.Time) (*decisions.Decision, error) {
	until := begun.Add(w.Wait)
	limited := w.Limit == nil
	for round := 1; ; round++ {
		d, again, err := func() (*decisions.Decision, bool, error) {
			ctx, cancel := context.WithDeadlineCause(ctx, until.Add(Deadline), errTooLong)
			defer cancel()
			asking, cancel := context.WithTimeoutCause(ctx, Deadline, errTooLong)
			defer cancel()
			c, err := client.Connect(asking, client.Options{Timeout: Deadline, Machine: w.System})
			if err != nil {
				return nil, false, err
			}
			defer c.Close()
			d, err := decide(asking, c, w.Harness, r)
			if err != nil || time.Until(until) < minWait || !r.Waits(d, w.Unattended) {
				return d, false, err
			}
			if !limited {
				limited = true
				limit, err := w.Limit(asking)
				if err != nil {
					return withNote(d, "nobody is waited for: "+err.Error()), false, nil
				}
				if last := begun.Add(limit - Margin); last.Before(until) {
					until = last
				}
			}
			left := time.Until(until).Truncate(time.Second)
			if left < minWait {
				return d, false, nil
			}
			waiting, cancel := context.WithDeadlineCause(ctx, until.Add(Deadline), errTooLong)
			defer cancel()
			return w.await(waiting, c, d, left)
		}()
		if !again || round == maxRounds || time.Until(until) < minWait {
			return d, err
		}
	}
}

// codeRefused is the error code of the socket for a request that fits nothing, here the wait for a
// question that is not open any more.
const codeRefused = -32602

// await waits for the answer to a question. It returns what applies to the call, and whether it is
// to be asked about again.
func (*waiter) await(ctx context.Context, c client.Caller, d *decisions.Decision, left time.Duration) (*decisions.Decision, bool, error) {
	answer, err := client.Wait(ctx, c, d.ID, left)
	rpc, refused := errors.AsType[*client.Error](err)
	switch {
	case refused:
		return d, rpc.Code == codeRefused, nil // of what is refused otherwise, this is the answer
	case err != nil:
		return nil, ctx.Err() == nil, err
	}
	return answered(d, answer), false, nil
}

// answered returns the decision that an answer makes of a question.
func answered(d *decisions.Decision, answer *client.WaitResult) *decisions.Decision {
	verdict, now := answer.Verdict(), answer.Decision
	switch {
	case now != nil && now.Verdict == verdict:
		return now // by rules or choices, or what is asked instead
	case now != nil || verdict == decisions.Ask:
		return d // nobody has answered
	}
	said := *d
	said.Verdict, said.By, said.Needed, said.Message, said.NotRemembered = verdict, decisions.ByHuman, decisions.NotNeeded, "", ""
	said.Reason = "a person allowed this call"
	if verdict == decisions.Deny {
		said.Reason = "a person denied this call"
	}
	return &said
}

// withNote returns a question with a further reason.
func withNote(d *decisions.Decision, note string) *decisions.Decision {
	noted := *d
	noted.Reason = strings.TrimPrefix(noted.Reason+"; "+note, "; ")
	return &noted
}

// configuredLimit returns how long a harness lets its hooks run that wait, by its settings. Reading these
// takes packages that a hook does not initialise, so another process of this program does it.
func configuredLimit(harness string) func(ctx context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		program, err := os.Executable()
		if err != nil {
			return 0, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, Deadline/2, errTooLong)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "hook", "limit", harness) //nolint:forbidigo // this program
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			return 0, errNoLimit
		}
		seconds, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			return 0, errNoLimit
		}
		return time.Duration(seconds) * time.Second, nil
	}
}

var errNoLimit = errors.New("the harness's settings do not say how long this hook may run (permd hook install writes that)")
