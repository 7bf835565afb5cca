package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) explainCommand() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:         "explain FILE|-|DECISION",
		Annotations: onlyReads,
		Short:       "Explain a decision, and what would make it allowed",
		Long: `Explain a decision of the journal, or what permd decides of the calls in FILE or
on standard input (the same forms as permd decide).

For each effect it shows the member of the call that it was read from; the row
of the precedence table that decided; every rule that fired, those that lost
too; the rules that came closest to firing, with the conditions that do not
hold; and at the end what would make the call allowed: lines for rules.yaml and
commands that remember them, each of them tried before it is shown.

The daemon explains when one runs, and calls of a FILE are decided and logged by
it as with permd decide. With --local this process decides with the same
policies, without memory, and nothing is logged. Of a decision that is older
than the daemon, or than its last few hundred, only what the journal holds is
shown: it keeps no arguments, so nothing can be tried.

The exit code is 0 whatever the verdict.

` + exitCodes,
		Example: `  permd explain 019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42
  permd explain --local --agent claude-agent-acp calls.jsonl
  echo '{"tool":{"name":"Bash"},"input":{"command":"npm test"}}' | permd explain --agent claude-agent-acp -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDecision(args[0]) {
				if o.local {
					return failf(exitUsage, "leave --local out: only the daemon and its journal know the decision", "--local explains calls, not decisions")
				}
				return a.explainDecision(cmd.Context(), args[0])
			}
			return a.explainCalls(cmd.Context(), args[0], &o)
		},
	}
	o.flags(cmd)
	return cmd
}

var decisionID = regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// isDecision reports whether an argument is the id of a decision, and no file.
func isDecision(arg string) bool {
	if !decisionID.MatchString(arg) {
		return false
	}
	_, err := os.Lstat(arg)
	return errors.Is(err, fs.ErrNotExist)
}

// explainDecision explains a decision of the journal.
func (a *app) explainDecision(ctx context.Context, id string) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err == nil {
		defer c.Close()
		x, err := explainRemote(ctx, c, id)
		if err != nil {
			return err
		}
		return a.printExplanation(x, true)
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	log, err := a.openLogFile()
	if err != nil {
		return err
	}
	defer log.close()
	rec, err := log.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	if rec == nil {
		return noDecision(id)
	}
	return a.printExplanation(explainRecord(rec, nil), true)
}

func noDecision(id string) error {
	return failf(exitError, "permd log list shows their ids", "no decision %q", id)
}

func explainRemote(ctx context.Context, c *client.Client, id string) (*explanation, error) {
	var x explanation
	err := c.Call(ctx, methodExplain, map[string]string{"decisionId": id}, &x)
	if rpc, ok := errors.AsType[*client.Error](err); ok {
		switch rpc.Code {
		case admin.CodeNoDecision:
			return nil, noDecision(id)
		case socket.CodeMethod:
			return nil, failf(exitError, "restart it: permd doctor says how", "the daemon is of a version that explains nothing")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("asking for an explanation: %w", err)
	}
	if x.Decision == nil {
		return nil, errors.New("reading permd's explanation: it has no decision")
	}
	return &x, nil
}

// explainCalls decides the calls of a file and explains each decision.
func (a *app) explainCalls(ctx context.Context, file string, o *decideOptions) error {
	messages, err := a.messages(file, o)
	if err != nil {
		return err
	}
	to, done, err := a.callerOf(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	of, done, err := explainerOf(ctx, to)
	if err != nil {
		return err
	}
	defer done()
	first := true
	return o.each(ctx, to, messages, func(ds []*decisions.Decision) error {
		for _, d := range ds {
			x, err := of(d)
			if err != nil {
				return err
			}
			if err := a.printExplanation(x, first); err != nil {
				return err
			}
			first = false
		}
		return nil
	})
}

// explainerOf is how the decisions of a caller are explained.
func explainerOf(ctx context.Context, to caller) (of func(*decisions.Decision) (*explanation, error), done func(), err error) {
	if local, ok := to.(*localCaller); ok {
		kept := &deliberations{whole: true}
		local.observe = kept.note
		return func(d *decisions.Decision) (*explanation, error) {
			return explainWith(ctx, d, kept.of(d.ID)), nil
		}, func() {}, nil
	}
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return nil, nil, err
	}
	return func(d *decisions.Decision) (*explanation, error) {
		return explainRemote(ctx, c, d.ID)
	}, func() { c.Close() }, nil
}

func (a *app) printExplanation(x *explanation, first bool) error {
	if a.json {
		return printJSON(a.out, x)
	}
	if !first {
		fmt.Fprintln(a.out)
	}
	x.render(a.out)
	return nil
}
