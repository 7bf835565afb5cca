package shadow

import (
	"fmt"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Method of the management socket returns the [Report], null if there are no shadow rules.
const Method = "permd/shadow"

// Line is the report in one line, for the status.
func (r *Report) Line() string {
	if r.Rules == 0 && r.Problem != "" {
		return fmt.Sprintf("no shadow rules can be used: %s", cli.Clip(r.Problem, maxText))
	}
	text := fmt.Sprintf("%s of %s in place of the %s rules: %s compared, %d would differ", cli.Plural(r.Rules, "rule"), r.place(), r.Layer, cli.Plural(r.Compared, "call"), r.Different)
	if n := r.missed(); n > 0 {
		text += fmt.Sprintf(", %d not compared", n)
	}
	if r.Problem != "" {
		text += "; the files cannot be used: " + cli.Clip(r.Problem, maxText)
	}
	return text + "; permd policy shadow"
}

// place says where the rules are. Those of org's folder count besides a bundle.
func (r *Report) place() string {
	if r.Bundle != "" {
		return "bundle " + r.Bundle
	}
	return r.Folder
}

func (r *Report) missed() (n int) {
	for _, m := range r.NotCompared {
		n += m.Count
	}
	return n
}

// Print prints the report; r is nil if there are no shadow rules.
func (r *Report) Print(s *cli.Streams) error {
	w := cli.Folded(s.Out, 4)
	switch {
	case s.JSON && r == nil:
		return cli.PrintJSON(s.Out, struct{}{})
	case s.JSON:
		return cli.PrintJSON(s.Out, r)
	case r == nil:
		fmt.Fprintln(w, `no shadow rules: name a folder in permd.toml, such as shadow = "shadow.d"`)
		return nil
	}
	for _, g := range r.Groups {
		fmt.Fprintf(w, "%s -> %s  %s, by %s\n", g.From, g.To, cli.Plural(g.Count, "call"), g.Rule)
		fmt.Fprintf(w, "    now by %s\n", g.Was)
		for _, e := range g.Examples {
			fmt.Fprintf(w, "    such as %s  %s  %s\n", cli.Short(e.DecisionID), moment(e.Time), e.Call)
		}
	}
	if r.Ungrouped > 0 {
		fmt.Fprintf(w, "%s more differ, of further kinds\n", cli.Plural(r.Ungrouped, "call"))
	}
	if r.Digest != "" {
		fmt.Fprintf(w, "%s of %s, in place of the %s rules, since %s\n", cli.Plural(r.Rules, "rule"), r.place(), r.Layer, moment(r.Since))
	}
	fmt.Fprintf(w, "%s compared: %d same, %d different\n", cli.Plural(r.Compared, "call"), r.Compared-r.Different, r.Different)
	for _, m := range r.NotCompared {
		fmt.Fprintf(w, "%s not compared: %s\n", cli.Plural(m.Count, "call"), m.Why)
	}
	if r.Problem != "" {
		fmt.Fprintf(w, "the files in %s cannot be used: %s\n", r.place(), r.Problem)
	}
	if r.Unused != "" {
		fmt.Fprintf(w, "not used: %s\n", r.Unused)
	}
	if r.NotKept != "" {
		fmt.Fprintf(w, "not written to the disk: %s\n", r.NotKept)
	}
	return nil
}

func moment(t time.Time) string { return t.Local().Format(time.DateTime) }
