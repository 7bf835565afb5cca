package paths

import (
	"errors"
	"io/fs"
	"slices"
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
// its project, that the walk has not found before. No folder is left out: whoever made
// the tree chose where its links are. complete is false if there may be others.
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
