package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
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
	return group("log", "Read the decision log", long, example, a.logListCommand(), a.logShowCommand(), a.logFollowCommand(), a.logVerifyCommand())
}

// logOptions are the options that select records.
type logOptions struct {
	decisions.RecordFilter
	verdict string
	since   time.Duration
	limit   int
}

func (o *logOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.verdict, "verdict", "", "only decisions with this `verdict`: allow, ask or deny")
	f.StringVar(&o.Session, "session", "", "only decisions of the session with this `id`")
	f.StringVar(&o.Tool, "tool", "", "only decisions about the tool with this `name`")
	f.BoolVar(&o.Unapproved, "unasked", false, "only calls that ran without a request, or although they were denied")
}

// filter returns the filter that the options describe, relative to now.
func (o *logOptions) filter(now time.Time) (decisions.RecordFilter, error) {
	f := o.RecordFilter
	f.Verdict = decisions.Verdict(o.verdict)
	switch f.Verdict {
	case "", decisions.Allow, decisions.Ask, decisions.Deny:
	default:
		return f, cli.Failf(cli.ExitUsage, "one of: allow, ask, deny", "unknown verdict %q", o.verdict)
	}
	if o.since > 0 {
		f.Since = now.Add(-o.since)
	}
	if o.Before < 0 {
		return f, cli.Failf(cli.ExitUsage, "write a sequence number, as log list --json prints them", "--before must not be negative")
	}
	if o.limit < 0 || o.limit > admin.MaxList {
		return f, cli.Failf(cli.ExitUsage, "0 is for all that one answer may hold; go on with --before", "--limit must be between 0 and %d", admin.MaxList)
	}
	f.Limit = o.limit
	return f, nil
}

func (a *app) logListCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: readsOnly,
		Short:       "List decisions, newest last",
		Long: `List decisions, newest last: time, verdict, effects, reason and id. "ask, then
run" is a question whose call was reported to have run, and that nobody answered
in permd: that is no approval. Without a running daemon, the journal is read
from its file.

` + cli.ExitCodes,
		Example: `  permd log list --verdict deny --since 24h
  permd log list --limit 5 --json
  permd log list --limit 1000 --before 4711
  permd log list --unasked --verdict deny`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logList(cmd.Context(), o)
		},
	}
	o.flags(cmd)
	cmd.Flags().IntVar(&o.limit, "limit", 50, "list at most `n` decisions")
	cmd.Flags().Var(cli.Duration{To: &o.since}, "since", "only decisions of this last `duration`, such as 24h or 7d")
	cmd.Flags().Int64Var(&o.Before, "before", 0, "only decisions before this sequence `number` (\"seq\" in the JSON output), for paging")
	return cmd
}

// logList prints the selected records.
func (a *app) logList(ctx context.Context, o logOptions) error {
	f, err := o.filter(time.Now())
	if err != nil {
		return err
	}
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	recs, err := log.List(ctx, f)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	if len(recs) == 0 && !a.JSON {
		fmt.Fprintln(a.Out, "no decisions")
	}
	if err := a.printRecords(recs); err != nil {
		return err
	}
	unreadable := slices.DeleteFunc(recs, func(r *decisions.Record) bool { return r.Unreadable == "" })
	if n := len(unreadable); n > 0 {
		return cli.Failf(cli.ExitError, "the journal's database is damaged; permd doctor says where it is", "%s cannot be read", cli.Plural(n, "decision"))
	}
	return nil
}

func (a *app) logShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "show DECISION",
		Annotations: readsOnly,
		Short:       "Show a decision with its effects and rules",
		Long: `Show a decision: verdict, reason, effects, the rules that matched, and who
asked. Its id may be shortened to what no other one begins with, here and
wherever an id of a decision or a choice is written. permd explain shows in
addition what would change it.

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
		return cli.PrintJSON(a.Out, rec)
	}
	renderDecision(a.Out, &rec.Decision)
	if n := rec.LeftOut; n > 0 {
		fmt.Fprintf(a.Out, "  and %s more, which the journal does not store\n", cli.Plural(n, "effect"))
	}
	if o := rec.Decision.Outcome; o != "" {
		fmt.Fprintf(a.Out, "  outcome %s: %s\n", o, cmp.Or(outcomes[o], "not known to this version"))
	}
	renderCircumstances(a, rec)
	return nil
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

func renderCircumstances(a *app, r *decisions.Record) {
	w := tabwriter.NewWriter(cli.Folded(a.Out, 12), 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			// Escape what a client sent: it may hold terminal sequences.
			fmt.Fprintf(w, "  %s\t%s\n", name, display.Display(value))
		}
	}
	line("time", r.Time.Local().Format("2006-01-02 15:04:05.000"))
	line("tool", r.Tool)
	line("declared", r.Declared)
	line("claimed user", r.ClaimedUser)
	line("claimed trace", r.ClaimedTrace)
	line("claimed kind", r.ClaimedKind)
	line("claimed title", r.ClaimedTitle)
	for _, p := range r.ClaimedPaths {
		line("claimed path", p)
	}
	if r.MorePaths > 0 {
		line("more paths", strconv.Itoa(r.MorePaths))
	}
	line("agent", r.Agent.Name+" "+r.Agent.Version)
	line("client", r.Client.Name+" "+r.Client.Version)
	line("protocol", r.Protocol)
	session := r.Session.ID
	if above := r.Session.Ancestors; len(above) > 0 {
		session += ", below " + strings.Join(above, ", ")
	}
	line("session", session)
	line("cwd", r.Cwd)
	line("peer", fmt.Sprintf("uid %d, pid %d", r.Peer.UID, r.Peer.PID))
	if a := r.Answer; a != nil {
		line("answer", fmt.Sprintf("%s, by the person at %s", a.Verdict, a.Time.Local().Format("2006-01-02 15:04:05")))
		line("remembered", strings.Join(a.Choices, " "))
	}
	if r.Ran != nil {
		line("then run", r.Ran.Local().Format("2006-01-02 15:04:05")+", as was reported; that is no yes: a harness that asks nobody runs it too")
	}
	if e := r.Ended; e != nil {
		line("ended", fmt.Sprintf("%s, as was reported at %s", display.Display(e.As), e.Time.Local().Format("2006-01-02 15:04:05")))
	}
	line("took", time.Duration(r.LatencyNS).Round(time.Microsecond).String())
	w.Flush()
}

func (a *app) logFollowCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:         "follow",
		Annotations: readsOnly,
		Short:       "Print decisions as they are made",
		Long: `Print decisions as they are made, until interrupted. Requires a running daemon.

