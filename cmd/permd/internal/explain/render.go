package explain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/rules"
)

// Render prints an explanation in readable form.
func (x *Explanation) Render(out io.Writer) {
	w := cli.Folded(out, textColumn)
	d := x.Decision
	fmt.Fprintf(w, "%s: %s\n", d.Verdict, d.Reason)
	fmt.Fprintf(w, "  %sdecided by %s, policy %s\n", cli.Either(x.Unlogged, "", "decision "+d.ID+", "), d.By, cli.Short(d.Policy.Digest))
	if call := x.Call.words(); call != "" {
		fmt.Fprintf(w, "  %s\n", call)
	}
	if x.Call.Arguments != "" {
		fmt.Fprintf(w, "  arguments %s\n", cli.Clip(x.Call.Arguments, 400))
	}
	if x.Recreated != "" {
		fmt.Fprintf(w, "  decided again by %s\n", display.Display(x.Recreated))
	}
	for _, claim := range x.Call.Claims {
		fmt.Fprintf(w, "  the agent says: %s\n", display.Display(claim))
	}
	if d.Message != "" {
		fmt.Fprintf(w, "  tell the agent: %s\n", d.Message)
	}
	if x.TrustProblem != "" {
		fmt.Fprintf(w, "  the project allows nothing: %s\n", x.TrustProblem)
	}
	for _, defect := range d.Defects {
		fmt.Fprintf(w, "  ! %s: %s (%s)\n", defect.Code, defect.Text, defect.At)
	}
	fmt.Fprintln(w)
	for i := range x.Effects {
		x.Effects[i].render(w)
	}
	if !x.Known {
		if x.Why == "" {
			x.Why = "its arguments are no longer known"
		}
		fmt.Fprintf(cli.Folded(out, 0), "\nThis is what the log has. The call cannot be decided again: %s.\nTo see what nearly matched and what would allow it, explain the call: permd explain FILE\n", display.Display(x.Why))
		return
	}
	x.renderSuggestions(out)
	if x.More {
		fmt.Fprintf(cli.Folded(out, 0), "\nThe call is so large, or the rules are so many, that not everything was examined.\n")
	}
}

// textColumn is the column at which what is said of an effect goes on.
const textColumn = 13

func (c *explainedCall) words() string {
	var parts []string
	if c.Tool != "" {
		parts = append(parts, display.Display(c.Tool))
	} else if c.Agent.Name != "" {
		parts = append(parts, "a call that names no tool,")
	}
	if c.Agent.Name != "" {
		parts = append(parts, "of "+display.Display(strings.TrimSpace(c.Agent.Name+" "+c.Agent.Version)))
	}
	if c.Cwd != "" {
		parts = append(parts, "in "+display.Display(c.Cwd))
	}
	if c.Answer != "" {
		parts = append(parts, "answered by the person: "+c.Answer+cli.Either(c.Author == nil, "", " ("+account.Author(c.Author, decisions.Verdict(c.Answer))+")"))
	}
	return strings.Join(parts, " ")
}

func (e *explainedEffect) render(w io.Writer) {
	fmt.Fprintf(w, "%s %s\n", cli.Marks[e.Verdict], e.Text)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "    %-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("from", "%s%s", e.From, cli.Either(e.Claimed, ", which only the agent claims", cli.Either(e.Declared, ", by what the client declared", "")))
	if e.Table != "" {
		line("table", "%s", e.Table)
	}
	if len(e.Tags) > 0 {
		line("tags", "%s", strings.Join(e.Tags, ", "))
	}
	why := why(&e.EffectDecision)
	if e.Row == decisions.RowFailure || len(e.Rules) == 0 && e.Row != decisions.RowDefault {
		why += ": " + e.Reason
	}
	line(string(e.Verdict), "%s (%s)", why, cli.Either(e.Row == decisions.RowFailure, "no row", "row "+strconv.Itoa(e.Row)))
	if e.ChoiceID != "" {
		line("choice", "%s", e.ChoiceID)
	}
	renderOutdated(e.Outdated, line)
	if e.Inherited {
		line("taken", "from its run, which always has this effect")
	}
	last := ""
	for i := range e.Fired {
		f := &e.Fired[i]
		what := f.Title
		if what == "" {
			what = f.Reason
		}
		// A rule with a title may have fired for several reasons.
		if text := fmt.Sprintf("%s %s: %s (%s)", f.Layer, f.Set, what, f.place()); text != last {
			line(cli.Either(f.Decided, "by", "also"), "%s", text)
			last = text
		}
	}
	for i := range e.Near {
		renderNear(w, &e.Near[i], line)
	}
}

