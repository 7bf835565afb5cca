package paths

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Surveyor is a file system that knows the names of secrets in a project
// without going through all of it for each call. What a search reads is then
// more than the folder that it names.
type Surveyor interface {
	// Survey says which files in dir and below are named like secrets; dir is
	// root, which is a project, or lies in it. Both are absolute, cleaned and
	// resolved.
	Survey(root, dir string) Survey
}

// Survey is what is known of a folder with all below.
type Survey struct {
	Secrets []string // files named like secrets, absolute
	Links   []string // symbolic links, absolute
	// Incomplete is set when there may be others: not all folders were looked
	// into, or one holds a name that is sometimes a secret's.
	Incomplete bool
}

// Index is a file system with a bounded memory of which files of projects are
// named like secrets. It is safe for concurrent use.
//
// What it remembers of a folder is used only while that folder has the same
// stamp, which every change of its names changes; each survey asks for the
// stamps of all folders that it answers for. So it is never older than the call
// it is used for, with these exceptions, none of which allows what would be
// forbidden without the index, as it only ever adds tags:
//
//   - A folder that changes while it is looked at is as uncertain as a path that
//     changes between the decision and the act.
//   - Kernels stamp in steps of some milliseconds. A stamp that is hardly older
//     than the look is not trusted, and the folder read again by the next survey.
//   - A survey reads at most maxListed folders itself. Others are read in the background of the
//     requests, by one task for each project; until it is through, and in
//     projects larger than the bounds, surveys are doubtful. In doubt a search
//     stays quiet by itself (it did before, and most projects hold no secret),
//     and needs a person in a call that reaches the network as well.
//
// Where the file system has no stamps, each survey reads its folders again.
type Index struct {
	effects.FS
	stamper    stamper // nil if there are no stamps
	now        func() time.Time
	Background func(task func())

	mu       sync.Mutex
	projects []*projectIndex // the one used last is the last one

	choosing sync.Mutex // guards choices
	choices  map[string]shimListing
}

// Bounds of an index.
const (
	maxSurveyed = 8    // projects
	maxFolders  = 1024 // of a project; the stamps of all take about 1 ms
	maxDepth    = 16   // folders in each other
	maxListed   = 64   // folders that one survey reads; they take about 1 ms
	maxEntries  = 4096 // names of one folder
	maxSecrets  = 64   // files that one survey returns
	maxLinked   = 256  // links that one survey returns
	// minStampAge is how old a stamp must be to be trusted: more than the steps of
	// any kernel's clock for files.
	minStampAge = 50 * time.Millisecond
)

// stamper is implemented by file systems that can tell whether the names in a
// folder have changed.
type stamper interface {
	Stamp(path string) (Stamp, error)
}

// Stamp is different after each change of the names in a folder.
type Stamp struct {
	Device, File uint64
	Changed      int64 // nanoseconds since 1970
}

// NewIndex returns an index of a file system's projects. The clock is the one
// that the file system's stamps are made with.
func NewIndex(fsys effects.FS, now func() time.Time) *Index {
	x := &Index{FS: fsys, now: now, Background: func(task func()) { go task() }}
	x.stamper, _ = fsys.(stamper)
	return x
}

// Survey implements [Surveyor].
func (x *Index) Survey(root, dir string) Survey {
	if !lexpath.In(root, dir) {
		return Survey{Incomplete: true}
	}
	s, more := x.project(root).survey(x, dir)
	if more != nil {
		x.Background(more)
	}
	return s
}

// survey is what is known of a folder, and the task that finds out more, nil if
// there is none.
func (p *projectIndex) survey(x *Index, dir string) (s Survey, more func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, cut := p.find(x, dir)
	if at == nil {
		return Survey{Incomplete: cut}, nil
	}
	stale := p.stale(x, at, nil)
	for n := 0; n < len(stale) && n < maxListed; n++ {
		stale = append(stale, p.put(stale[n], x.list(stale[n]))...)
	}
	if len(stale) > maxListed {
		s.Incomplete = true
		more = p.task(x, stale[maxListed:])
	}
	at.collect(&s)
	return s, more
}

