package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) rememberCommand() *cobra.Command {
	const long = `List and change what permd remembers: the choices that people made with
"always".
Requires a running daemon.`
	const example = `  permd remember list`
	return group("remember", "Manage remembered choices", long, example,
		a.rememberListCommand(), a.rememberShowCommand(), a.rememberAddCommand(),
		a.rememberForgetCommand(), a.rememberChangeCommand(), a.rememberUndoCommand(), a.rememberConfirmCommand(), a.rememberExportCommand(), a.rememberImportCommand())
}

// memoryClient calls the management methods for the daemon's memory.
type memoryClient struct{ c *client.Client }

// withMemory connects to the daemon and calls do.
func withMemory(ctx context.Context, do func(m *memoryClient) error) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return do(&memoryClient{c})
}

// list returns the choices that a filter selects, oldest first.
func (m *memoryClient) list(ctx context.Context, f admin.ChoiceFilter, authors bool) ([]admin.Choice, error) {
	return choices.List(ctx, m.c, f, authors)
}

// callWithIDs calls a method that takes the ids of choices.
func (m *memoryClient) callWithIDs(ctx context.Context, method string, ids []string) (admin.Choices, error) {
	var all admin.Choices
	for part := range slices.Chunk(ids, admin.MaxList) {
		var got admin.Choices
		err := m.c.Call(ctx, method, map[string][]string{"choiceIds": part}, &got)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Code == admin.CodeNoChoice {
			return all, cli.Failf(cli.ExitError, "permd remember list", "%s", e.Message)
		}
		if err != nil {
			return all, err
		}
		all.Choices = append(all.Choices, got.Choices...)
		all.Pending = all.Pending || got.Pending
		all.Undo = append(all.Undo, got.Undo...)
	}
	return all, nil
}

// kindWords are the kinds of effects that a choice can be about.
func kindWords() []string { return choices.Kinds() }

// kindNames are the same in a sentence: "run, read or use".
func kindNames() string {
	words := kindWords()
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// choiceFilter are the options that select choices.
type choiceFilter struct {
	admin.ChoiceFilter
	expiring time.Duration
}

func (f *choiceFilter) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Kind, "kind", "", "only choices about this `kind` of effect: "+kindNames())
	fl.StringVar((*string)(&f.Verdict), "verdict", "", "only choices with this `verdict`: allow or deny")
	fl.StringVar(&f.Scope, "scope", "", "only choices with this `scope`: session, session+children, project or user")
	fl.StringVar(&f.Project, "project", "", "only choices for the project with this root `directory`")
	fl.StringVar(&f.Agent, "agent", "", "only answers to questions of this `agent`, as the log has it")
	fl.StringVar(&f.Tool, "tool", "", "only answers to questions about this `tool`, as the log has it")
	fl.StringVar(&f.Text, "text", "", "only choices with this `text` in their lines, project or session")
	fl.BoolVar(&f.Dormant, "dormant", false, "only choices that were not used for 90 days")
	fl.BoolVar(&f.Covered, "covered", false, "only choices that another one covers")
	fl.BoolVar(&f.Useless, "useless", false, "only allows of which org denies everything")
	fl.BoolVar(&f.Wider, "wider", false, "only allows that are wider than what they were used for")
	fl.BoolVar(&f.Unconfirmed, "unconfirmed", false, "only choices that have no effect until you confirm them")
	fl.Var(cli.Duration{To: &f.expiring}, "expiring", "only choices that expire within this `duration`, such as 8h or 7d")
}

func (f *choiceFilter) check() error {
	if f.Project != "" {
		dir, err := filepath.Abs(f.Project)
		if err != nil {
			return fmt.Errorf("finding the folder: %w", err)
		}
		f.Project = dir
	}
	for _, o := range []struct {
		name, value string
		known       []string
	}{
		{"kind", f.Kind, append([]string{""}, kindWords()...)},
		{"verdict", string(f.Verdict), []string{"", "allow", "deny"}},
		{"scope", f.Scope, []string{"", "session", "session+children", "project", "user"}},
	} {
		if !slices.Contains(o.known, o.value) {
			return cli.Failf(cli.ExitUsage, "one of: "+strings.Join(o.known[1:], ", "), "unknown %s %q", o.name, o.value)
		}
	}
	if f.expiring != 0 && f.expiring < time.Second {
		return cli.Failf(cli.ExitUsage, "write a time such as 8h or 7d", "--expiring must be at least a second, not %s", f.expiring)
	}
	f.ExpiringIn = int64(f.expiring / time.Second)
	return nil
}

