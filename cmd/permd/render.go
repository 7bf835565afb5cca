package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
)

// marks stand before what was decided of an effect.
var marks = map[decisions.Verdict]string{decisions.Allow: "✓", decisions.Ask: "?", decisions.Deny: "✗"}

// renderDecision prints a decision for a person: the verdict and its reason,
// then each effect with where it was read and which rules spoke.
func renderDecision(w io.Writer, d *decisions.Decision) {
	fmt.Fprintf(w, "%s: %s\n", d.Verdict, display.Display(d.Reason))
	if d.Message != "" {
		fmt.Fprintf(w, "  tell the agent: %s\n", display.Display(d.Message))
	}
	for _, defect := range d.Defects {
		fmt.Fprintf(w, "  ! %s: %s (%s)\n", defect.Code, defect.Text, defect.At)
	}
	width := 0
	for _, e := range d.Effects {
		width = max(width, min(len([]rune(e.Text)), 56))
	}
	for _, e := range d.Effects {
		from := e.From
		if e.Claimed {
			from += ", claimed"
		}
		fmt.Fprintf(w, "  %s %-*s  from %s\n", marks[e.Verdict], width, e.Text, from)
		// What holds for the whole call has been said above.
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
	}
	fmt.Fprintf(w, "  decision %s, decided by %s, policy %s\n", d.ID, d.By, short(d.Policy.Digest))
}

// short is a digest as people compare it.
func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	if digest == "" {
		return "none"
	}
	return digest
}

// printJSON prints one value on one line.
func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// printIndented prints one value over several lines.
func printIndented(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// plural is "1 rule", "2 rules".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
