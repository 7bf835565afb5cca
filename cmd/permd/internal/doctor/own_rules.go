package doctor

import (
	"context"
	"slices"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/importing"
	"github.com/permd/permd/policy/imports"
)

// harnessRules shows where tools have rules of their own, such as what Claude Code writes
// into settings.local.json when a person does not want to be asked again. permd does not
// follow them: each is imported by hand, or not at all.
func (x *examination) harnessRules(ctx context.Context) {
	for _, tool := range imports.Tools {
		report, err := importing.Read(ctx, tool, nil, importing.Options{})
		if err != nil {
			continue // there are none, or permd import says what is wrong with them
		}
		for _, from := range report.Read {
			n := 0
			for i := range report.Notes {
				if note := &report.Notes[i]; note.At.File == from.File && isOwnRule(note) {
					n++
				}
			}
			if n > 0 {
				x.OK("harness", "%s: %s of its own in %s, which permd does not follow; permd import %s shows what they would be here", tool, cli.Plural(n, "rule"), from.File, tool)
			}
		}
	}
}

// ownRules are the outcomes of what is a rule of the tool, whatever became of it.
var ownRules = []imports.Outcome{imports.Kept, imports.Narrower, imports.Wider, imports.Asks, imports.LeftOut}

// isOwnRule reports whether a note is about a rule. Hooks are none, permd's own among them.
func isOwnRule(n *imports.Note) bool {
	return slices.Contains(ownRules, n.Outcome) && (n.Outcome != imports.LeftOut || n.Reason != imports.Elsewhere)
}
