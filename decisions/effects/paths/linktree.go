package paths

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A program that follows links may walk all packages of a project: tens of thousands of
// folders, which take a second to read. So an [Index] keeps what a walk has found, and the
// next one reads only the stamps of the folders, and again those whose stamp has changed:
// a link cannot be made, moved or replaced without a change of its folder.

// Bounds of the search for links in one folder and all below it.
const (
	maxTreeFolders  = 1 << 16 // their stamps take some 100 ms
	maxFolderNames  = 1 << 14
	maxTreeLinks    = 1 << 15
	foldersPerCheck = 64 // until it is asked whether there is time for more
	// maxLinkWalk is how long one walk takes. What it has read until then is kept, so
	// that the next one comes further.
	maxLinkWalk = time.Second
)

// Bounds of what an index keeps of such searches.
const (
	maxTrees       = 64
	maxKeptFolders = 1 << 17 // of all trees; each needs some 100 bytes
	// tooLargeFor is how long a tree beyond the bounds is not walked again.
	tooLargeFor = time.Minute
	// tooSlowFor is the same for a tree whose stamps cannot be read in time.
	tooSlowFor = 10 * time.Second
)

// LinkFinder is a file system that knows the links below a folder without reading all of
// it for each call.
type LinkFinder interface {
	// LinksBelow returns the links in a folder and all below it. more is asked now and
	// then whether there is time to go on. The error is that of a look that says nothing
	// about what is there.
	LinksBelow(dir string, more func() bool) (Links, error)
}

// Links is the result of a search for links.
type Links struct {
	Paths []string // absolute
	// Incomplete is set if there may be others, Denied if that is so only because there
	// are folders that permd may not read.
	Incomplete, Denied bool
}

// Marks at the beginning of the text of a search.
const (
	markIncomplete = "?"
	markDenied     = "!"
)

// Text returns all of it as one text: absolute paths contain no NUL.
func (l *Links) Text() string {
	text := strings.Join(l.Paths, "\x00")
	if l.Denied {
		text = markDenied + text
	}
	if l.Incomplete {
		text = markIncomplete + text
	}
	return text
}

// LinksOf returns what has a text.
func LinksOf(text string) (l Links) {
	text, l.Incomplete = strings.CutPrefix(text, markIncomplete)
	text, l.Denied = strings.CutPrefix(text, markDenied)
	if text != "" {
		l.Paths = strings.Split(text, "\x00")
	}
	return l
}

// linkTree is what a walk has found. It does not change once it is kept.
type linkTree struct {
	dir      string
	folders  []linkFolder // each is followed by those in it, in the order of their names
	links    []string     // names
	tooLarge time.Time    // until when it is not walked again
}

// linkFolder is one folder of a tree.
type linkFolder struct {
	name        string // "" of the first one
	below       int    // number of folders in it, and in those
	first, last int32  // its links in the tree's, last not included
	// stamp is from before the folder was read, zero if it has to be read again.
	stamp Stamp
}

// linkWalk is one search for links.
type linkWalk struct {
	index   *Index
	more    func() bool
	old     *linkTree // what an earlier one has found, nil if nothing is known
	stale   []int     // its folders that have to be read again, in order
	new     linkTree  // what this one finds, if keeps is set
	keeps   bool
	folders int
	device  uint64 // of the first folder
	found   Links
	ended   bool  // there is no time
	tooMany bool  // it is beyond a bound
	err     error // see [LinkFinder]
}

// LinksBelow implements [LinkFinder].
func (x *Index) LinksBelow(dir string, more func() bool) (Links, error) {
	end := x.now().Add(maxLinkWalk)
	w := linkWalk{index: x, more: func() bool { return more() && x.now().Before(end) }}
	if x.keepsStamps(dir) {
		w.old = x.keptTree(dir)
		// A tree needs memory, so that one is made at a time.
		if w.keeps = x.walking.TryLock(); w.keeps {
			defer x.walking.Unlock()
		}
	}
	if w.old != nil {
		if x.now().Before(w.old.tooLarge) {
			return Links{Incomplete: true}, nil
		}
		w.compare()
	}
	switch {
	case w.ended:
		if now := x.now(); !now.Before(end) {
			slow := *w.old
			slow.tooLarge = now.Add(tooSlowFor)
			x.keepTree(&slow)
		}
		return Links{Incomplete: true}, nil
	case w.old == nil || len(w.old.folders) == 0:
		w.visit(dir, "", -1)
	case len(w.stale) > 0:
		w.visit(dir, "", 0)
	default:
		w.keeps = false
		w.visit(dir, "", 0)
	}
	switch {
	case w.err != nil:
		return Links{Incomplete: true}, w.err
	case w.tooMany:
		x.keepTree(&linkTree{dir: strings.Clone(dir), tooLarge: x.now().Add(tooLargeFor)})
		return Links{Incomplete: true}, nil
	case w.keeps:
		w.new.dir = strings.Clone(dir)
		x.keepTree(&w.new)
	}
	return w.found, nil
}

