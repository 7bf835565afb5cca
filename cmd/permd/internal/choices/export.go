package choices

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/socket/admin"
)

// Export prints choices in the form of rules.yaml.
func Export(w io.Writer, list []admin.Choice) {
	fmt.Fprintln(w, "# What permd remembered. A rule holds for everybody whom its file is for: read")
	fmt.Fprintln(w, "# each line before you use it.")
	left, ending := map[string]bool{}, 0 // by id
	list = slices.DeleteFunc(slices.Clone(list), func(c admin.Choice) bool {
		if c.Expires.IsZero() {
			return false
		}
		ending++
		return true
	})
	for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		head := string(v) + ":"
		for _, kind := range pattern.Kinds {
			under := "  " + string(kind) + ":"
			for _, part := range exportedParts(list, v, kind) {
				c := part.of
				line, placed := outsideProject(c, part.ChoicePart)
				if !placed || !expressible(c, part.ChoicePart) || c.Unconfirmed || c.Changed != "" || strings.HasPrefix(c.Scope, "session") {
					left[c.ID] = true
					continue
				}
				for _, title := range []string{head, under} {
					if title != "" {
						fmt.Fprintln(w, title)
					}
				}
				head, under = "", ""
				holds := Scope(c)
				if kind == effects.KindUse && !strings.Contains(part.Rule, "@") && !strings.HasPrefix(part.Rule, "kind/") {
					holds += "; a line without @ holds for every version"
				}
				fmt.Fprintf(w, "    - '%s'  # %s\n", strings.ReplaceAll(line, "'", "''"), holds)
			}
		}
	}
	for i := range list {
		// Text that permd could not parse has none of the kinds of a list.
		if slices.ContainsFunc(Parts(&list[i]), func(p admin.ChoicePart) bool { return !slices.Contains(pattern.Kinds, effects.Kind(p.Kind)) }) {
			left[list[i].ID] = true
		}
	}
	if ending > 0 {
		fmt.Fprintf(w, "# Left out: %s with a time limit, which no rule has.\n", cli.Plural(ending, "choice"))
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "# Left out: all or a part of %s that no line can say.\n", cli.Plural(len(left), "choice"))
	}
}

// exportPart is a part of a choice.
type exportPart struct {
	admin.ChoicePart
	of *admin.Choice
}

// exportedParts returns the parts of a kind and a verdict.
func exportedParts(list []admin.Choice, v decisions.Verdict, kind effects.Kind) (parts []exportPart) {
	for i := range list {
		for _, p := range Parts(&list[i]) {
			if list[i].Verdict == v && p.Kind == string(kind) {
				parts = append(parts, exportPart{p, &list[i]})
			}
		}
	}
	return parts
}

// outsideProject returns a line that means the same outside of the choice's project:
// paths in the project become absolute, because ./ in a rule means each project's own
// folder. ok is false if the folder's name would have to be quoted.
func outsideProject(c *admin.Choice, part admin.ChoicePart) (string, bool) {
	rest, ok := strings.CutPrefix(part.Rule, "./")
	if !ok || c.Scope != "project" {
		return part.Rule, true
	}
	kind := effects.Kind(part.Kind)
	if kind == effects.KindRun && strings.Trim(c.Of, unquotedChars) != "" {
		return "", false
	}
	p, err := pattern.Parse(kind, path.Join("/", pathEscaper.Replace(c.Of))+"/"+rest)
	if err != nil {
		return "", false
	}
	return p.String(), true
}

// unquotedChars are the characters that need no quotes in a line.
const unquotedChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

// pathEscaper escapes the characters of a folder's name that are special in a line.
var pathEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
