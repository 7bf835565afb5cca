package effects

import (
	"io/fs"
	"path"
	"slices"

	"github.com/permd/permd/internal/lexpath"
)

// glob goes through the names that a pattern matches in the folder of e, which
// is the read of that folder. It adds the tags of what the names say, and
// returns further reads: of links that lead out of the folder or to something
// guarded, and with tree, of the folders among the names; or why it is not
// known what the pattern stands for. Where only names are listed, only links to
// folders are followed, and no file is read.
func (b *builder) glob(e *Effect, pattern string, list, tree bool, from string) (more []Effect, why string) {
	dir, r := e.File.Path, b.res
	names, why := r.names(dir)
	if r.matched += len(names); why == "" && (r.matched > maxMatched || len(pattern) > maxPattern) {
		why = "a pattern with more names than permd looks at"
	}
	changed := func(d string) bool { return path.Dir(d) == dir && globMatch(pattern, path.Base(d)) }
	if why == "" && (slices.ContainsFunc(r.disturbed, changed) ||
		slices.ContainsFunc(b.rearranged, func(d string) bool { return d == "" || lexpath.In(d, dir) })) {
		why = "an earlier part of the call changes what the pattern stands for"
	}
	if why != "" {
		return nil, why
	}
	for _, n := range names {
		if !globMatch(pattern, n.Name()) {
			continue
		}
		p := joined(dir, n.Name())
		link := n.Type()&fs.ModeSymlink != 0
		if !link && !list {
			e.Tags |= r.guard(p)
		}
		if !link && (list || !tree || !n.IsDir()) {
			continue
		}
		to := b.operand(KindRead, p, "", from)
		if list && to.File != nil {
			if mode, err := r.lstat(to.File.Path); err == nil && !mode.IsDir() {
				continue
			}
		}
		if to.File != nil {
			to.File.Recursive = tree && (link || n.IsDir())
		}
		if to.File == nil || to.File.Recursive || !lexpath.In(dir, to.File.Path) || to.Guarded() != 0 {
			more = append(more, to)
		}
		if len(more) > maxGlobbed {
			return nil, "a pattern with more links and folders than permd looks at"
		}
	}
	return more, ""
}

const maxGlobbed = 64 // links and folders that one pattern stands for