// compare finds the folders whose stamps have changed.
func (w *linkWalk) compare() {
	type parent struct{ end, length int } // of a folder's path
	var parents []parent
	p := append(make([]byte, 0, MaxPath), w.old.dir...)
	for i := range w.old.folders {
		f := &w.old.folders[i]
		for n := len(parents); n > 0 && i >= parents[n-1].end; n-- {
			parents = parents[:n-1]
		}
		if n := len(parents); n > 0 {
			p = append(append(p[:parents[n-1].length], '/'), f.name...)
		}
		parents = append(parents, parent{i + 1 + f.below, len(p)})
		if i%foldersPerCheck == foldersPerCheck-1 && !w.more() {
			w.ended = true
			return
		}
		if f.stamp != (Stamp{}) {
			if now, err := w.index.stamper.Stamp(string(p)); err == nil && now == f.stamp {
				continue
			}
		}
		w.stale = append(w.stale, i)
	}
}

// visit adds a folder with all below it. known is its index in the old tree, -1 if it is
// not there.
func (w *linkWalk) visit(p, name string, known int) {
	if w.err != nil || w.tooMany {
		return
	}
	if w.folders++; w.folders > maxTreeFolders {
		w.tooMany = true
		return
	}
	fresh := false
	if known >= 0 {
		_, stale := slices.BinarySearch(w.stale, known)
		fresh = !stale
	}
	if !fresh && !w.ended && w.folders%foldersPerCheck == 0 {
		w.ended = !w.more()
	}
	at := len(w.new.folders)
	if w.keeps {
		w.new.folders = append(w.new.folders, linkFolder{name: name, first: int32(len(w.new.links))})
	}
	var subs []sub
	switch {
	case fresh:
		f := &w.old.folders[known]
		for _, link := range w.old.links[f.first:f.last] {
			w.link(p, link)
		}
		if w.keeps {
			w.new.folders[at].stamp = f.stamp
		}
		subs = w.old.subs(known)
	case w.ended:
		w.found.Incomplete = true
	default:
		subs = w.list(p, at)
		if known >= 0 {
			w.old.recognize(known, subs)
		}
	}
	if w.keeps {
		w.new.folders[at].last = int32(len(w.new.links))
	}
	for _, s := range subs {
		w.visit(Joined(p, s.name), s.name, s.known)
	}
	if w.keeps {
		w.new.folders[at].below = len(w.new.folders) - at - 1
	}
}

// sub is a folder in another one.
type sub struct {
	name  string
	known int // as in visit
}

// subs returns the folders in a folder.
func (t *linkTree) subs(i int) (all []sub) {
	for j, end := i+1, i+1+t.folders[i].below; j < end; j += 1 + t.folders[j].below {
		all = append(all, sub{t.folders[j].name, j})
	}
	return all
}

// recognize finds those folders in a folder of the tree which it knows. They are in the
// order of their names.
func (t *linkTree) recognize(i int, subs []sub) {
	j, end := i+1, i+1+t.folders[i].below
	for n := range subs {
		for j < end && t.folders[j].name < subs[n].name {
			j += 1 + t.folders[j].below
		}
		if j < end && t.folders[j].name == subs[n].name {
			subs[n].known = j
		}
	}
}

// list reads a folder, which is at an index of the new tree.
func (w *linkWalk) list(p string, at int) (subs []sub) {
	var stamp Stamp
	if w.keeps {
		// Before the names, so that a change in between makes the stamp outdated.
		if w.folders == 1 {
			first, _ := w.index.Stamp(p)
			w.device = first.Device
		}
		if old, ok := w.index.OldStamp(p); ok && old.Device == w.device {
			stamp = old // what is mounted there may be of another kind
		}
	}
	names, err := w.index.Names(p, maxFolderNames)
	var no syscall.Errno
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		w.found.Denied = true
		return nil
	case errors.As(err, &no):
		w.err = err
		return nil
	default:
		w.tooMany = true
		return nil
	}
	for _, n := range names {
		switch {
		case n.IsDir():
			subs = append(subs, sub{strings.Clone(n.Name()), -1})
		case n.Type()&fs.ModeSymlink != 0:
			w.link(p, n.Name())
		}
	}
	if w.keeps {
		w.new.folders[at].stamp = stamp
	}
	slices.SortFunc(subs, func(a, b sub) int { return strings.Compare(a.name, b.name) })
	return subs
}

// link adds a link in a folder.
func (w *linkWalk) link(p, name string) {
	if len(w.found.Paths) >= maxTreeLinks {
		w.tooMany = true
		return
	}
	w.found.Paths = append(w.found.Paths, Joined(p, name))
	if w.keeps {
		w.new.links = append(w.new.links, strings.Clone(name))
	}
}

// keptTree returns what was found below a folder, nil if nothing is kept.
func (x *Index) keptTree(dir string) *linkTree {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.trees, func(t *linkTree) bool { return t.dir == dir })
	if i < 0 {
		return nil
	}
	t := x.trees[i]
	x.trees = append(slices.Delete(x.trees, i, i+1), t)
	return t
}

// keepTree keeps a tree. If there are too many, the least recently used ones are dropped.
func (x *Index) keepTree(t *linkTree) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.trees = slices.DeleteFunc(x.trees, func(have *linkTree) bool { return have.dir == t.dir })
	x.trees = append(x.trees, t)
	folders := 0
	for _, have := range x.trees {
		folders += len(have.folders)
	}
	for len(x.trees) > maxTrees || folders > maxKeptFolders {
		folders -= len(x.trees[0].folders)
		x.trees = slices.Delete(x.trees, 0, 1)
	}
}