// renderOutdated prints the choice that would have answered, and how its content changed.
func renderOutdated(o *decisions.Outdated, line func(name, format string, args ...any)) {
	if o == nil {
		return
	}
	line("again", "choice %s of %s is bound to %s, which %s", o.ChoiceID, o.Since.Local().Format("2006-01-02 15:04:05"), display.Display(o.What), o.How.Words())
	for _, of := range []struct{ name, text string }{{"was", o.Was}, {"now", o.Now}} {
		for text := range strings.Lines(of.text) {
			line(of.name, "%s", display.Display(strings.TrimSuffix(text, "\n")))
		}
	}
}

// place returns the file and line of a rule, and its id unless that is the same.
func (f *firedRule) place() string {
	if f.ID == "" || lexpath.Below(string(f.Layer), f.ID) {
		return f.At
	}
	return f.At + ", " + f.ID
}

func renderNear(w io.Writer, n *rules.Near, line func(name, format string, args ...any)) {
	what := n.Rule.Title
	if what == "" {
		what = n.Reason
	}
	if what == "" {
		what = n.Rule.ID
	}
	line("almost", "%s %s: %s (%s)", n.Rule.Layer, n.Set, what, n.Rule.At)
	for _, c := range n.Failed {
		is := c.Is
		if c.Untried && is == "" {
			is = "not tried: it depends on a condition that failed"
		}
		if is != "" {
			is = " (" + is + ")"
		}
		fmt.Fprintf(w, "    %-8s   but %s%s\n", "", cli.Either(c.At == "", c.Text, "not: "+c.Text), is)
	}
}

// renderSuggestions prints what would allow the call.
func (x *Explanation) renderSuggestions(w io.Writer) {
	if x.Decision.Verdict == decisions.Allow {
		return
	}
	prose := cli.Folded(w, 4) // the lines to copy are not folded
	for i := range x.Suggestions {
		s := &x.Suggestions[i]
		head := fmt.Sprintf("\n%s %s.", cli.Either(i == 0, "To allow", "Or"), s.Label)
		if s.Bound {
			fmt.Fprintf(prose, "%s Remembered, while the files that say what it runs stay as they are:\n", head)
			for _, cmd := range s.Cmds {
				fmt.Fprintf(w, "    %s\n", cli.QuoteAll(cmd))
			}
			if s.Rules {
				fmt.Fprintf(prose, "  or in rules.yaml, in every project, and whatever these files say:\n")
				fmt.Fprint(w, s.YAML())
			}
			continue
		}
		if s.Rules {
			fmt.Fprintf(prose, "%s In rules.yaml:\n", head)
			fmt.Fprint(w, s.YAML())
			head = "  or remembered:"
		} else {
			head += " Remembered:"
		}
		for n, cmd := range s.Cmds {
			if n == 0 {
				fmt.Fprintln(prose, head)
			}
			fmt.Fprintf(w, "    %s\n", cli.QuoteAll(cmd))
		}
	}
	if why := x.Decision.NotRemembered; why != "" {
		fmt.Fprintf(prose, "\nNo answer to the question can be remembered: %s\n", display.Display(why))
	}
	if len(x.Decision.Widths) > 0 {
		fmt.Fprintf(prose, "\nWhen the client asks, an answer of \"always\" can be remembered as:\n")
		for _, width := range x.Decision.Widths {
			fmt.Fprintf(cli.Folded(w, 8), "    %s  %s, for the %s\n", width.ID, strings.ReplaceAll(width.Rule, "\n", " + "), cli.Either(width.Scope == "", "scope that is named", width.Scope))
		}
	}
	if len(x.Obstacles) > 0 {
		fmt.Fprintf(prose, "\n%s\n", cli.Either(len(x.Suggestions) > 0, "Rules alone would not allow it:", "No line in rules.yaml would allow it:"))
	}
	for _, o := range x.Obstacles {
		fmt.Fprintf(cli.Folded(w, 6), "  %s %s\n      %s\n", cli.Marks[x.Effects[o.Effect].Verdict], x.Effects[o.Effect].Text, o.Text)
	}
}

// YAML formats the suggestion as entries of rules.yaml.
func (s *suggestion) YAML() string {
	return allowYAML("    ", s.Lines)
}

// AllowYAML formats lines as a list of allows, as rules.yaml has it.
func AllowYAML(lines []*pattern.Pattern) string {
	var list []suggestedLine
	for _, p := range lines {
		if l := (suggestedLine{p.Kind, p.String()}); !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return allowYAML("", list)
}

func allowYAML(indent string, lines []suggestedLine) string {
	var b strings.Builder
	b.WriteString(indent + "allow:\n")
	var kinds []effects.Kind
	for _, l := range lines {
		if !slices.Contains(kinds, l.Kind) {
			kinds = append(kinds, l.Kind)
		}
	}
	for _, kind := range kinds {
		var of []string
		for _, l := range lines {
			if l.Kind == kind {
				of = append(of, strconv.Quote(l.Line))
			}
		}
		fmt.Fprintf(&b, "%s  %s: [%s]\n", indent, kind, strings.Join(of, ", "))
	}
	return b.String()
}
