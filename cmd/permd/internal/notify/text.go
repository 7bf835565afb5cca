package notify

import (
	"fmt"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/policy/settings"
)

// Bounds of a notification's text, in lines and characters.
const (
	maxLines = 6 // of what would be done
	maxLine  = 160
	maxName  = 40
)

// render returns the summary and the body of a notification about questions, of which there is
// one at least. Nothing of clients is in the summary, and what permd says comes first in the body:
// no text of theirs can be taken for it, or push it out.
func render(list []Question, form string, markup bool) (summary, body string) {
	brief := form != settings.NotifyFull
	var lines []string
	q := &list[0]
	if len(list) == 1 {
		summary = "A call waits for your answer"
		lines = append(lines, "Answer with: permd allow "+line(q.ID, maxLine)+", or permd review", by(q))
		if !brief {
			lines = append(lines, details(q)...)
		}
	} else {
		summary = fmt.Sprintf("%d calls wait for your answer", len(list))
		lines = append(lines, "Answer with: permd review")
		for i := range list[:min(len(list), maxLines)] {
			q := &list[i]
			of := by(q)
			if !brief && len(q.Effects) > 0 {
				of += ": " + q.Effects[0]
			}
			lines = append(lines, line(of, maxLine))
		}
		lines = more(lines, len(list)-maxLines, "call")
	}
	body = strings.Join(lines, "\n")
	if markup {
		body = escaper.Replace(body)
	}
	return summary, body
}

// escaper escapes what the markup of bodies consists of, by the Desktop Notifications
// Specification.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// by says who waits.
func by(q *Question) string {
	return line(q.Agent, maxName) + " wants to use " + line(q.Tool, maxName)
}

// details are the lines of a question that permd allow shows.
func details(q *Question) (lines []string) {
	for _, text := range q.Effects[:min(len(q.Effects), maxLines)] {
		lines = append(lines, line(text, maxLine))
	}
	lines = more(lines, len(q.Effects)-maxLines, "effect")
	if q.Arguments != "" {
		lines = append(lines, line("arguments: "+q.Arguments, maxLine))
	}
	return append(lines, line(q.Reason, maxLine))
}

// more says how many are not shown.
func more(lines []string, n int, noun string) []string {
	if n > 0 {
		lines = append(lines, "and "+cli.Plural(n, "more "+noun))
	}
	return lines
}

// line returns a text as one line of at most so many characters, escaped if it is not yet.
func line(text string, most int) string {
	if !display.Printable(text) {
		text = display.Display(text)
	}
	return cli.Clip(text, most)
}