func (f *choiceFilter) empty() bool { return *f == choiceFilter{} }

// choose returns the choices that match the filter.
func (m *memoryClient) choose(ctx context.Context, f *choiceFilter, authors bool) ([]admin.Choice, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return m.list(ctx, f.ChoiceFilter, authors)
}

func (a *app) rememberListCommand() *cobra.Command {
	var f choiceFilter
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: cli.ReadsOnly,
		Short:       "List remembered choices, newest last",
		Long: `List the choices in force, newest last: what is allowed or denied, where, how
often the choice matched a call, even if a rule decided it, until when it holds,
when it was made, and what its content is bound to. A reject of several effects
has a line for each.

With --changed, list only choices that an earlier version of permd stored and
that no longer apply as they did: rejects that ask until you confirm or forget
them, and allows that have no effect.

` + cli.ExitCodes,
		Example: `  permd remember list
  permd remember list --kind run --scope user --json
  permd remember list --changed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.rememberList(cmd.Context(), f)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.Changed, "changed", false, "only choices of an earlier version of permd that no longer apply as they did")
	return cmd
}

// rememberList prints the choices that match the filter.
func (a *app) rememberList(ctx context.Context, f choiceFilter) error {
	return withMemory(ctx, func(m *memoryClient) error {
		list, err := m.choose(ctx, &f, a.JSON)
		if err != nil {
			return err
		}
		if len(list) == 0 && !f.empty() && !a.JSON {
			fmt.Fprintln(a.Out, "no choice matches")
			return nil
		}
		return a.printChoices(list)
	})
}

// printChoices prints a line for each part of each choice.
func (a *app) printChoices(list []admin.Choice) error {
	if a.JSON {
		return cli.PrintJSONLines(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "nothing is remembered")
	}
	t := cli.Table{Flexible: []int{3, 4}}
	for i := range list {
		c := &list[i]
		for n, p := range choices.Parts(c) {
			if n == 0 {
				t.Row(c.ID, string(c.Verdict), p.Kind, cli.Clip(p.Rule, 60), choices.Scope(c), choices.InList(c, cli.Width(a.Out)))
			} else {
				t.Row("", "", p.Kind, cli.Clip(p.Rule, 60))
			}
		}
	}
	return t.Write(a.Out)
}

func (a *app) rememberShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "show CHOICE...",
		Annotations: cli.ReadsOnly,
		Short:       "Show choices in full",
		Long: `Show choices with everything that they depend on (project, script contents, time
limit) and the decision that each of them answered: when, by which agent and in
which project it was asked, what the call would have done, and who answered,
while the log has it. Of a script of package.json and a target of a makefile,
the text is shown that the choice is bound to.

A choice is covered by another one that matches all that it matches, so it can
be forgotten. It is dormant if it was not used for 90 days, and of no use if a
deny line of the organisation holds for all of it. It is wider than its use if a
narrower line would have matched all of the last calls that it allowed, at most
20, while the log has what they were.

` + cli.ExitCodes,
		Example:           `  permd remember show k3vq7xw2n5ab`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeChoices,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rememberShow(cmd.Context(), args)
		},
	}
}

// rememberShow prints choices in full.
func (a *app) rememberShow(ctx context.Context, ids []string) error {
	return withMemory(ctx, func(m *memoryClient) error {
		ids, err := m.wholeChoices(ctx, ids)
		if err != nil {
			return err
		}
		got, err := m.callWithIDs(ctx, admin.MethodChoicesShow, ids)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.printChoices(got.Choices)
		}
		for i := range got.Choices {
			choices.Render(cli.Folded(a.Out, 12), &got.Choices[i])
		}
		return nil
	})
}

func (a *app) rememberAddCommand() *cobra.Command {
	n := admin.NewChoice{Verdict: decisions.Allow, Scope: "project"}
	var reject, dryRun bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "add KIND LINE",
		Short: "Add a choice",
		Long: `Remember an allow, or a reject with --reject, without having been asked. KIND is
` + kindNames() + `; LINE is an entry as in rules.yaml (see
docs/policy.md). The choice applies in the project of the current directory, or
everywhere with --scope user. A line with an exact path or host also applies to
guarded ones, such as secrets.

A run that executes files of the project, such as npm test or make lint, is
stored as an answer of "always" would store it: bound to the script, target or
file as it is now. The output says to what, and how many of the latest requests
of the log the choice would have matched; with --dry-run, nothing is stored.

` + cli.ExitCodes,
		Example: `  permd remember add run "go test *"
  permd remember add run "npm test"
  permd remember add connect docs.python.org --scope user --for 8h
  permd remember add write "./docs/**"
  permd remember add --reject run "git push --force *"`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, noFiles // a line, which names no file of here
			}
			return kindWords(), noFiles
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Kind, n.Line = args[0], args[1]
			if reject {
				n.Verdict = decisions.Deny
			}
			if n.Scope != "project" && n.Scope != "user" {
				return cli.Failf(cli.ExitUsage, "one of: project, user", "unknown scope %q", n.Scope)
			}
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			n.ExpiresIn = int64(limit / time.Second)
			var err error
			if n.Dir, err = filepath.Abs(n.Dir); err != nil {
				return fmt.Errorf("finding the folder: %w", err)
			}
			return a.rememberAdd(cmd.Context(), n, dryRun)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&reject, "reject", false, "remember a reject instead of an allow")
	f.BoolVar(&dryRun, "dry-run", false, "store nothing, and show what would be")
	f.StringVar(&n.Scope, "scope", n.Scope, "`scope` of the choice: project or user")
	f.StringVar(&n.Dir, "dir", "", "`directory` in the project (default: the current one)")
	f.Var(cli.Duration{To: &limit}, "for", "forget the choice after this `duration`, such as 8h or 7d")
	return cmd
}

// checkLimit rejects a --for of less than a second, which would mean no limit.
func checkLimit(cmd *cobra.Command, limit time.Duration) error {
	if cmd.Flags().Changed("for") && limit < time.Second {
		return cli.Failf(cli.ExitUsage, "write a time such as 30m or 8h, or leave --for out for no limit", "--for must be at least a second, not %s", limit)
	}
	return nil
}

// rememberAdd stores a line, unless it is a dry run, and says what it would have matched.
func (a *app) rememberAdd(ctx context.Context, n admin.NewChoice, dryRun bool) error {
	return withMemory(ctx, func(m *memoryClient) error {
		previews, err := choices.Previews(ctx, m.c, admin.PreviewParams{Add: &n})
		if dryRun {
			return a.printPreviews(previews, err)
		}
		var got admin.Choices
		if err := m.c.Call(ctx, admin.MethodChoicesAdd, n, &got); err != nil {
			return fmt.Errorf("adding a choice: %w", err)
		}
		if a.JSON && len(previews) > 0 && len(got.Choices) > 0 {
			previews[0].Choices = nil
			err = cli.PrintJSON(a.Out, addedChoice{got.Choices[0], &previews[0]})
			got.Choices = got.Choices[1:]
			if err != nil {
				return err
			}
		}
		if err := a.printAdded(got.Choices); err != nil {
			return err
		}
		if !a.JSON && len(previews) > 0 {
			if words := choices.WouldHave(&previews[0]); words != "" {
				fmt.Fprintln(cli.Folded(a.Out, 4), words)
			}
		}
		return a.hintUndo(got.Undo)
	})
}

// addedChoice is a choice with what it would have matched.
type addedChoice struct {
	admin.Choice
	Preview *admin.Preview `json:"preview"`
}

// printAdded prints choices that were added, and says which were there already.
func (a *app) printAdded(list []admin.Choice) error {
	if a.JSON {
		return a.printChoices(list)
	}
	var added, earlier []admin.Choice
	for i := range list {
		to := &added
		if list[i].Earlier {
			to = &earlier
		}
		*to = append(*to, list[i])
	}
	if len(added) > 0 {
		if err := a.printChoices(added); err != nil {
			return err
		}
	}
	if len(earlier) > 0 {
		fmt.Fprintln(a.Out, "already remembered:")
		return a.printChoices(earlier)
	}
	return nil
}
