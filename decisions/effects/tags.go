package effects

import (
	"path"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// where returns the tags that say where a resolved path lies.
func (r *resolver) where(p string) Tags {
	g := r.session()
	f := lexpath.Fold(p)
	var t Tags
	in := false
	for _, root := range g.roots {
		in = in || lexpath.In(root, p)
	}
	if in {
		t = t.With(InProject)
	} else {
		t = t.With(Outside)
		// A project below /opt or /var/www is the person's work.
		if g.system(f) && !below(tempFolders, f) {
			t = t.With(System)
		} else if r.ofRepository(p) {
			t = t.With(Worktree)
		}
	}
	if below(tempFolders, f) || below(g.temps, p) {
		t = t.With(Temp)
	}
	if below(g.folded, f) {
		t = t.With(Home)
	}
	if lexpath.In("/dev", f) && f != "/dev" && !lexpath.In("/dev/shm", f) {
		t = t.With(Device)
	}
	if g.vital(p, f) {
		t = t.With(Vital)
	}
	return t
}

// vital reports whether losing p itself is a catastrophe; f is p folded.
func (g *ground) vital(p, f string) bool {
	if vitalPaths[f] || homeShaped(f) || lexpath.In("/boot", f) {
		return true
	}
	for _, h := range g.folded {
		if lexpath.In(f, h) {
			return true
		}
	}
	for _, root := range g.roots {
		if p != root && lexpath.In(p, root) {
			return true
		}
	}
	return false
}

// guard returns the guarded tags that the names of a path give it.
func (r *resolver) guard(p string) Tags {
	g := r.session()
	f := lexpath.Fold(p)
	t := guarded.match(f, g.fromHome(f))
	for _, own := range g.own {
		if lexpath.In(own, f) {
			t = t.With(Permd)
		}
	}
	return t
}

// makesOption reports whether a folder on the way to a path looks like an option
// by its name and is not there yet: tools that make it would put an option in the
// way of later patterns.
func (r *resolver) makesOption(p string) bool {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir)[0] == '-' {
			if _, err := r.lstat(dir); err != nil {
				return true
			}
		}
	}
	return false
}

// fromHome returns the part of a folded path below a home, "" when there is
// none. Other people's homes count as well as the person's.
func (g *ground) fromHome(f string) string {
	for _, h := range g.folded {
		if lexpath.In(h, f) {
			return strings.TrimPrefix(f[len(h):], "/")
		}
	}
	for _, h := range rootHomes {
		if lexpath.In(h, f) {
			return strings.TrimPrefix(f[len(h):], "/")
		}
	}
	for _, dir := range homeFolders {
		if rest, ok := strings.CutPrefix(f, dir+"/"); ok {
			_, rest, _ = strings.Cut(rest, "/")
			return rest
		}
	}
	return ""
}

// recurse makes an effect mean everything below its path as well, and adds the
// tags of what lies there. skipsHidden says that the program leaves out names
// that begin with a dot (rg, fd); then only the path itself counts for a read.
//
// What lies below is known from names alone (a home holds ~/.ssh, the project
// holds .git) and from looking for a few names directly in the folder. Deeper
// ones are not looked for: that would cost a walk of the tree.
func (r *resolver) recurse(e *Effect, skipsHidden bool) {
	if e.File == nil {
		return
	}
	e.File.Recursive = true
	if at, err := r.lstat(e.File.Path); err == nil && at.IsRegular() || skipsHidden && e.Kind == KindRead {
		return
	}
	e.Tags |= r.contained(e.File.Path, e.Kind)
	if !strings.HasSuffix(e.Text, allBelow) {
		e.Text += allBelow
	}
}

const allBelow = " and all below"

// contained returns the tags of what is known to lie below p.
func (r *resolver) contained(p string, kind Kind) Tags {
	g := r.session()
	folded := lexpath.Fold(p)
	t := guarded.containedIn(folded, g.fromHome(folded))
	if vitalPaths[folded] {
		t = t.With(Vital)
	}
	for _, own := range g.own {
		if lexpath.In(folded, own) {
			t = t.With(Permd)
		}
	}
	for _, program := range r.own.programs {
		if kind != KindRead && lexpath.In(folded, program) {
			t = t.With(Permd)
		}
	}
	for _, h := range g.folded {
		if lexpath.In(folded, h) {
			t |= TagsOf(Vital, Home) | guarded.homeTags
		}
	}
	if homeShaped(folded) {
		t |= TagsOf(Vital) | guarded.homeTags
	}
	for _, root := range g.roots {
		if lexpath.In(p, root) {
			// Changing the project's files one by one is work, removing it is not.
			if kind == KindDelete || kind == KindWrite && p != root {
				t = t.With(Vital)
			}
			t |= r.holds(root, kind)
		}
	}
	return t | r.holds(p, kind)
}

// holds looks for guarded names directly in a folder. A name that cannot be
// looked at counts as there.
func (r *resolver) holds(dir string, kind Kind) Tags {
	var t Tags
	for _, n := range lookedFor {
		if kind == KindRead && n.tag != Secret && n.tag != Permd || t.Has(n.tag) {
			continue
		}
		if at, why := r.walk(rootPlace, path.Join(dir, n.name), false); why != "" || !at.missing {
			t = t.With(n.tag)
		}
	}
	return t
}

// cwdTags are the tags of a run in that folder. A folder that is not known
// counts as outside of the project.
func (r *resolver) cwdTags(cwd string) Tags {
	if r.lost {
		return TagsOf(Outside)
	}
	r.session() // which moves the bases
	b := r.baseOf(cwd)
	if b.why != "" {
		return TagsOf(Outside)
	}
	if !b.tagged {
		b.tags, b.tagged = r.where(b.at.path)&TagsOf(InProject, Outside, Temp, Home, System, Worktree), true
	}
	return b.tags
}
