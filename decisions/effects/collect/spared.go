package collect

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// ruleFiles have the endings of files of rules and settings.
var ruleFiles = []string{"rules.yaml", "rules.yml", "rules.rego", "permd.toml", "rules.json"}

// SpareRules clears File.HoldsRules of the writes of folders with all below by a run, where what it
// writes are certainly other files than a project's rules: only files whose names end with one of ends
// (see [paths.HasEnd]) are, in folders that are no links, no list of rules is a link, and none of those
// files is a link to one with another ending. follows is set if links to files are written through.
func (c *Collector) SpareRules(run int, ends []string, follows bool) {
	for i := range c.Effects[run:] {
		e := &c.Effects[run+i]
		if e.Kind == effects.KindWrite && e.Via != nil && e.Via.Effect == run && e.File != nil && e.File.HoldsRules && len(ends) > 0 && c.sparesRules(e.File.Path, ends, follows) {
			e.File.HoldsRules = false
		}
	}
}

func (c *Collector) sparesRules(dir string, ends []string, follows bool) bool {
	written := func(file string) bool { return paths.HasEnd(file, ends) }
	anything := func(string) bool { return true }
	if mode, err := c.Paths.Lstat(dir); err != nil || !mode.IsDir() || slices.ContainsFunc(ruleFiles, written) || c.MayLink(dir, anything) {
		return false // the folder itself may have become a link to a file, which is written by any name
	}
	links, complete := c.Links(dir, anything)
	return complete && !slices.ContainsFunc(links, func(link string) bool {
		// What a list or its folder leads to is that list, by whatever name.
		base := path.Base(link)
		return base == ".permd" || slices.Contains(ruleFiles, base) || follows && written(link) && !written(c.Resolved(link))
	})
}
