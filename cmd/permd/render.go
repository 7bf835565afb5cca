package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
)

// renderDecision prints a decision in readable form: the verdict and its reason,
// then each effect with its source and the rules that matched.
func renderDecision(w io.Writer, d *decisions.Decision) {
	terminal := w
	paint := func(v decisions.Verdict, text string) string { return cli.Paint(terminal, string(v), text) }
	w = cli.Folded(w, 6)
	fmt.Fprintf(w, "%s: %s\n", paint(d.Verdict, string(d.Verdict)), display.Display(d.Reason))
	if d.Message != "" {
		fmt.Fprintf(w, "  tell the agent: %s\n", display.Display(d.Message))
	}
	for _, defect := range d.Defects {
		fmt.Fprintf(w, "  ! %s: %s (%s)\n", defect.Code, defect.Text, defect.At)
	}
	width := 0
	for _, e := range d.Effects {
		width = max(width, min(cli.Cells(e.Text), 56))
	}
	for _, e := range d.Effects {
		from := e.From
		if e.Claimed {
			from += ", claimed"
		}
		if e.Declared {
			from += ", declared"
		}
		padding := strings.Repeat(" ", max(0, width-cli.Cells(e.Text)))
		fmt.Fprintf(w, "  %s %s%s  from %s\n", paint(e.Verdict, cli.Marks[e.Verdict]), e.Text, padding, from)
		// The reason of the whole call has been printed above.
		if len(e.Rules) == 0 && e.Reason != d.Reason {
			fmt.Fprintf(w, "      %s: %s\n", e.Verdict, display.Display(e.Reason))
		}
		for _, r := range e.Rules {
			title := r.Title
			if title == "" {
				title = e.Reason
			}
			fmt.Fprintf(w, "      %s: %s (%s)\n", e.Verdict, display.Display(title), r.At)
		}
		if o := e.Outdated; o != nil {
			fmt.Fprintf(w, "      choice %s does not cover it: %s\n", o.ChoiceID, display.Display(o.What)+" "+o.How.Words())
			for _, text := range [][2]string{{"was", o.Was}, {"now", o.Now}} {
				for line := range strings.Lines(text[1]) {
					fmt.Fprintf(w, "        %s: %s\n", text[0], display.Display(strings.TrimSuffix(line, "\n")))
				}
			}
		}
	}
	if d.NotRemembered != "" {
		fmt.Fprintf(w, "  not remembered: %s\n", display.Display(d.NotRemembered))
	}
	fmt.Fprintf(w, "  decision %s, decided by %s, policy %s\n", d.ID, d.By, cli.Short(d.Policy.Digest))
}
