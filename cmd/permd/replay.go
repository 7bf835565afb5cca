package main

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
)

func (a *app) replayCommand() *cobra.Command {
	long := `Decide the calls of the transcripts that an agent harness keeps in the home
folder, without a daemon: nothing is written, sent or enforced.`
	example := `  permd replay claude
  permd replay codex ~/.codex/sessions/2026`
	var subs []*cobra.Command
	for n, h := range replay.Harnesses("~", func(string) string { return "" }) {
		subs = append(subs, a.replayHarnessCommand(n, h.Name, h.Dir))
	}
	return group("replay", "Decide the calls of a harness's transcripts", long, example, subs...)
}

// replayHarnessCommand is about harness n of [replay.Harnesses].
func (a *app) replayHarnessCommand(n int, name, folder string) *cobra.Command {
	return &cobra.Command{
		Use:   name + " [DIR]",
		Short: "Decide the calls of the transcripts of " + name,
		Long: `Decide the calls in the transcripts in DIR (default: ` + folder + `)
by the rules on the disk, as they would be decided now, and print how many would
be allowed, asked and denied, and which most often. Secrets are masked.

Files and folders are looked at as they are now, so that a call in a project
that is gone may be decided otherwise than it was then. A line that cannot be
read is counted.

` + cli.ExitCodes,
		Example: `  permd replay ` + name + `
  permd replay ` + name + ` --json transcripts`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := account.Home()
			if err != nil {
				return err
			}
			r, err := replay.Transcripts(cmd.Context(), &a.Streams, a.root, replay.Harnesses(home, os.Getenv)[n], cmp.Or(args...))
			if err != nil {
				return err
			}
			return r.Print(&a.Streams)
		},
	}
}

func (a *app) whyAskedCommand() *cobra.Command {
	var o records.Selection
	var n int
	cmd := &cobra.Command{
		Use:         "why-asked",
		Annotations: cli.ReadsOnly,
		Short:       "Show the most frequent questions and the rules that would end them",
		Long: `Show what was asked most often, and for each question the smallest lines of
rules.yaml that would end it in every project, all of them ready to paste at the
end. The lines have been tried: they compile, and in a replay of the log they
end that question and no other, and allow nothing that is denied. Where files
of the project say what runs, such as scripts of package.json, the command
comes first that remembers it while they stay as they are.

Nothing is proposed for what is dangerous: secrets, guarded files, and what is
not understood; nor for what you have said no to. Without --since questions of
the last 7 days are counted.

` + cli.ExitCodes,
		Example: `  permd why-asked
  permd why-asked --since 30d --limit 3 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 {
				return cli.Failf(cli.ExitUsage, "write how many questions, such as 10", "--limit must be at least 1")
			}
			f, err := o.Filter(time.Now(), true)
			if err != nil {
				return err
			}
			list, undecided, err := replay.WhyAsked(cmd.Context(), &a.Streams, a.root, f, n)
			if err != nil {
				return err
			}
			return replay.PrintQuestions(&a.Streams, a.root, list, undecided)
		},
	}
	o.Times(cmd.Flags())
	cmd.Flags().IntVar(&n, "limit", 10, "show at most `n` questions")
	return cmd
}

func (a *app) suggestCommand() *cobra.Command {
	var o records.Selection
	cmd := &cobra.Command{
		Use:         "suggest",
		Annotations: cli.ReadsOnly,
		Short:       "Suggest choices from what you approved again and again",
		Long: `Suggest what to remember: questions that you answered with yes at least three
times and never with no, as commands that remember exactly that for its project,
or as lines of rules.yaml where it was in several projects. The decisions are
named. A run is remembered for all folders of the project, and not suggested if
you approved it only in another one than the project's own. Nothing is suggested
for what is dangerous and for deletes of one file, and nothing is changed.

Without --since answers of the last 7 days count.

` + cli.ExitCodes,
		Example: `  permd suggest
  permd suggest --since 30d --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := o.Filter(time.Now(), true)
			if err != nil {
				return err
			}
			list, undecided, err := replay.Suggest(cmd.Context(), &a.Streams, a.root, f)
			if err != nil {
				return err
			}
			return replay.PrintSuggestions(&a.Streams, list, undecided)
		},
	}
	o.Times(cmd.Flags())
	return cmd
}
