package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) allowCommand() *cobra.Command {
	var o admin.Approval
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "allow [DECISION]",
		Short: "Allow a call that a client could not ask you about",
		Long: `Allow a call that permd left to you, and that its client had no way to ask you
about. Without DECISION, list these calls.

Where the client waits for your answer, the call runs now. A harness has blocked
it: the same call is then allowed once, in the same session, within half an
hour: tell the agent to try again. Nothing is remembered unless you choose a
width with --width, which can be written --always too; the list shows the widths
of each call, and how many of the latest requests each would have matched.
Without it, a yes that no call has used ends with the daemon.

Calls that a rule denies cannot be allowed this way. Agents are denied this
command.

` + cli.ExitCodes,
		Example: `  permd allow
  permd allow 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e
  permd allow 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e --width w1 --scope session`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeQuestions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			if o.Width == "" && (o.Scope != "" || limit != 0) {
				return cli.Failf(cli.ExitUsage, "permd allow lists them", "--scope and --for belong to a --width")
			}
			o.ExpiresIn = int64(limit / time.Second)
			return withMemory(cmd.Context(), func(m *memoryClient) error {
				if len(args) == 0 {
					return a.listQuestions(cmd.Context(), m)
				}
				id, err := m.wholeQuestion(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				o.DecisionID, o.Via = id, author.Command
				return a.allow(cmd.Context(), m, o)
			})
		},
	}
	f := cmd.Flags()
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "always" {
			name = "width"
		}
		return pflag.NormalizedName(name)
	})
	f.StringVar(&o.Width, "width", "", "remember this `width` of the answer: w1, w2 or w3")
	f.StringVar(&o.Scope, "scope", "", "remember it in this `scope`: session, session+children, project or user")
	f.Var(cli.Duration{To: &limit}, "for", "forget it after this `duration`, such as 8h or 7d")
	return cmd
}

func (a *app) denyCommand() *cobra.Command {
	var o admin.Denial
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "deny DECISION",
		Short: "Deny a call that a client could not ask you about",
		Long: `Answer no to a call that permd allow lists. A client that waits for your answer
is told; where a harness has blocked the call before, it only waits no longer.
With the id of a call that you allowed once, and that has not been made since,
the yes is taken back, as the log then says.

Nothing is remembered unless you choose a width with --width, which permd allow
lists as "never": every call with an effect that its lines speak of is denied
from then on.

` + cli.ExitCodes,
		Example: `  permd deny 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e
  permd deny 01a1fd8c-f759-7ace-97fe-e3dd444ffe0e --width r1 --scope user`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeQuestions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			if o.Width == "" && (o.Scope != "" || limit != 0) {
				return cli.Failf(cli.ExitUsage, "permd allow lists them", "--scope and --for belong to a --width")
			}
			o.ExpiresIn = int64(limit / time.Second)
			return withMemory(cmd.Context(), func(m *memoryClient) error {
				id, err := m.wholeQuestion(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				o.DecisionID, o.Via = id, author.Command
				return a.deny(cmd.Context(), m, o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Width, "width", "", "remember this `width` of the answer: r1, r2 or r3")
	f.StringVar(&o.Scope, "scope", "", "remember it in this `scope`: session, session+children, project or user")
	f.Var(cli.Duration{To: &limit}, "for", "forget it after this `duration`, such as 8h or 7d")
	return cmd
}

func (a *app) deny(ctx context.Context, m *memoryClient, o admin.Denial) error {
	var done admin.Denied
	a.printPreview(ctx, m, o.Width, admin.PreviewParams{DecisionIDs: []string{o.DecisionID}, Scope: o.Scope, Verdict: decisions.Deny})
	if err := m.c.Call(ctx, admin.MethodQuestionsDeny, o, &done); err != nil {
		return m.answerError(ctx, o.DecisionID, err)
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, done)
	}
	a.printAnswer(choices.Denied(&done), done.NotLogged)
	return a.hintUndo(done.Undo)
}

// printAnswer prints what an answer has done.
func (a *app) printAnswer(said []string, notLogged bool) {
	w := cli.Folded(a.Out, 4)
	for _, line := range said {
		fmt.Fprintln(w, line)
	}
	if notLogged {
		fmt.Fprintln(a.Err, "permd: warning: the answer is not in the decision log, which could not be written")
	}
}

// answerError returns the error for an answer to a question that was not taken.
func (m *memoryClient) answerError(ctx context.Context, id string, err error) error {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
	case e.Code == admin.CodeNoDecision:
		if rec, err := recordOf(ctx, records.Through(m.c), id); err == nil && rec.Answer != nil {
			return cli.Failf(cli.ExitError, "let the agent try again; what asks then has a new id", "it is answered already: %s at %s%s",
				rec.Answer.Word(), rec.Answer.Time.Local().Format("15:04:05"), account.AnsweredBy(rec.Answer))
		}
		return cli.Failf(cli.ExitError, "let the agent try again and use the new decision's id; permd allow lists the calls that wait", "%s", e.Message)
	case strings.Contains(e.Message, "no width of that id was offered"):
		_, why, _ := strings.Cut(e.Message, "no width of that id")
		return cli.Failf(cli.ExitError, "permd allow lists the widths of each call", "nothing was answered: no width of that id%s", why)
	}
	return fmt.Errorf("answering the question: %w", err)
}

func (a *app) allow(ctx context.Context, m *memoryClient, o admin.Approval) error {
	var done admin.Approved
	a.printPreview(ctx, m, o.Width, admin.PreviewParams{DecisionIDs: []string{o.DecisionID}, Scope: o.Scope})
	if err := m.c.Call(ctx, admin.MethodQuestionsAllow, o, &done); err != nil {
		return m.answerError(ctx, o.DecisionID, err)
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, done)
	}
	a.printAnswer(choices.Approved(&done), done.NotLogged)
	return a.hintUndo(done.Undo)
}