// project returns what is kept of a project. Which one was used least is
// forgotten when there are too many.
func (x *Index) project(root string) *projectIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.projects, func(p *projectIndex) bool { return p.root.path == root })
	var p *projectIndex
	switch {
	case i >= 0:
		p = x.projects[i]
		x.projects = slices.Delete(x.projects, i, i+1)
	default:
		// What is kept must not hold on to the message that the path came in.
		p = &projectIndex{root: &folder{path: strings.Clone(root), base: len(root)}, folders: 1}
		if len(x.projects) >= maxSurveyed {
			x.projects = slices.Delete(x.projects, 0, 1)
		}
	}
	x.projects = append(x.projects, p)
	return p
}

// projectIndex is what is kept of one project.
type projectIndex struct {
	mu      sync.Mutex
	root    *folder
	folders int  // below root, root included
	busy    bool // a task reads folders
}

// folder is what is known of one folder.
type folder struct {
	path  string
	base  int // bytes of path that are the project's root
	depth int
	// stamp is the one that the folder had before it was read, zero when it has
	// to be read again.
	stamp     Stamp
	secrets   []string // names
	links     []string // names
	subs      []*folder
	truncated bool // not all names are known, or not all folders are kept
	possible  bool // one of the names is sometimes a secret's
	gone      bool // it is no longer in the tree
}

// find returns the folder of a path. It is nil when there is none, or the path
// leads through one that is skipped, or, with cut, it is not known.
func (p *projectIndex) find(x *Index, dir string) (at *folder, cut bool) {
	at = p.root
	for rest := strings.TrimPrefix(dir[len(at.path):], "/"); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if skippedFolders[lexpath.Fold(name)] {
			return nil, false
		}
		next := at.sub(name)
		if next == nil {
			// It is new, or nobody has looked.
			p.put(at, x.list(at))
			if next = at.sub(name); next == nil {
				return nil, at.truncated
			}
		}
		at = next
	}
	return at, false
}

func (f *folder) sub(name string) *folder {
	for _, sub := range f.subs {
		if sub.path[len(sub.path)-len(name):] == name && sub.path[len(sub.path)-len(name)-1] == '/' {
			return sub
		}
	}
	return nil
}

// stale appends the folders that have to be read: they never were, or have
// changed since.
func (p *projectIndex) stale(x *Index, f *folder, list []*folder) []*folder {
	if f.stamp == (Stamp{}) {
		list = append(list, f)
	} else if now, err := x.stamper.Stamp(f.path); err != nil || now != f.stamp {
		f.stamp = Stamp{}
		list = append(list, f)
	}
	for _, sub := range f.subs {
		list = p.stale(x, sub, list)
	}
	return list
}

// collect adds what is known of the folder and all below.
func (f *folder) collect(s *Survey) {
	s.Incomplete = s.Incomplete || f.truncated || f.possible
	for _, name := range f.secrets {
		if len(s.Secrets) >= maxSecrets {
			s.Incomplete = true
			return
		}
		s.Secrets = append(s.Secrets, Joined(f.path, name))
	}
	for _, name := range f.links {
		if len(s.Links) >= maxLinked {
			s.Incomplete = true
			break
		}
		s.Links = append(s.Links, Joined(f.path, name))
	}
	for _, sub := range f.subs {
		sub.collect(s)
	}
}

// task is the reading of folders, with those that come to light on the way,
// in the background. There is one at a time.
func (p *projectIndex) task(x *Index, list []*folder) func() {
	if p.busy {
		return nil
	}
	p.busy = true
	list = slices.Clone(list)
	return func() {
		for n := 0; n < len(list) && n < maxFolders; n++ {
			// A slow disk must not make requests wait.
			found := x.list(list[n])
			p.mu.Lock()
			list = append(list, p.put(list[n], found)...)
			p.mu.Unlock()
		}
		p.mu.Lock()
		p.busy = false
		p.mu.Unlock()
	}
}

// Identity implements [Identifier].
func (x *Index) Identity(path string) (Identity, error) {
	if by, ok := x.FS.(Identifier); ok {
		return by.Identity(path)
	}
	return Identity{}, errors.ErrUnsupported
}
