package goals

import (
	"strings"

	"github.com/permd/permd/internal/lazy"
)

var recipeName = lazy.Regexp(`^@?([A-Za-z_][A-Za-z0-9_-]*)(?:\s[^:]*)?:(?:[^=]|$)`)

// justfileGoals returns the recipes of which just, given none, runs one: the first of the
// justfile, or one that is marked as the default.
func justfileGoals(justfile string) (found []string) {
	marked := false
	for line := range strings.SplitSeq(justfile, "\n") {
		if m := recipeName().FindStringSubmatch(line); m != nil && (len(found) == 0 || marked) {
			found, marked = append(found, m[1]), false
		} else if strings.HasPrefix(line, "[") {
			marked = strings.Contains(line, "default")
		}
	}
	return found[:min(len(found), maxGoals)]
}