// scopeWords say where an answer is remembered.
var scopeWords = map[string]string{
	"": "with --scope user", "session": "in this session", "session+children": "in this session and those below it", "project": "in this project", "user": "everywhere",
}

// previews returns what the widths of the first questions would have matched, by the ids of these;
// nothing where that cannot be counted.
func (m *memoryClient) previews(ctx context.Context, list []admin.Question) map[string][]admin.Preview {
	of := map[string][]admin.Preview{}
	list = list[:min(len(list), admin.MaxPreviews)]
	for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		var ids []string
		for i := range list {
			widths := list[i].Widths
			if verdict == decisions.Deny {
				widths = list[i].RejectWidths
			}
			if len(widths) > 0 {
				ids = append(ids, list[i].DecisionID)
			}
		}
		if ids == nil {
			continue
		}
		got, _ := choices.Previews(ctx, m.c, admin.PreviewParams{DecisionIDs: ids, Verdict: verdict})
		for _, p := range got {
			of[p.DecisionID] = append(of[p.DecisionID], p)
		}
	}
	return of
}

// printPreview shows a person at a terminal what a width would have matched. What cannot be counted is no
// reason not to answer.
func (a *app) printPreview(ctx context.Context, m *memoryClient, width string, p admin.PreviewParams) {
	if width == "" || a.JSON || !a.AtTerminal() {
		return
	}
	list, _ := choices.Previews(ctx, m.c, p)
	for i := range list {
		if list[i].Width == width {
			choices.RenderPreview(a.Out, &list[i])
		}
	}
}

// printCount prints what a width would have matched, in the column of what is said of it.
func (a *app) printCount(previews []admin.Preview, width string) {
	for i := range previews {
		if words := choices.WouldHave(&previews[i]); previews[i].Width == width && words != "" {
			fmt.Fprintf(cli.Folded(a.Out, 18), "                %s\n", words)
		}
	}
}

func (a *app) listQuestions(ctx context.Context, m *memoryClient) error {
	var got admin.Questions
	if err := m.c.Call(ctx, admin.MethodQuestionsList, struct{}{}, &got); err != nil {
		return fmt.Errorf("listing the questions: %w", err)
	}
	previews := m.previews(ctx, got.Questions)
	if a.JSON {
		type question struct {
			admin.Question
			Previews []admin.Preview `json:"previews,omitzero"`
		}
		list := make([]question, len(got.Questions))
		for i := range list {
			list[i] = question{got.Questions[i], previews[got.Questions[i].DecisionID]}
		}
		return cli.PrintJSONLines(a.Out, list)
	}
	if len(got.Questions) == 0 {
		fmt.Fprintln(a.Out, "no call waits")
	}
	for i := range got.Questions {
		q := &got.Questions[i]
		w := cli.Folded(a.Out, 4)
		asked := q.Asked.Local().Format("15:04:05")
		if !q.Until.IsZero() {
			asked += ", waits until " + q.Until.Local().Format("15:04:05")
		}
		fmt.Fprintf(w, "%s  %s, %s: %s\n", q.DecisionID, asked, display.Display(q.Harness), q.Reason)
		for _, text := range q.Effects {
			fmt.Fprintf(w, "    %s\n", text)
		}
		if q.Arguments != "" {
			fmt.Fprintf(w, "    arguments: %s\n", q.Arguments)
		}
		for _, width := range q.Widths {
			label := display.Display(width.Label)
			if !strings.Contains(label, "(in this ") {
				label += " (" + cmp.Or(scopeWords[width.Scope], width.Scope) + ")"
			}
			fmt.Fprintf(cli.Folded(a.Out, 16), "    --width %s  %s\n", width.ID, label)
			for line := range strings.Lines(width.Rule) {
				fmt.Fprintf(cli.Folded(a.Out, 18), "                %s\n", display.Display(strings.TrimSuffix(line, "\n")))
			}
			a.printCount(previews[q.DecisionID], width.ID)
		}
		if q.NotRemembered != "" {
			fmt.Fprintf(w, "    only once, not remembered: %s\n", display.Display(q.NotRemembered))
		}
		for _, width := range q.RejectWidths {
			fmt.Fprintf(cli.Folded(a.Out, 16), "    --width %s  never: %s (%s)\n", width.ID, choices.OneLine(width.Label), cmp.Or(scopeWords[width.Scope], width.Scope))
			a.printCount(previews[q.DecisionID], width.ID)
		}
	}
	return nil
}
