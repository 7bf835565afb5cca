package review

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/permd/permd/decisions/effects/display"
)

// safe returns one line of text as it may be put on a screen. What the daemon sends as text for people
// is escaped already, and nothing is escaped twice.
func safe(s string) string {
	if display.Printable(s) {
		return s
	}
	return display.Display(s)
}

// fit shortens a line to at most so many columns. A letter that takes two is never cut.
func fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	s = ansi.Truncate(safe(s), width, "…")
	if ansi.StringWidth(s) > width {
		return strings.Repeat(" ", width)
	}
	return s
}

// fold returns text as lines of at most so many columns, cut at spaces where that is possible. What
// goes on begins below the text of its line.
func fold(text string, width int) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = safe(strings.TrimSuffix(line, "\n"))
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent+2 > width/2 {
			indent = 0
		}
		first := true
		for part := range strings.SplitSeq(ansi.Wrap(strings.TrimLeft(line, " "), max(width-indent-2, 1), ""), "\n") {
			hang := ""
			if !first {
				hang = strings.Repeat(" ", min(2, max(width-indent-1, 0)))
			}
			out = append(out, fit(strings.Repeat(" ", indent)+hang+part, width))
			first = false
		}
	}
	return out
}
