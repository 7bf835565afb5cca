package collect

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// ruleFiles have the endings of files of rules and settings.
var ruleFiles = []string{"rules.yaml", "rules.yml", "rules.rego", "permd.toml", "rules.json"}

// SpareRules clears File.HoldsRules of the write of a folder with all below, where what is written are
// certainly other files than a project's rules: only files whose names end with one of ends (see
// [paths.HasEnd]) are, in folders that are no links, and none of them is a link to a file with another
// ending. follows is set if links to files are written through.
func (c *Collector) SpareRules(e *effects.Effect, ends []string, follows bool) {
	if e.Kind != effects.KindWrite || e.File == nil || !e.File.HoldsRules || len(ends) == 0 {
		return
	}
	written := func(file string) bool { return paths.HasEnd(file, ends) }
	dir := e.File.Path
	if mode, err := c.Paths.Lstat(dir); err != nil || !mode.IsDir() || slices.ContainsFunc(ruleFiles, written) || c.MayLink(dir, func(string) bool { return true }) {
		return // the folder itself may have become a link to a file, which is written by any name
	}
	if follows {
		links, complete := c.Links(dir, written)
		other := func(link string) bool { return written(link) && !written(c.Resolved(link)) }
		if !complete || slices.ContainsFunc(links, other) {
			return
		}
	}
	e.File.HoldsRules = false
}
