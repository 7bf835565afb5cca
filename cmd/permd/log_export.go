package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
)

func (a *app) logExportCommand() *cobra.Command {
	var o records.Selection
	format := records.Formats[0]
	cmd := &cobra.Command{
		Use:         "export",
		Annotations: cli.ReadsOnly,
		Short:       "Write all decisions as JSON lines, OPA events or CSV",
		Long: `Write all decisions, or those that are selected, to standard output, the oldest
first. The formats are jsonl, a JSON object a line as permd log list --json has
it; opa, the events of OPA's decision logs, for what reads those; and csv, a
table. In a table, control characters are escaped, and a cell that a spreadsheet
would take for a formula begins with an apostrophe.

A decision that cannot be read is in the output with the reason, and the exit
code is 1.

` + cli.ExitCodes,
		Example: `  permd log export > decisions.jsonl
  permd log export --format opa --since 24h
  permd log export --format csv --verdict deny > denied.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logExport(cmd.Context(), o, format)
		},
	}
	o.Flags(cmd.Flags())
	o.Times(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", format, "write in this `format`: "+strings.Join(records.Formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(records.Formats, cobra.ShellCompDirectiveNoFileComp)) // it is not registered twice
	return cmd
}

// logExport writes the selected records.
func (a *app) logExport(ctx context.Context, o records.Selection, format string) error {
	switch {
	case !slices.Contains(records.Formats, format):
		return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(records.Formats, ", "), "there is no format %q", format)
	case a.JSON && format == "csv":
		return cli.Failf(cli.ExitUsage, "leave --json out", "--json and --format csv exclude each other")
	}
	f, err := o.Filter(time.Now(), false)
	if err != nil {
		return err
	}
	if o.Assumed() != "" { // an export is whole
		f.Since = time.Time{}
	}
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.Export(ctx, &a.Streams, f, format)
}

func (a *app) logStatsCommand() *cobra.Command {
	var o records.Selection
	cmd := &cobra.Command{
		Use:         "stats",
		Annotations: cli.ReadsOnly,
		Short:       "Count decisions by verdict, agent, tool and day",
		Long: `Count the decisions of the last 30 days, or of the time that is given: verdicts,
who decided, what you answered, agents, tools and days. permd log list --by
counts by other groups, such as programs and projects.

` + cli.ExitCodes,
		Example: `  permd log stats
  permd log stats --since 7d --agent claude --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.logStats(cmd.Context(), o)
		},
	}
	o.Flags(cmd.Flags())
	o.Times(cmd.Flags())
	return cmd
}

// statsFor is the time that is counted without --since.
const statsFor = 30 * 24 * time.Hour

// logStats prints what the selected decisions were.
func (a *app) logStats(ctx context.Context, o records.Selection) error {
	now := time.Now()
	f, err := o.Filter(now, false)
	if err != nil {
		return err
	}
	if f.Since.IsZero() {
		f.Since = now.Add(-statsFor)
		if !f.Until.IsZero() {
			f.Since = f.Until.Add(-statsFor)
		}
	}
	log, err := records.Open(ctx, a.root)
	if err != nil {
		return err
	}
	defer log.Close()
	n, err := log.Statistics(ctx, &a.Streams, f)
	if err == nil && n == 0 {
		err = a.nothingFound(ctx, log, &o)
	}
	if text := o.Assumed(); text != "" && !a.JSON {
		fmt.Fprintln(a.Err, "permd: "+text)
	}
	return err
}

func (a *app) todayCommand() *cobra.Command {
	var day cli.Moment
	cmd := &cobra.Command{
		Use:         "today",
		Annotations: cli.ReadsOnly,
		Short:       "Show in ten lines what your agents did today",
		Long: `Show what agents did today, or on another day, in at most ten lines: what was
allowed, asked and denied, what you answered, the last that was denied, who
decided, and which agents, projects and programs it was.

` + cli.ExitCodes,
		Example: `  permd today
  permd today --day yesterday`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			at := day.At(now)
			switch {
			case at.IsZero():
				at = now
			case at.After(now):
				return cli.Failf(cli.ExitUsage, "write a day that has been, such as yesterday", "--day is in the future: %s", at.Local().Format(time.DateOnly))
			}
			log, err := records.Open(cmd.Context(), a.root)
			if err != nil {
				return err
			}
			defer log.Close()
			return log.Today(cmd.Context(), &a.Streams, at, now)
		},
	}
	cmd.Flags().Var(&day, "day", "show the day of this `time`, such as yesterday or 2026-11-28")
	return cmd
}
