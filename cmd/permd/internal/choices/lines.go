// Package choices says remembered choices as lines of the list language, exports them in the form
// of rules.yaml, and reads such files and those of permd remember export --json.
package choices

import (
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/socket/admin"
)

// Parts returns the parts of a reject, or the rule of an allow as its only part.
func Parts(c *admin.Choice) []admin.ChoicePart {
	if len(c.Parts) > 0 {
		return c.Parts
	}
	return []admin.ChoicePart{{Kind: c.Kind, Rule: c.Rule, Line: c.Line}}
}

// Kinds are the words of the kinds of effects that a choice can be about.
func Kinds() []string {
	words := make([]string, len(pattern.Kinds))
	for i, k := range pattern.Kinds {
		words[i] = string(k)
	}
	return words
}

// Scope describes where a choice applies.
func Scope(c *admin.Choice) string {
	if c.Of == "" {
		return c.Scope
	}
	return c.Scope + " " + cli.Clip(display.Display(c.Of), 60)
}

// isExact reports whether the rule of a part contains everything that the part is
// compared by. An allow has more details than its line, except for a file.
func isExact(c *admin.Choice, part admin.ChoicePart) bool {
	file := []effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete}
	return c.Verdict == decisions.Deny || part.Line || slices.Contains(file, effects.Kind(part.Kind))
}

// sayAll reports whether lines can say all that a choice is matched by.
func sayAll(c *admin.Choice) bool {
	return !slices.ContainsFunc(Parts(c), func(p admin.ChoicePart) bool { return !isExact(c, p) || !expressible(c, p) })
}

// expressible reports whether a line of the list language can express the part of
// a choice, in the form in which a person would write it.
func expressible(c *admin.Choice, part admin.ChoicePart) bool {
	bound := slices.ContainsFunc(c.Pins, func(p string) bool {
		return !strings.HasPrefix(p, "in the project") && p != admin.MoreOptions
	})
	if bound || strings.Contains(part.Rule, display.Masked) || len(c.Parts) > 0 && !part.Line {
		return false
	}
	p, err := pattern.Parse(effects.Kind(part.Kind), part.Rule)
	if err != nil {
		return false
	}
	if !part.Line && c.Scope == "user" && strings.HasPrefix(part.Rule, "./") {
		return false // an earlier permd did not record the project
	}
	switch p.Detail() {
	case effects.DetailRun:
		return c.Verdict == decisions.Deny || !strings.Contains(p.Run.Program, "/")
	case effects.DetailUse:
		// A name or a version with these characters; a line would match other tools.
		return part.Line || !strings.ContainsAny(part.Rule, `*@"`) && strings.Count(part.Rule, ":") <= 1
	case effects.DetailFile, effects.DetailConnect:
		return true
	case effects.NoDetail:
	}
	return false
}
