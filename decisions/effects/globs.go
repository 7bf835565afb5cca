package effects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A pattern stands for the names in a folder, and one of them may be a link to
// somewhere else: "cat docs/*" reads what docs/x leads to. So the folder is
// looked into, a bounded number of names; over it the pattern is not understood.
// What names the folder has when the command runs is as uncertain as all that
// the file system says, and for what the call itself puts there is looked apart.
const (
	maxNames   = 1024 // of one folder
	maxMatched = 4096 // of all folders in one call, each pattern counted
	maxPattern = 64   // bytes
	maxGlobbed = 64   // links and folders that one pattern stands for
)

// listing is a folder with its names.
type listing struct {
	dir   string
	names []fs.DirEntry
	why   string
}

// names are the names in a folder, or why they are not known. A folder that
// does not exist has none.
func (r *resolver) names(dir string) ([]fs.DirEntry, string) {
	for i := range r.listed {
		if r.listed[i].dir == dir {
			return r.listed[i].names, r.listed[i].why
		}
	}
	l := listing{dir: dir}
	names, err := r.fs.Names(dir, maxNames)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.why = "a folder whose names cannot be read, or are too many"
	default:
		l.names = names
	}
	if len(r.listed) < maxDisturbed {
		r.listed = append(r.listed, l)
	}
	return l.names, l.why
}

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
		slices.ContainsFunc(b.rearranged, func(d string) bool { return d == "" || inside(d, dir) })) {
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
		if to.File == nil || to.File.Recursive || !inside(dir, to.File.Path) || to.Guarded() != 0 {
			more = append(more, to)
		}
		if len(more) > maxGlobbed {
			return nil, "a pattern with more links and folders than permd looks at"
		}
	}
	return more, ""
}

// globMatch reports whether a pattern of a shell may match a name. A bracket,
// which shells read in different ways, may match anything.
func globMatch(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") && !strings.HasPrefix(pattern, "[") {
		return false
	}
	if i := strings.IndexByte(pattern, '['); i >= 0 {
		pattern = pattern[:i] + "*"
	}
	p, n, star, back := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
			for pattern[p-1] == '?' && n < len(name) && name[n]&0xc0 == 0x80 {
				n++ // a character, not a byte
			}
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
