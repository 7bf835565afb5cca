package paths

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Where returns the tags for the location of a resolved path.
func (r *Resolver) Where(p string) effects.Tags {
	g := r.Session()
	f := r.fold(p)
	var t effects.Tags
	in := false
	for _, root := range g.roots {
		in = in || lexpath.In(root, p)
	}
	if in {
		t = t.With(effects.InProject)
	} else {
		t = t.With(effects.Outside)
		// A project below /opt or /var/www is not the system's.
		if g.system(f) && !below(tempFolders, p) {
			t = t.With(effects.System)
		} else if r.inOtherTree(p) {
			t = t.With(effects.Worktree)
		}
	}
	if below(tempFolders, p) || below(g.temps, p) { // by its exact name: a rule may allow by this tag
		t = t.With(effects.Temp)
	}
	if below(g.folded, f) {
		t = t.With(effects.Home)
	}
	if lexpath.In("/dev", f) && f != "/dev" && !lexpath.In("/dev/shm", f) {
		t = t.With(effects.Device)
	}
	if g.vital(p, f) {
		t = t.With(effects.Vital)
	}
	return t
}

// vital reports whether losing p itself would be a catastrophe; f is p folded.
func (g *sessionPaths) vital(p, f string) bool {
	if vitalPaths.Has(f) || homeShaped(f) || lexpath.In("/boot", f) {
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

// Guard returns the guarded tags of a path by its names.
func (r *Resolver) Guard(p string) effects.Tags {
	g := r.Session()
	f := r.fold(p)
	t := Guarded().Match(f, g.fromHome(f))
	for _, own := range g.own {
		if lexpath.In(own, f) {
			t = t.With(effects.Permd)
		}
	}
	return t
}

// makesOption reports whether a folder of the path does not exist yet and has a name
// like an option: tools that create it would put an option in the way of later
// patterns.
func (r *Resolver) makesOption(p string) bool {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir)[0] == '-' {
			if _, err := r.Lstat(dir); err != nil {
				return true
			}
		}
	}
	return false
}

// fromHome returns the part of a folded path below a home, "" if there is none. Other
// people's homes count as well as the person's.
func (g *sessionPaths) fromHome(f string) string {
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
		if rest, ok := lexpath.RelBelow(dir, f); ok {
			_, rest, _ = strings.Cut(rest, "/")
			return rest
		}
	}
	return ""
}

// Recurse makes an effect recursive, and adds the tags of what lies below its path.
// skipsHidden is set if the program skips names that begin with a dot (rg, fd); then a
// read gets the tags of the path only.
//
// What lies below is known from names alone (a home holds ~/.ssh, the project holds
// .git) and from a few names that are looked up directly in the folder. Deeper ones are
// not looked for: that would need a walk of the tree.
func (r *Resolver) Recurse(e *effects.Effect, skipsHidden bool) {
	if e.File == nil {
		return
	}
	e.File.Recursive = true
	if at, err := r.Lstat(e.File.Path); err == nil && at.IsRegular() || skipsHidden && e.Kind == effects.KindRead {
		return
	}
	tags, rules := r.tagsBelow(e.File.Path, e.Kind)
	e.Tags |= tags
	// What names permd's files is denied. Of a call that does not, a person can say whether it
	// may change a project's rules, which can only be stricter than theirs.
	e.File.HoldsRules = rules && !e.Tags.Has(effects.Permd)
	if !strings.HasSuffix(e.Text, allBelow) {
		e.Text += allBelow
	}
}

const allBelow = " and all below"

// RecurseTracked is Recurse for a read of what a repository in a folder knows of its files: of
// what lies below, only what is known from names alone counts, since a secret among the files
// of a working tree is seldom tracked.
func (r *Resolver) RecurseTracked(e *effects.Effect) {
	if e.File == nil {
		return
	}
	e.File.Recursive = true
	e.Tags |= r.namedBelow(e.File.Path, e.Kind)
	e.Text += allBelow
}

// tagsBelow returns the tags of what is known to lie below p, and whether an effect that
// changes it may change a project's own rules.
func (r *Resolver) tagsBelow(p string, kind effects.Kind) (t effects.Tags, rules bool) {
	t = r.namedBelow(p, kind)
	for _, root := range r.Session().roots {
		if lexpath.In(p, root) {
			// Changing the project's files one by one is normal work, removing it is not.
			if kind == effects.KindDelete || kind == effects.KindWrite && p != root {
				t = t.With(effects.Vital)
			}
			t |= r.guardedChildren(root, kind)
			rules = rules || kind != effects.KindRead && r.holdsRules(root)
		}
	}
	return t | r.guardedChildren(p, kind), rules || kind != effects.KindRead && r.holdsRules(p)
}

// holdsRules reports whether a project's own rules lie directly in a folder, or may.
func (r *Resolver) holdsRules(dir string) bool {
	at, why := r.Walk(RootPlace, path.Join(dir, ".permd"), false)
	return why != "" || !at.Missing
}

// namedBelow returns the tags of what lies below p by its name alone.
func (r *Resolver) namedBelow(p string, kind effects.Kind) effects.Tags {
	g := r.Session()
	folded := lexpath.Fold(p)
	t := Guarded().containedIn(folded, g.fromHome(folded))
	if vitalPaths.Has(folded) {
		t = t.With(effects.Vital)
	}
	for _, own := range g.own {
		if lexpath.In(folded, own) {
			t = t.With(effects.Permd)
		}
	}
	for _, program := range r.Own.programs {
		if kind != effects.KindRead && lexpath.In(folded, program) {
			t = t.With(effects.Permd)
		}
	}
	for _, h := range g.folded {
		if lexpath.In(folded, h) {
			t |= effects.TagsOf(effects.Vital, effects.Home) | Guarded().homeTags
		}
	}
	if homeShaped(folded) {
		t |= effects.TagsOf(effects.Vital) | Guarded().homeTags
	}
	return t
}

// guardedChildren looks for guarded names directly in a folder. A name that cannot be
// read counts as existing.
func (r *Resolver) guardedChildren(dir string, kind effects.Kind) effects.Tags {
	var t effects.Tags
	for _, n := range recursiveNames {
		if kind == effects.KindRead && n.tag != effects.Secret || t.Has(n.tag) {
			continue
		}
		if at, why := r.Walk(RootPlace, path.Join(dir, n.name), false); why != "" || !at.Missing {
			t = t.With(n.tag)
		}
	}
	return t
}

// CwdTags returns the tags of a run's working folder. An unknown folder counts as
// outside of the project.
func (r *Resolver) CwdTags(cwd string) effects.Tags {
	tags, _ := r.Folder(cwd)
	return tags
}

// Folder returns the tags of a folder that a program runs in, and its path with links
// resolved, "" if that is not known.
func (r *Resolver) Folder(cwd string) (effects.Tags, string) {
	if r.Unknown {
		return effects.TagsOf(effects.Outside), ""
	}
	r.Session() // it changes bases
	b := r.baseOf(cwd)
	if b.why != "" {
		return effects.TagsOf(effects.Outside), ""
	}
	if !b.tagged {
		b.tags, b.tagged = r.Where(b.at.Path)&effects.TagsOf(effects.InProject, effects.Outside, effects.Temp, effects.Home, effects.System, effects.Worktree), true
	}
	return b.tags, b.at.Path
}
