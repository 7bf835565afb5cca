package hookproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/hook"
)

// Deadline bounds the run time of a hook that does not wait for a person, including reading its
// input. It is well below the timeout after which harnesses proceed without an answer: 10
// seconds in the configurations that permd writes.
const Deadline = 5 * time.Second

func answer(ctx context.Context, h *hook.Harness, stdin io.Reader, o Options) (out hook.Output) {
	begun := time.Now()
	defer func() {
		if r := recover(); r != nil {
			out = h.Failed(nil, "permd hook broke: "+fmt.Sprint(r))
		}
	}()
	reading, cancel := context.WithTimeoutCause(ctx, Deadline, errTooLong)
	defer cancel()
	in, err := readHook(reading, stdin)
	if err != nil {
		return h.Failed(nil, err.Error())
	}
	req, err := h.Read(in)
	if err != nil {
		return h.Failed(nil, err.Error())
	}
	w := waiter{Harness: h, Options: o, Limit: configuredLimit(h.Name), Unattended: h.Unattended(os.Getenv)}
	d, err := w.Decide(ctx, req, begun)
	if err != nil {
		return h.Failed(req, noDecision(err))
	}
	return h.Answer(req, d)
}

// noDecision says why there is no decision, and what to do, for a text that begins with permd's name.
func noDecision(err error) string {
	if errors.Is(err, client.ErrUnreachable) {
		hint := "start it with: permd serve"
		if said, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); ok {
			hint = said.Hint()
		}
		return "cannot decide, " + err.Error() + "; " + hint
	}
	return "cannot decide, " + err.Error() + "; permd doctor looks for what is wrong"
}

// readHook reads what the harness writes, until it ends or ctx does.
func readHook(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		in  []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		in, err := io.ReadAll(io.LimitReader(r, hook.MaxInput+1))
		done <- result{in, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading what the harness wrote: %w", context.Cause(ctx))
	case got := <-done:
		if got.err != nil {
			return nil, fmt.Errorf("reading what the harness wrote: %w", got.err)
		}
		return got.in, nil
	}
}

// decide requests a decision from the daemon.
func decide(ctx context.Context, c client.Caller, h *hook.Harness, r *hook.Request) (*decisions.Decision, error) {
	s := client.Session{
		ID: r.Session, Harness: h.Name, Cwd: r.Cwd, Roots: r.Roots, Agent: &h.Agent,
		Client: &effects.Party{Name: "permd hook"}, Mode: r.Mode, AtShell: r.AtShell,
	}
	if r.Parent != "" {
		parent := s
		parent.ID = r.Parent
		if _, err := client.DeclareSession(ctx, c, &parent); err != nil {
			return nil, err
		}
		s.Parent = r.Parent
	}
	if _, err := client.DeclareSession(ctx, c, &s); err != nil {
		return nil, err
	}
	tool := client.Tool{Name: r.Call.Name, Server: r.Call.Server, Source: r.Call.Source}
	decided, err := client.Decide(ctx, c, r.Session, client.ToolCall{ID: r.Call.ID, Tool: tool, Input: r.Call.Input})
	if err != nil {
		return nil, err
	}
	return decided[0], nil
}
