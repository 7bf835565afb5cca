package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
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

` + cli.ExitCodes,
		Example: `  permd explain 019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42
  permd explain --local --agent claude-agent-acp calls.jsonl
  echo '{"tool":{"name":"Bash"},"input":{"command":"npm test"}}' | permd explain --agent claude-agent-acp -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDecision(args[0]) {
				if o.local {
					return cli.Failf(cli.ExitUsage, "leave --local out: only the daemon and its journal know the decision", "--local explains calls, not decisions")
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
		x, err := explain.Fetch(ctx, c, id)
		if err != nil {
			return err
		}
		return a.printExplanation(x, true)
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	log, err := records.OpenFile(a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	rec, err := recordOf(ctx, log, id)
	if err != nil {
		return err
	}
	return a.printExplanation(explain.Record(ctx, rec, nil), true)
}

// explainCalls decides the calls of a file and explains each decision.
func (a *app) explainCalls(ctx context.Context, file string, o *decideOptions) error {
	messages, err := a.messages(file, o)
	if err != nil {
		return err
	}
	var kept *explain.Recent
	if o.local {
		kept = explain.KeepAll()
		o.observe = kept.Note
	}
	to, done, err := a.callerOf(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	of, done, err := explainerOf(ctx, kept)
	if err != nil {
		return err
	}
	defer done()
	first := true
	return o.Each(ctx, to, messages, func(ds []*decisions.Decision) error {
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

// explainerOf is how decisions are explained: by this process from what it kept,
// or by the daemon if kept is nil.
func explainerOf(ctx context.Context, kept *explain.Recent) (of func(*decisions.Decision) (*explain.Explanation, error), done func(), err error) {
	if kept != nil {
		return func(d *decisions.Decision) (*explain.Explanation, error) {
			return explain.Decision(ctx, d, kept.Of(d.ID)), nil
		}, func() {}, nil
	}
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return nil, nil, err
	}
	return func(d *decisions.Decision) (*explain.Explanation, error) {
		return explain.Fetch(ctx, c, d.ID)
	}, func() { c.Close() }, nil
}

func (a *app) printExplanation(x *explain.Explanation, first bool) error {
	if a.JSON {
		return cli.PrintJSON(a.Out, x)
	}
	if !first {
		fmt.Fprintln(a.Out)
	}
	x.Render(a.Out)
	return nil
}
