package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/socket/client"
)

func (a *app) explainCommand() *cobra.Command {
	var o decideOptions
	var whatIf string
	cmd := &cobra.Command{
		Use:         "explain FILE|-|DECISION",
		Annotations: cli.ReadsOnly,
		Short:       "Explain a decision and show what would allow it",
		Long: `Explain a decision in the journal, or decide and explain the calls in FILE or on
standard input (the same input as permd decide).

For each effect, it prints the member of the call that the effect was read from,
the row of the precedence table that decided, every rule that matched (including
overridden ones), and the rules that nearly matched with the conditions that
failed. It ends with what would allow the call: lines for rules.yaml, and
commands that remember them. Each has been tried before it is printed.

By default the daemon decides and logs the calls of a FILE, as with permd
decide. With --local this process decides with the same policies, without
memory, and logs nothing. A decision made before the daemon started, or not
among its last few hundred, is made again from its arguments, which are kept
masked, by the rules of then. If that is not possible, the log's record is
shown. With --what-if a past call is decided by your rules and one more file.

The exit code is 0, whatever the verdict.

` + cli.ExitCodes,
		Example: `  permd explain 019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42
  permd explain --what-if new-rules.yaml 019e8f4c-6a55-7b7e
  permd explain --local --agent claude-agent-acp calls.jsonl
  echo '{"tool":{"name":"Bash"},"input":{"command":"npm test"}}' |
    permd explain --agent claude-agent-acp -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDecision(args[0]) {
				if o.local {
					return cli.Failf(cli.ExitUsage, "leave --local out: only the daemon and its journal know the decision", "--local explains calls, not decisions")
				}
				return a.explainDecision(cmd.Context(), args[0], whatIf)
			}
			if whatIf != "" {
				return cli.Failf(cli.ExitUsage, "name the id of a decision", "--what-if is about a decision of the log")
			}
			if _, err := os.Lstat(args[0]); args[0] != "-" && errors.Is(err, fs.ErrNotExist) {
				return cli.Failf(cli.ExitError, "permd log list shows the ids of decisions, of which 4 characters or more are enough", "%q is neither a file nor the id of a decision", args[0])
			}
			return a.explainCalls(cmd.Context(), args[0], &o)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&whatIf, "what-if", "", "explain what a past call would be if this `file` were beside your rules")
	return cmd
}

var (
	decisionID      = lazy.Regexp(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)
	shortDecisionID = lazy.Regexp(`^[0-9a-f]{4,8}$|^[0-9a-f]{8}-[0-9a-f-]*$`)
)

// isDecision reports whether arg is the id of a decision, or short for one, rather than a
// file.
func isDecision(arg string) bool {
	if !decisionID().MatchString(arg) && !shortDecisionID().MatchString(arg) {
		return false
	}
	_, err := os.Lstat(arg)
	return errors.Is(err, fs.ErrNotExist)
}

// explainDecision explains a decision in the journal.
func (a *app) explainDecision(ctx context.Context, id, whatIf string) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err == nil {
		defer c.Close()
		if id, err = wholeDecision(ctx, records.Through(c), id); err != nil {
			return err
		}
		x, err := explain.Fetch(ctx, c, id)
		if err != nil {
			return err
		}
		if x.Known && whatIf == "" {
			return a.printExplanation(x, true)
		}
		rec, err := readableOf(ctx, records.Through(c), id)
		if err != nil {
			return err
		}
		return a.explainPast(ctx, rec, x, whatIf)
	}
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	log, err := records.OpenFile(a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	if id, err = wholeDecision(ctx, log, id); err != nil {
		return err
	}
	rec, err := readableOf(ctx, log, id)
	if err != nil {
		return err
	}
	return a.explainPast(ctx, rec, explain.Record(ctx, rec, nil), whatIf)
}

// explainPast explains a decision of which the daemon has no more than the record. known is
// that explanation.
func (a *app) explainPast(ctx context.Context, rec *decisions.Record, known *explain.Explanation, whatIf string) error {
	if whatIf != "" {
		x, err := replay.WhatIf(ctx, &a.Streams, a.root, rec, whatIf)
		if err != nil {
			return err
		}
		return a.printExplanation(x, true)
	}
	return a.printExplanation(a.explainedAgain(ctx, &a.Streams, rec, known), true)
}

// explainedAgain explains a past decision by deciding its call again, else as far as it is known.
func (a *app) explainedAgain(ctx context.Context, s *cli.Streams, rec *decisions.Record, known *explain.Explanation) *explain.Explanation {
	x, why, err := replay.Explain(ctx, s, a.root, rec)
	if err != nil {
		x, why = known, err.Error() // what is known is worth showing
	}
	x.Why = why
	return x
}

// explainTo writes why a decision was made, as permd explain prints it.
func (a *app) explainTo(ctx context.Context, c *client.Client, id string, w io.Writer) error {
	x, err := explain.Fetch(ctx, c, id)
	if err != nil {
		return err
	}
	if !x.Known {
		rec, err := readableOf(ctx, records.Through(c), id)
		if err != nil {
			return err
		}
		x = a.explainedAgain(ctx, &cli.Streams{In: a.In, Out: io.Discard, Err: io.Discard}, rec, x)
	}
	x.Render(w)
	return nil
}

// explainCalls decides the calls of a file and explains each decision.
func (a *app) explainCalls(ctx context.Context, file string, o *decideOptions) error {
	messages, err := a.messages(file, o)
	if err != nil {
		return err
	}
	var recent *explain.Recent
	if o.local {
		recent = explain.KeepAll()
		o.observe = recent.Note
	}
	to, done, err := a.caller(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	of, done, err := explainerOf(ctx, recent)
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

// explainerOf returns a function that explains decisions: from recent, the ones
// that this process made, or by asking the daemon if recent is nil.
func explainerOf(ctx context.Context, recent *explain.Recent) (of func(*decisions.Decision) (*explain.Explanation, error), done func(), err error) {
	if recent != nil {
		return func(d *decisions.Decision) (*explain.Explanation, error) {
			x := explain.Decision(ctx, d, recent.Of(d.ID))
			x.Unlogged = true
			return x, nil
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
