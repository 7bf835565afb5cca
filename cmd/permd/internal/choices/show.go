package choices

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
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

// Use is usage with what the choice is bound to and its marks.
func Use(c *admin.Choice) string { return usage(c) + marks(c) }

// InList is Use with how long the choice holds and since when, for a line of so many columns,
// any number if width is 0.
func InList(c *admin.Choice, width int) string {
	words := usage(c)
	if !c.Expires.IsZero() {
		words += ", until " + c.Expires.Local().Format("2006-01-02 15:04")
	}
	if !c.Created.IsZero() { // of a dry run
		words += ", made " + c.Created.Local().Format("2006-01-02")
	}
	if words += marks(c); width > listIndent {
		words = cli.ClipEnd(words, width-listIndent)
	}
	return words
}

// listIndent is before what has a line of its own in a table.
const listIndent = 4

// marks are what the choice is bound to and its marks, each after a comma.
func marks(c *admin.Choice) (words string) {
	if c.BoundTo != "" {
		words += ", bound to " + display.Display(c.BoundTo)
	}
	for _, m := range []struct {
		is   bool
		word string
	}{{c.Refused != "", "does not apply: " + c.Refused}, {c.DeniedBy != "", "org denies it"}, {c.UsedFor != nil, usedFor(c)}, {c.CoveredBy != "", "covered by " + c.CoveredBy}, {c.Dormant, "dormant"}} {
		if m.is {
			words += ", " + m.word
		}
	}
	return words
}

// usedFor says what a choice is too wide for, "" if that is not known.
func usedFor(c *admin.Choice) string {
	if c.UsedFor == nil {
		return ""
	}
	return "used for " + cli.Clip(display.Display(c.UsedFor.Line), 60) + " only"
}

// UsedFor is usedFor with the evidence.
func UsedFor(c *admin.Choice) string {
	if c.UsedFor == nil {
		return ""
	}
	return fmt.Sprintf("%s, in the last %d uses that the log has", usedFor(c), c.UsedFor.Seen)
}

// NarrowCommand is the command that gives a choice the line that it was used for.
func NarrowCommand(c *admin.Choice) string {
	return "permd remember change " + c.ID + " --line " + cli.Quote(c.UsedFor.Line)
}

// Render writes a choice in full.
func Render(out io.Writer, c *admin.Choice) {
	for _, p := range Parts(c) {
		fmt.Fprintf(out, "%s: %s %s\n", c.Verdict, p.Kind, p.Rule)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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
	line("holds for", Scope(c))
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
	before := "while " + c.BoundTo + " is "
	if c.BoundTo != "" {
		as := ""
		for _, p := range c.Pins {
			if at, ok := strings.CutPrefix(p, before); ok {
				as = ", " + at
			}
		}
		line("bound to", display.Display(c.BoundTo+as))
		for text := range strings.Lines(c.BoundText) {
			line("", display.Display(strings.TrimSuffix(text, "\n")))
		}
	}
	for _, p := range c.Pins {
		if c.BoundTo == "" || !strings.HasPrefix(p, before) {
			line("only if", display.Display(p))
		}
	}
	line("made", date(c.Created))
	line("ends", date(c.Expires))
	saidBy := cli.Either(c.DecisionID == "", "a person, on the command line", "a person, as a client reported")
	if c.Author != nil {
		saidBy = account.AuthorInFull(c.Author, c.Verdict)
	}
	line("said by", saidBy)
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
	if c.UsedFor != nil {
		line("wider", "than its use: "+UsedFor(c))
		line("to narrow", NarrowCommand(c))
	}
	line("does not apply", c.Refused)
	line("no use", cli.Either(c.DeniedBy == "", "", "org denies it: "+display.Display(c.DeniedBy)))
	w.Flush()
}
