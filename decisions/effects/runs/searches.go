package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// searchReach returns the extent of a search: narrow is set if it only reads names that are
// not those of secrets, hidden if it includes hidden names.
func (v *invocation) searchReach(narrow, hidden bool) paths.Reach {
	switch {
	case narrow, v.ownSelection():
		return paths.ReachNamed
	case !v.p.SkipsHidden, hidden, v.b.ChangesIgnores():
		return paths.ReachAll
	case v.run.Program != "rg", v.has(ignoreOverrides):
		// permd does not implement the others' own reading of ignore files.
		return paths.ReachVisible
	}
	return paths.ReachShown
}

// ownSelection reports whether the program reads the files of a folder by a selection that
// permd has no view of: ownReaders, and those that obey any file of the project. An answer about a
// run of the latter covers whatever those files make it read.
func (v *invocation) ownSelection() bool {
	return ownReaders.Has(v.run.Program) || slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return o.Project })
}

// ignoreOverrides are the options with which rg ignores fewer files than git does.
var ignoreOverrides = []string{
	"--no-ignore", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-files", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-vcs",
	"--no-require-git", "--ignore-file-case-insensitive",
}

// ownReaders read the files of a folder by their own selection, or according to a file of
// the project (.dockerignore).
var ownReaders = wordset.Fields("biome deno docker podman nerdctl du")

// walks completes the effect of a folder that the run reads, changes or deletes with all below
// it. What the table does not say of a program's walk is taken for the worst: it goes into
// hidden folders, reads every file, and follows each link.
func (v *invocation) walks(e *effects.Effect, narrow, hidden bool) {
	as := v.searchReach(narrow, hidden)
	var ends []string
	if e.Kind == effects.KindRead {
		ends = v.p.Opens
	}
	if len(ends) > 0 && as != paths.ReachNamed {
		e.File.Recursive = true
		v.b.Paths.SearchEnding(e, as, ends)
	} else {
		v.b.Paths.Recurse(e, narrow || v.p.SkipsHidden && !hidden)
		v.b.Paths.Search(e, as)
	}
	if e.Kind == effects.KindDelete { // of the links themselves
		return
	}
	// What it writes or fills lies elsewhere than what links lead to.
	follows := v.followsLinks() && (e.Kind == effects.KindRead || v.rewrites() || v.has(v.p.FollowsWith))
	if follows {
		v.followed = append(v.followed, paths.Followed{Path: e.File.Path, Ends: v.p.Opens, Folders: len(v.p.Opens) > 0 && !v.p.SkipsLinkedFolders, As: as})
	}
	if v.linked && (len(v.p.Opens) > 0 || !follows) {
		ends := slices.DeleteFunc([]string{v.linkedAs}, func(end string) bool { return end == "" })
		v.followed = append(v.followed, paths.Followed{Path: e.File.Path, As: as, Ends: ends})
	}
}

// followsLinks reports whether the run reads the targets of links in a folder.
func (v *invocation) followsLinks() bool {
	walks := v.p.Recursive || v.has(v.p.RecursiveWith) || v.run.Program == "diff"
	if v.run.Program == "find" && v.has([]string{"-L"}) { // no option of its expression
		return true
	}
	return v.has(v.p.FollowsWith) || walks && !v.p.SkipsLinks && !v.has(v.p.SkipsLinksWith) && !v.ownSelection()
}

// readsThroughLinks adds the reads of the targets of links in the folders that the run
// walks.
func (v *invocation) readsThroughLinks() {
	more, complete := v.b.ReadsThroughLinks(v.followed, v.at.From)
	writes := v.has(v.p.WritesWith) || !slices.ContainsFunc(v.b.Effects[v.index:], func(e effects.Effect) bool { return e.Kind == effects.KindRead && e.File != nil && e.File.Recursive })
	for _, e := range more {
		v.b.Add(v.via(0, e))
		if writes {
			v.b.Add(v.via(0, v.below(v.b.Operand(effects.KindWrite, e.Path(), "/", v.at.From), e.File != nil && e.File.Recursive, false)))
		}
	}
	if !complete {
		v.unknown(0, "follows links, of which not all are known")
	}
	if len(more) > 0 && v.rewrites() {
		v.changes = true // what the links lead to is written, too
	}
	v.followed = nil
}