` + cli.ExitCodes,
		Example: `  permd log follow --verdict ask`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logFollow(cmd.Context(), o)
		},
	}
	o.flags(cmd)
	return cmd
}

// logFollow prints the selected records as they arrive.
func (a *app) logFollow(ctx context.Context, o logOptions) error {
	f, err := o.filter(time.Now())
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
	newest, err := log.List(ctx, decisions.RecordFilter{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for _, r := range newest {
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
		if err := a.printRecords(got.Records); err != nil {
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
		Annotations: readsOnly,
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
	cmd.Flags().StringVar(&with.Heads, "heads", "", "compare with the heads in this `file`, as journalctl -o json prints them; - is standard input")
	return cmd
}

// printRecords prints a line for each record: time, verdict, effects, reason and
// id.
func (a *app) printRecords(recs []*decisions.Record) error {
	if a.JSON {
		for i := range recs {
			if err := cli.PrintJSON(a.Out, recs[i]); err != nil {
				return err
			}
		}
		return nil
	}
	t := cli.Table{Flexible: []int{2, 3}}
	for i := range recs {
		r := recs[i]
		if r.Unreadable != "" {
			t.Row(r.Time.Local().Format("01-02 15:04:05"), "unreadable", cli.Clip(display.Display(r.Unreadable), 80), "", r.Decision.ID)
			continue
		}
		t.Row(r.Time.Local().Format("01-02 15:04:05"),
			verdictAndOutcome(r), summaryOf(r), cli.Clip(display.Display(r.Decision.Reason), 40), r.Decision.ID)
	}
	return t.Write(a.Out)
}

// verdictAndOutcome returns the verdict, and what became of the call if that is not what
// verdict and answer say.
func verdictAndOutcome(r *decisions.Record) string {
	d := &r.Decision
	switch {
	case d.Outcome != "":
		return fmt.Sprintf("%s, %s", d.Verdict, d.Outcome)
	case r.Ran != nil && (r.Answer == nil || r.Answer.Verdict != decisions.Allow):
		return string(d.Verdict) + ", then run"
	}
	return string(d.Verdict)
}

// outcomes describes each outcome.
var outcomes = map[decisions.Outcome]string{
	decisions.Passed:         "no rule denies it or asks about it, and actions of the client on the agent's behalf need no allow",
	decisions.Approved:       "the agent asked for the same just before and was allowed",
	decisions.RanUnprompted:  "ran without a request; the verdict is what permd would have answered",
	decisions.Gated:          "the agent did not ask about the call, but the client did about its actions, which were decided there",
	decisions.RanDespiteDeny: "reported as completed although it was denied; the verdict is what permd would answer now",
	decisions.Refused:        "denied, since its id stands for another call or for one that has run",
	decisions.Unmet:          "it lacks what its tool requires, and the caller was told so",
	decisions.Invalid:        "its input does not fit its tool, and the caller was told so",
}

// summaryOf says what a record is about: effects, or the command that a person gave.
func summaryOf(r *decisions.Record) string {
	if len(r.Decision.Effects) == 0 && r.Tool != "" {
		return cli.Clip(display.Display(r.Tool), 48)
	}
	return summary(&r.Decision)
}

// summary describes what a call would do, in a few words.
func summary(d *decisions.Decision) string {
	if len(d.Effects) == 0 {
		return "-"
	}
	s := cli.Clip(d.Effects[0].Text, 48)
	if n := len(d.Effects) - 1; n > 0 {
		s += fmt.Sprintf(" (+%d)", n)
	}
	return s
}
