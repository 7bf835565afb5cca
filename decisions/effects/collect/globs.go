package collect

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// maxFolders bounds the folders that the parts of one pattern before its last may stand for.
const maxFolders = 256

// Folders returns the folders below dir that the parts of a pattern lead to, one part for
// each level, or why they are not known. Through links it finds none: where one may be
// meant, the folders are not known.
func (c *Collector) Folders(dir string, parts []string) (list []string, why string) {
	within := func(d string) bool { return d == "" || lexpath.In(d, dir) || lexpath.In(dir, d) }
	if slices.ContainsFunc(c.Paths.Disturbed, within) || slices.ContainsFunc(c.Rearranged, within) {
		return nil, "an earlier part of the call changes what the pattern stands for"
	}
	list = []string{dir}
	for _, part := range parts {
		// What begins with a dot may be the folder itself or the one above.
		if part == "" || part[0] == '.' || strings.Contains(part, "**") || len(part) > paths.MaxPattern {
			return nil, "a pattern whose files are not known"
		}
		var next []string
		for _, at := range list {
			names, why := c.Paths.Names(at)
			if c.Paths.Matched += len(names); why == "" && c.Paths.Matched > paths.MaxMatched {
				why = "a pattern with more names than permd looks at"
			}
			if why != "" {
				return nil, why
			}
			for _, n := range names {
				switch {
				case !paths.GlobMatch(part, n.Name()):
				case n.Type()&fs.ModeSymlink != 0:
					return nil, "a pattern with links to folders"
				case n.IsDir():
					next = append(next, paths.Joined(at, n.Name()))
				}
			}
			if len(next) > maxFolders {
				return nil, "a pattern with more folders than permd looks at"
			}
		}
		slices.Sort(next)
		list = next
	}
	return list, ""
}
