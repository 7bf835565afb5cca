package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/socket/admin"
)

// logOptions are the options of permd log list.
type logOptions struct {
	records.Selection
	limit int
	all   bool
	by    string
}

func (a *app) logListCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: cli.ReadsOnly,
		Short:       "List or count decisions, newest last",
		Long: `List decisions, newest last: time, verdict, effects, agent and id, and in wide
terminals the reason and the project. "ask, allowed" and "ask, denied" are
questions with the person's answer; "ask, then run" is one whose call was
reported to have run, and that nobody answered in permd: that is no approval.
Without a running daemon, the journal is read from its file.

With --by decisions are counted by group instead. For --project, --path, --host,
--by project and --by program records have to be read: without --since only
those of the last 7 days are.

` + cli.ExitCodes,
		Example: `  permd log list --agent claude --since 7d
  permd log list --verdict deny --since yesterday --until today
  permd log list --host github.com --path .ssh --since 30d
  permd log list --by program --since 24h
  permd log list --limit 1000 --before 4711
  permd log list --unasked --verdict deny --all --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logList(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	o.Flags(f)
	o.Times(f)
	f.IntVar(&o.limit, "limit", 50, "list at most `n` decisions or groups")
	f.BoolVar(&o.all, "all", false, "list all decisions that are selected")
	f.Int64Var(&o.Before, "before", 0, "only decisions before this sequence `number` (\"seq\" in the JSON output), for paging")
	f.StringVar(&o.by, "by", "", "count decisions by `group`: "+groupings())
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(strings.Split(groupings(), ", "), cobra.ShellCompDirectiveNoFileComp)) // it is not registered twice
	return cmd
}

// filter returns the filter that the options describe.
func (o *logOptions) filter(now time.Time, reads bool) (decisions.RecordFilter, error) {
	if o.Before < 0 {
		return decisions.RecordFilter{}, cli.Failf(cli.ExitUsage, "write a sequence number, as log list --json prints them", "--before must not be negative")
	}
	if o.limit < 0 || o.limit > admin.MaxList {
		return decisions.RecordFilter{}, cli.Failf(cli.ExitUsage, "0 is for all that one answer may hold; --all is for all", "--limit must be between 0 and %d", admin.MaxList)
	}
	f, err := o.Filter(now, reads)
	f.Limit = o.limit
	return f, err
}

// logList prints the selected records.
func (a *app) logList(ctx context.Context, o logOptions) error {
	by, err := groupingOf(o.by)
	if err != nil {
		return err
	}
	f, err := o.filter(time.Now(), by.ReadsRecords())
	if err != nil {
		return err
	}
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	var found int
	var next int64
	if by != "" {
		if o.all {
			f.Limit = 0
		}
		found, err = log.Groups(ctx, &a.Streams, f, by)
	} else {
		next, found, err = log.Print(ctx, &a.Streams, f, o.all)
	}
	if err == nil && found == 0 {
		err = a.nothingFound(ctx, log, &o.Selection)
	}
	if a.JSON {
		return err
	}
	if text := o.Assumed(); text != "" {
		fmt.Fprintln(a.Err, "permd: "+text)
	}
	if next > 0 {
		fmt.Fprintf(a.Err, "permd: older ones: --before %d, or --all\n", next)
	}
	return err
}

// nothingFound says that nothing was found, or that the agent is not known.
func (a *app) nothingFound(ctx context.Context, log *records.Log, o *records.Selection) error {
	if o.Agent != "" {
		names, err := log.Agents(ctx)
		if err == nil && len(names) > 0 && !slices.Contains(names, o.Agent) {
			for i := range names { // agents choose them
				names[i] = display.Display(names[i])
			}
			hint := cmp.Or(nearest(o.Agent, names, "--agent "), "one of: "+strings.Join(names[:min(len(names), 10)], ", "))
			return cli.Failf(cli.ExitUsage, hint, "no agent in the log is called %q", o.Agent)
		}
	}
	if !a.JSON {
		fmt.Fprintln(a.Out, "no decisions")
	}
	return nil
}

// groupings lists what decisions can be counted by.
func groupings() string {
	var names []string
	for _, g := range tally.Chosen {
		names = append(names, string(g))
	}
	return strings.Join(names, ", ")
}

// groupingOf returns the grouping of that name, "" for none.
func groupingOf(name string) (tally.By, error) {
	by := tally.By(name)
	if name != "" && !slices.Contains(tally.Chosen, by) {
		return "", cli.Failf(cli.ExitUsage, "one of: "+groupings(), "decisions cannot be counted by %q", name)
	}
	return by, nil
}
