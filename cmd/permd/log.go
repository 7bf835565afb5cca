package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) logCommand() *cobra.Command {
	long := `Read the journal: each request, its decision and the reason. A decision's id is
part of the answer that the client got.

The oldest decisions are removed when the journal reaches journal.max_bytes or
journal.max_age of permd.toml (256 MiB and 90 days by default), except for those
that remembered choices came from; permd status says since when they are kept.
For a call with very many effects, only the strictest are stored.`
	example := `  permd log list --verdict ask --since 1h
  permd log follow`
	return group("log", "Read the decision log", long, example,
		a.logListCommand(), a.logShowCommand(), a.logStatsCommand(), a.logExportCommand(), a.logFollowCommand(), a.logVerifyCommand())
}

func (a *app) logShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "show DECISION",
		Annotations: cli.ReadsOnly,
		Short:       "Show a decision with its effects and rules",
		Long: `Show a decision: verdict, reason, effects, the rules that matched, who asked,
the answer and who gave it, whether it was run, and what its session asked next.
Its id may be shortened to what no other one begins with, here and wherever an
id of a decision or a choice is written. permd explain shows in addition what
would change it.

` + cli.ExitCodes,
		Example:           `  permd log show 019e8f4c-6a55-7b7e-8f1e-2f9d3c1a0b42`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecision,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logShow(cmd.Context(), args[0])
		},
	}
}

// logShow prints one record.
func (a *app) logShow(ctx context.Context, id string) error {
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	if id, err = wholeDecision(ctx, log, id); err != nil {
		return err
	}
	rec, err := recordOf(ctx, log, id)
	if err != nil {
		return err
	}
	if a.JSON {
		err = cli.PrintJSON(a.Out, rec)
	}
	if err == nil && rec.Unreadable != "" {
		err = records.Unreadable(1)
	}
	if err != nil || a.JSON {
		return err
	}
	renderDecision(a.Out, &rec.Decision)
	return log.Circumstances(ctx, &a.Streams, rec)
}

// recordOf returns the record of a decision, or an error if there is none.
func recordOf(ctx context.Context, log *records.Log, id string) (*decisions.Record, error) {
	rec, err := log.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if rec == nil {
		return nil, explain.NoDecision(id)
	}
	return rec, nil
}

// readableOf returns the record of a decision, or an error if it cannot be read.
func readableOf(ctx context.Context, log *records.Log, id string) (*decisions.Record, error) {
	rec, err := recordOf(ctx, log, id)
	if err == nil && rec.Unreadable != "" {
		err = records.Unreadable(1)
	}
	return rec, err
}

func (a *app) logFollowCommand() *cobra.Command {
	var o records.Selection
	cmd := &cobra.Command{
		Use:         "follow",
		Annotations: cli.ReadsOnly,
		Short:       "Print decisions as they are made",
		Long: `Print decisions as they are made, until interrupted. Requires a running daemon.

` + cli.ExitCodes,
		Example: `  permd log follow --verdict ask`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logFollow(cmd.Context(), o)
		},
	}
	o.Flags(cmd.Flags())
	return cmd
}

// logFollow prints the selected records as they arrive.
func (a *app) logFollow(ctx context.Context, o records.Selection) error {
	f, err := o.Filter(time.Now(), false)
	if err != nil {
		return err
	}
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return a.follow(ctx, records.Remote{Client: c}, c, f)
}

// follow prints the records that come after now.
func (a *app) follow(ctx context.Context, log records.Remote, c *client.Client, f decisions.RecordFilter) error {
	newest, err := log.Page(ctx, decisions.RecordFilter{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for _, r := range newest.Records {
		f.After = r.Seq
	}
	f.Limit = 0
	for {
		var got admin.Records
		if err := c.Call(ctx, admin.MethodFollow, f, &got); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			rpc, ok := errors.AsType[*client.Error](err)
			if errors.Is(err, client.ErrUnreachable) || ok && rpc.Code == socket.CodeBusy {
				return cli.Failf(cli.ExitUnreachable, "start it with: permd serve", "following the journal: the daemon has ended")
			}
			return fmt.Errorf("following the journal: %w", err)
		}
		if err := records.PrintRecords(&a.Streams, got.Records); err != nil {
			return err
		}
		for _, r := range got.Records {
			f.After = max(f.After, r.Seq)
		}
	}
}

func (a *app) logVerifyCommand() *cobra.Command {
	var with records.VerifyOptions
	cmd := &cobra.Command{
		Use:         "verify",
		Annotations: cli.ReadsOnly,
		Short:       "Find decisions that were changed, removed or forged",
		Long: `Verify the journal's chain of hashes, with or without a running daemon: find
decisions, answers and reports that were changed, removed, exchanged, forged or
cut off at the end since they were stored. What the journal's own limits have
removed is no fault.

Who can write the journal can make a chain anew, so it is compared with heads
that are kept elsewhere: by the running daemon, in the state folder, and with
--heads in the system's journal, to which the daemon sends them. --since-head is
one that you have kept: permd status prints it. Only what is before such a head
cannot be changed unnoticed.

With --system it is the journal of the machine's daemon, which root can read.

` + cli.ExitCodes,
		Example: `  permd log verify
  journalctl -o json -t permd | permd log verify --heads -
  permd log verify --json --since-head "$NUMBER:$HEAD"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return records.Verify(cmd.Context(), &a.Streams, a.root, with)
		},
	}
	cmd.Flags().StringVar(&with.Head, "since-head", "", "a head with this `hash`, or number:hash, must be in the chain")
	cmd.Flags().BoolVar(&with.System, "system", false, "verify the journal of the machine's daemon")
	cmd.Flags().StringVar(&with.Heads, "heads", "", "compare with the heads in this `file`, as journalctl -o json prints them; - is standard input")
	return cmd
}
