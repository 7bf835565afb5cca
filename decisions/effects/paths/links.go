package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// maxWalkedLinks bounds the links that one command follows: each is looked up.
const maxWalkedLinks = 1 << 12

// LinkWalk finds the links that a program follows which walks folders.
type LinkWalk struct {
	ends    []string        // with one of which the names of the links end (HasEnd)
	visited map[string]bool // folders walked, and links found
	links   int
}

// Links returns the links below a folder of the session, or of another working tree of
// its project, that the walk has not found before. No folder is left out, because the
// author of a tree decides where its links are. complete is false if there may be others.
func (r *Resolver) Links(dir string, w *LinkWalk) (links []string, complete bool) {
	if w.visited == nil {
		w.visited = map[string]bool{}
	}
	finder := linkFinder(r.fs)
	for _, in := range r.searchStarts(dir) {
		if w.walked(in) {
			continue
		}
		w.visited[in] = true
		if mode, err := r.Lstat(in); err == nil && mode.IsRegular() {
			continue
		}
		found, err := finder.LinksBelow(in, func() bool { return true })
		if err != nil || found.Incomplete || found.Denied && r.Others {
			// What the caller, who is the daemon's user, cannot read is not read.
			return links, false
		}
		for _, p := range found.Paths {
			if w.visited[p] || !HasEnd(p, w.ends) {
				continue
			}
			if w.links++; w.links > maxWalkedLinks {
				return links, false
			}
			w.visited[p] = true
			links = append(links, p)
		}
	}
	slices.Sort(links)
	return links, true
}

// linkFinder returns a file system as one that finds links, which only an [Index] remembers.
func linkFinder(fsys effects.FS) LinkFinder {
	if finder, ok := fsys.(LinkFinder); ok {
		return finder
	}
	return NewIndex(fsys, time.Now)
}

// LinksIn returns the links in a folder and all below it. complete is false if there may be
// others.
func LinksIn(fsys effects.FS, dir string) (links []string, complete bool) {
	found, err := linkFinder(fsys).LinksBelow(dir, func() bool { return true })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	return found.Paths, err == nil && !found.Incomplete && !found.Denied
}

// walked reports whether a folder, or one that it is in, was walked.
func (w *LinkWalk) walked(dir string) bool {
	for {
		if w.visited[dir] {
			return true
		}
		i := strings.LastIndexByte(dir, '/')
		if i <= 0 {
			return w.visited["/"]
		}
		dir = dir[:i]
	}
}

// Followed is a folder in which something follows links: those whose names end with one of
// Ends, see [HasEnd], and if Folders is set all that lead to folders. As is what it reads of the files there. A
// link may have a name that it reads, and lead to one in the folder that it leaves out.
type Followed struct {
	Path    string
	Ends    []string
	Folders bool
	As      Reach
}

// Bounds of the reads through links that are reported for one run. Of those that are
// guarded or outside of the project, one is enough to ask.
const (
	maxReadsThroughLinks = 4
	maxPlainThroughLinks = 32
)

// ReadsThroughLinks returns the reads of the targets of links in folders that something
// walks, and whether they are all, or enough to ask. A linked folder is walked as well.
// read returns the read of one link.
func (r *Resolver) ReadsThroughLinks(folders []Followed, read func(link string) effects.Effect) (more []effects.Effect, complete bool) {
	var walk LinkWalk
	folders = slices.Clone(folders)
	seen := map[string]bool{} // linked folders
	shown, complete := 0, true
	for n := 0; n < len(folders) && complete; n++ {
		all := &walk
		by := folders[n]
		switch {
		case len(by.Ends) > 0 && by.Folders:
			all = &LinkWalk{}
		case len(by.Ends) > 0:
			all = &LinkWalk{ends: by.Ends} // it leaves links out
		}
		var links []string
		links, complete = r.Links(folders[n].Path, all)
		for _, link := range links {
			if shown >= maxReadsThroughLinks {
				return more, true
			}
			e := read(link)
			if e.File == nil {
				more = append(more, e)
				shown++
				continue
			}
			mode, err := r.Lstat(e.File.Path)
			if errors.Is(err, fs.ErrNotExist) || by.Folders && err == nil && !mode.IsDir() && !HasEnd(link, by.Ends) {
				continue
			}
			as, inside := walkedAs(folders, e.File.Path, mode.IsDir())
			switch {
			case inside && (as == ReachAll || seen[e.File.Path] || r.leavesOut(as, link)):
				continue
			case inside:
				if mode.IsDir() {
					e.File.Recursive = true
					seen[e.File.Path] = true
					file, uncertain := r.passes(e.File.Path, throughLink(as), nil)
					r.passing(&e, file)
					complete = complete && !uncertain
				}
				if e.Guarded() == 0 {
					continue // it is read as the rest of the folder is
				}
			case mode.IsDir():
				r.Recurse(&e, false)
				r.Search(&e, ReachAll)
			}
			switch {
			case e.Guarded() != 0:
				shown++
			case len(more)-shown >= maxPlainThroughLinks:
				complete = false
				continue
			case mode.IsDir():
				folders = append(folders, Followed{Path: e.File.Path})
			}
			more = append(more, e)
		}
	}
	return more, complete || shown > 0
}

// walkedAs reports whether a path is in a folder in which all links are followed, and what
// is read there of the files.
func walkedAs(folders []Followed, p string, folder bool) (as Reach, in bool) {
	for _, f := range folders {
		if len(f.Ends) > 0 && (!f.Folders || !folder) || !lexpath.In(f.Path, p) {
			continue
		}
		if !in || as == ReachNamed || f.As == ReachAll {
			as = f.As
		}
		in = true
	}
	return as, in
}

// throughLink returns what a program with that reach reads of a linked folder, to which ignore
// files need not apply by the link's name.
func throughLink(as Reach) Reach {
	switch as {
	case ReachShown, ReachVisible:
		return ReachVisible
	case ReachNamed:
		return ReachNamed
	case ReachAll, ReachKept, ReachTracked:
	}
	return ReachAll
}

// leavesOut reports whether a program with that reach certainly leaves out a link for its
// own name, in whatever way it comes to its folder.
func (r *Resolver) leavesOut(as Reach, link string) bool {
	dir, name := path.Split(link)
	switch as {
	case ReachNamed:
		return Guarded().Match(lexpath.Fold("/"+name), "").Has(effects.Secret)
	case ReachShown, ReachVisible:
		for root, in := range r.searchStarts(path.Clean(dir)) {
			// Lines for folders alone may be about the link, too.
			if lexpath.In(in, link) && r.skips(root, in, link+"/x", true, false) {
				return true
			}
		}
	case ReachAll, ReachKept, ReachTracked:
	}
	return false
}

// LiteralEnd returns the ASCII characters at the end of a pattern that mean themselves,
// in lower case.
func LiteralEnd(pattern string) string {
	i := len(pattern)
	for i > 0 && pattern[i-1] < utf8.RuneSelf && !strings.Contains(`*?[]\`, pattern[i-1:i]) {
		i--
	}
	return lexpath.Fold(pattern[i:])
}
