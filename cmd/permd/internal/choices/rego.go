package choices

import (
	"fmt"
	"io"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/socket/admin"
)

// ExportRego prints choices as rules in Rego of the user layer, which decide as they do. A choice
// that no rule can express is a comment that says why.
func ExportRego(w io.Writer, all []admin.Choice, table *programs.Table) error {
	var entries []list.Entry
	var leftOut, scripts []string
	for i := range all {
		c := &all[i]
		some, why := entriesOf(c)
		if why != "" {
			rule := strings.ReplaceAll(c.Rule, "\n", " and ")
			leftOut = append(leftOut, display.Display(fmt.Sprintf("%s %s %s (%s): %s", c.Verdict, c.Kind, rule, Scope(c), why)))
			continue
		}
		for _, e := range some {
			if e.Set == decisions.SetDeny && e.Pattern.Run != nil && e.Pattern.Run.ByPath() {
				scripts = append(scripts, display.Display(fmt.Sprintf("deny run %s (%s)", e.Pattern, Scope(c))))
			}
		}
		entries = append(entries, some...)
	}
	for i := range entries {
		entries[i].Line, entries[i].Column = i+1, 1
	}
	text, err := list.ExportEntries("user", "remembered", entries, table)
	if err != nil {
		return fmt.Errorf("writing rules: %w", err)
	}
	fmt.Fprintln(w, "# What permd remembered, as rules. Those of a project hold in its own folder, and not in")
	fmt.Fprintln(w, "# other worktrees; its denies of runs hold for calls of the project alone.")
	for _, words := range leftOut {
		fmt.Fprintf(w, "# Left out: %s\n", words)
	}
	for _, words := range scripts {
		fmt.Fprintf(w, "# Narrower, not denied if an interpreter is given the file: %s\n", words)
	}
	fmt.Fprint(w, "\n"+text)
	return nil
}

// entriesOf returns a choice as entries of a list, or why no rule can decide as it does.
func entriesOf(c *admin.Choice) (entries []list.Entry, why string) {
	switch {
	case strings.HasPrefix(c.Scope, "session"):
		return nil, "it is for a session"
	case c.Unconfirmed:
		return nil, "nobody has confirmed it"
	case c.Changed != "":
		return nil, "an earlier permd stored it"
	case !c.Expires.IsZero():
		return nil, "it ends, and a rule does not"
	case !sayAll(c):
		return nil, whyNot(c)
	}
	for _, part := range Parts(c) {
		line, placed := outsideProject(c, part)
		if !placed {
			return nil, "the name of its folder cannot be written in a line"
		}
		p, err := pattern.Parse(effects.Kind(part.Kind), line)
		if err != nil {
			return nil, "it is no line of a list"
		}
		e := list.Entry{Set: decisions.Set(c.Verdict), Kind: p.Kind, Pattern: p, Reason: "remembered as " + c.ID, Alone: true}
		// A reject of a file denies it wherever the call is made.
		if c.Scope == "project" && (c.Verdict == decisions.Allow || p.Path == nil) {
			e.Project = c.Of
		}
		entries = append(entries, e)
	}
	return entries, ""
}
