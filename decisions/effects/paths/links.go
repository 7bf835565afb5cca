package paths

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Bounds of the search for links: of all folders that one command walks.
const (
	maxWalkedFolders = 4096 // reading one takes some 20 µs
	maxWalkedLinks   = 1024
)

// LinkWalk finds the links that a program follows which walks folders.
type LinkWalk struct {
	folders int             // folders read
	visited map[string]bool // folders read, and links found
	links   int
}

// Links returns the links below a folder of the session, or of another working tree of
// its project, that the walk has not found before. No folder is left out, because the
// author of a tree decides where its links are. complete is false if there may be others.
func (r *Resolver) Links(dir string, w *LinkWalk) (links []string, complete bool) {
	if w.visited == nil {
		w.visited = map[string]bool{}
	}
	complete = true
	for _, in := range r.searchStarts(dir) {
		for rest := []string{in}; len(rest) > 0; {
			at := rest[len(rest)-1]
			rest = rest[:len(rest)-1]
			if w.visited[at] {
				continue
			}
			w.visited[at] = true
			if w.folders++; w.folders > maxWalkedFolders {
				return links, false
			}
			names, err := r.fs.Names(at, maxEntries)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && !r.Others:
				// The caller, who is the daemon's user, cannot read it either.
			case err != nil:
				// It may be a file.
				mode, err := r.Lstat(at)
				complete = complete && err == nil && mode.IsRegular()
			}
			for _, n := range names {
				p := Joined(at, n.Name())
				switch {
				case n.IsDir():
					rest = append(rest, p)
				case n.Type()&fs.ModeSymlink == 0 || w.visited[p]:
				case w.links >= maxWalkedLinks:
					return links, false
				default:
					w.visited[p] = true
					w.links++
					links = append(links, p)
				}
			}
		}
	}
	slices.Sort(links)
	return links, complete
}

// Followed is a folder in which something follows links: those whose names end with
// Suffix, in lower case.
type Followed struct{ Path, Suffix string }

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
	shown, complete := 0, true
	for n := 0; n < len(folders) && complete; n++ {
		all := &walk
		if folders[n].Suffix != "" {
			all = &LinkWalk{} // it leaves links out
		}
		var links []string
		links, complete = r.Links(folders[n].Path, all)
		for _, link := range links {
			if shown >= maxReadsThroughLinks {
				return more, true
			}
			if !strings.HasSuffix(lexpath.Fold(link), folders[n].Suffix) {
				continue
			}
			e := read(link)
			if e.File == nil {
				more = append(more, e)
				shown++
				continue
			}
			mode, err := r.Lstat(e.File.Path)
			if errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(folders, func(f Followed) bool { return f.Suffix == "" && lexpath.In(f.Path, e.File.Path) }) {
				continue
			}
			if mode.IsDir() {
				r.Recurse(&e, false)
				r.Search(&e, ReachAll)
			}
			switch {
			case !e.Tags.Has(effects.InProject) && !e.Tags.Has(effects.Worktree), e.Guarded() != 0:
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

// LiteralEnd returns the ASCII characters at the end of a pattern that mean themselves,
// in lower case.
func LiteralEnd(pattern string) string {
	i := len(pattern)
	for i > 0 && pattern[i-1] < utf8.RuneSelf && !strings.Contains(`*?[]\`, pattern[i-1:i]) {
		i--
	}
	return lexpath.Fold(pattern[i:])
}
