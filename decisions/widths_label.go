package decisions

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/targets"
)

// Bounds of labels.
const (
	// maxLabel bounds what a label says one by one, in characters. None is ever cut: what is
	// not seen would be covered, too.
	maxLabel = 120
	// maxWideLabel bounds the label of what is wider than the call; a longer one is not
	// offered.
	maxWideLabel = 240
)

// exactLabel returns the label of the narrowest width, with what it leaves open: a
// choice identifies a file by its path and a host by its name, whatever is written or
// sent there. Of the files that a run is given it knows only the words, and an unknown
// program may execute their content, unless one is known to be its script.
func exactLabel(items []OfferItem, contents []Content) string {
	const label = "exactly this"
	var open []string
	files, hosts := 0, 0
	for _, item := range items {
		q := item.Query
		text := ""
		switch e := q.Effect; e.Kind {
		case effects.KindRun:
			for _, c := range contents {
				if text := "any content of " + targets.ShownPath(c.Path, q.Project); c.namedOnly() && !slices.Contains(open, text) {
					open = append(open, text)
					files++
				}
			}
		case effects.KindWrite:
			if e.File == nil {
				break
			}
			text = "any content of " + targets.ShownPath(e.File.Path, q.Project)
		case effects.KindConnect:
			if e.Connect == nil {
				break
			}
			text = "anything sent to "
			if e.Connect.Method == effects.MethodGet {
				text = "any GET to "
			}
			text += display.Display(e.Connect.Host)
		case effects.KindRead, effects.KindDelete, effects.KindUse, effects.KindState, effects.KindMode,
			effects.KindQuestion, effects.KindUnknown:
		}
		if text != "" && !slices.Contains(open, text) {
			open = append(open, text)
			if q.Effect.Kind == effects.KindConnect {
				hosts++
			} else {
				files++
			}
		}
	}
	if open == nil {
		return label
	}
	if text := label + " (" + strings.Join(open, ", ") + ")"; utf8.RuneCountInString(text) <= maxLabel {
		return text
	}
	// The command itself names them.
	open = open[:0]
	if files > 0 {
		open = append(open, "any content of "+counted(files, "file"))
	}
	if hosts > 0 {
		open = append(open, "anything sent to "+counted(hosts, "host"))
	}
	return label + " (" + strings.Join(open, ", ") + " that it names)"
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "the " + what
	}
	return "the " + strconv.Itoa(n) + " " + what + "s"
}
