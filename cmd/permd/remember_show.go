package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// usage says how often a choice matched, or why it is not used.
func usage(c *admin.Choice) string {
	switch {
	case c.Changed != "" && c.Verdict == decisions.Deny:
		return "of an earlier permd, to be confirmed or forgotten"
	case c.Changed != "":
		return "of an earlier permd, not used"
	case c.Unconfirmed:
		return "not confirmed, so not used"
	}
	used := fmt.Sprintf("used %d times", c.Matches)
	switch c.Matches {
	case 0:
		used = "never used"
	case 1:
		used = "used once"
	}
	return used
}

// use is usage with what the choice is bound to and its marks.
func use(c *admin.Choice) string {
	words := usage(c)
	if c.BoundTo != "" {
		words += ", bound to " + display.Display(c.BoundTo)
	}
	for _, m := range []struct {
		is   bool
		word string
	}{{c.DeniedBy != "", "org denies it"}, {c.CoveredBy != "", "covered by " + c.CoveredBy}, {c.Dormant, "dormant"}} {
		if m.is {
			words += ", " + m.word
		}
	}
	return words
}

func (a *app) rememberShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "show CHOICE...",
		Annotations: readsOnly,
		Short:       "Show choices in full",
		Long: `Show choices with everything that they depend on (project, script contents, time
limit) and the decision that each of them answered: when, by which agent and in
which project it was asked, and what the call would have done, while the log
has it. Of a script of package.json and a target of a makefile, the text is
shown that the choice is bound to.

A choice is covered by another one that matches all that it matches, so it can
be forgotten. It is dormant if it was not used for 90 days, and of no use if a
deny line of the organisation holds for all of it.

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
			a.renderChoice(&got.Choices[i])
		}
		return nil
	})
}

func (a *app) renderChoice(c *admin.Choice) {
	for _, p := range choices.Parts(c) {
		fmt.Fprintf(a.Out, "%s: %s %s\n", c.Verdict, p.Kind, p.Rule)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %s\t%s\n", name, value)
		}
	}
	date := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format("2006-01-02 15:04:05")
	}
	line("id", c.ID)
	line("holds for", choices.Scope(c))
	if len(c.Parts) == 0 {
		line("matches", cli.Either(c.Line, "what the line says", "that very effect"))
	} else {
		line("matches", "every call with an effect that a line speaks of, as in a deny list")
	}
	for _, p := range c.Parts {
		if !p.Line {
			line("matches", "the words of "+cli.Clip(p.Rule, 60)+", by a digest of them")
		}
	}
	line("changed", c.Changed)
	if c.BoundTo != "" {
		line("bound to", display.Display(c.BoundTo))
		for text := range strings.Lines(c.BoundText) {
			line("", display.Display(strings.TrimSuffix(text, "\n")))
		}
	}
	for _, p := range c.Pins {
		line("bound to", display.Display(p))
	}
	line("made", date(c.Created))
	line("ends", date(c.Expires))
	line("said by", cli.Either(c.DecisionID == "", "a person, on the command line", "a person, as a client reported"))
	line("decision", c.DecisionID+cli.Either(c.FromRemoved, " (removed from the log)", ""))
	if f := c.From; f != nil {
		line("asked", date(f.Time))
		line("by", display.Display(cli.Either(f.Agent == "", f.Client, f.Agent)+cli.Either(f.Client == "" || f.Agent == "" || f.Client == f.Agent, "", " in "+f.Client)))
		line("in", display.Display(f.Project))
		for _, e := range f.Effects {
			line("it would", display.Display(e))
		}
		if f.More > 0 {
			line("", fmt.Sprintf("and %d more", f.More))
		}
	}
	line("confirmed", date(c.Confirmed))
	line("use", usage(c))
	line("last used", date(c.LastMatched))
	if c.Dormant {
		line("dormant", "not used for 90 days")
	}
	line("covered by", cli.Either(c.CoveredBy == "", "", c.CoveredBy+", which matches all of it: this one can be forgotten"))
	line("covers", strings.Join(c.Covers, " "))
	line("no use", cli.Either(c.DeniedBy == "", "", "org denies it: "+display.Display(c.DeniedBy)))
	w.Flush()
}
