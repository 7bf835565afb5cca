package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) allowCommand() *cobra.Command {
	var o admin.Approval
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "allow [DECISION]",
		Short: "Say yes to a call that a harness could not ask you about",
		Long: `Say yes to a call that permd left to you, but that the harness could not ask you
about, so that it was refused. Without DECISION the calls that wait are listed.

The very same call is then allowed once, in the same session, within half an
hour: let the agent try again. Nothing is remembered, unless --width names what
to remember; the list shows what can be.

What policy denies cannot be allowed so. This asks and answers over the
management socket, so agents should not be able to run it; permd's own rules deny
it to them.

` + cli.ExitCodes,
		Example: `  permd allow
  permd allow 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e
  permd allow 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e --width w1 --scope session`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			if o.Width == "" && (o.Scope != "" || limit != 0) {
				return cli.Failf(cli.ExitUsage, "permd allow lists them", "--scope and --for belong to a --width")
			}
			o.ExpiresIn = int64(limit / time.Second)
			return withMemory(cmd.Context(), func(m *memory) error {
				if len(args) == 0 {
					return a.listQuestions(cmd.Context(), m)
				}
				o.DecisionID = args[0]
				return a.allow(cmd.Context(), m, o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Width, "width", "", "remember this width of the yes: w1, w2 or w3")
	f.StringVar(&o.Scope, "scope", "", "where it is remembered: session, session+children, project or user")
	f.DurationVar(&limit, "for", 0, "forget it after this time, such as 8h")
	return cmd
}

func (a *app) allow(ctx context.Context, m *memory, o admin.Approval) error {
	var done admin.Approved
	err := m.c.Call(ctx, admin.MethodQuestionsAllow, o, &done)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == admin.CodeNoDecision {
		return cli.Failf(cli.ExitError, "let the agent try again, and use the id of the new refusal; permd allow lists those that wait", "%s", e.Message)
	}
	if err != nil {
		return fmt.Errorf("allowing the call: %w", err)
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, done)
	}
	if !done.Until.IsZero() {
		fmt.Fprintf(a.Out, "allowed once, in its session, until %s; nothing is remembered\n", done.Until.Local().Format("15:04:05"))
	}
	for i := range done.Stored {
		k := &done.Stored[i]
		fmt.Fprintf(a.Out, "remembered: %s %s (%s)\n", k.Verdict, k.Label, k.Scope)
		fmt.Fprintf(a.Err, "permd: hint: to undo this: permd remember forget %s\n", k.ID)
	}
	return nil
}

func (a *app) listQuestions(ctx context.Context, m *memory) error {
	var got admin.Questions
	if err := m.c.Call(ctx, admin.MethodQuestionsList, struct{}{}, &got); err != nil {
		return fmt.Errorf("listing the questions: %w", err)
	}
	if a.JSON {
		for i := range got.Questions {
			if err := cli.PrintJSON(a.Out, &got.Questions[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(got.Questions) == 0 {
		fmt.Fprintln(a.Out, "no call waits")
	}
	for i := range got.Questions {
		q := &got.Questions[i]
		fmt.Fprintf(a.Out, "%s  %s, %s: %s\n", q.DecisionID, q.Asked.Local().Format("15:04:05"), q.Harness, q.Reason)
		for _, text := range q.Effects {
			fmt.Fprintf(a.Out, "    %s\n", text)
		}
		w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		for _, width := range q.Widths {
			fmt.Fprintf(w, "    --width %s\t%s\t%s\n", width.ID, strings.ReplaceAll(width.Rule, "\n", "; "), width.Scope)
		}
		w.Flush()
	}
	return nil
}
