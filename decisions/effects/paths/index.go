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

// Surveyor is a file system that knows the names of secrets in a project without
// walking it for each call, so that the files which a search reads can be told.
type Surveyor interface {
	// Survey returns the files in dir and below whose names are those of secrets. dir
	// is root, which is a project, or lies in it. Both are absolute, cleaned and
	// resolved.
	Survey(root, dir string) Survey
}

// Survey is the result of surveying a folder with everything below it.
type Survey struct {
	Secrets []string // files with names of secrets, absolute
	// Incomplete is set if there may be others: not all folders were read, or one
	// holds a name that is sometimes that of a secret.
	Incomplete bool
	// Nested are folders below that are repositories, or may hold some: those that were
	// not read too.
	Nested []string
	// Ignores are the ignore files that are links, see [IgnoreNames].
	Ignores []string
}

// Index is a file system that caches, within bounds, which files of projects have
// names of secrets. It is safe for concurrent use.
//
// The cached content of a folder is used only while the folder has the same stamp,
// which every change of its names changes; each survey reads the stamps of all
// folders that it covers. So the result is never older than the call, with these
// exceptions, none of which allows anything that would be denied without the index,
// since the index only ever adds tags:
//
//   - A folder that changes while it is read, as any path may change between the
//     decision and the action.
//   - Kernels update stamps in steps of some milliseconds. A stamp that is hardly
//     older than the reading is not trusted, and the next survey reads the folder
//     again.
//   - A survey itself reads at most maxListed folders. The others are read in the
//     background, by one task for each project; until it is finished, and in
//     projects that exceed the bounds, surveys are incomplete. An incomplete survey
//     raises no question by itself (most projects hold no secret), but only in a
//     call that also connects to the network.
//
// If the file system has no stamps, each survey reads its folders again.
type Index struct {
	effects.FS
	stamper    stamper // nil if there are no stamps
	now        func() time.Time
	Background func(task func())

	mu       sync.Mutex
	projects []*projectIndex // in order of use, the last one is the most recent
	trees    []*linkTree     // as projects
	walking  sync.Mutex      // held while a tree is made

	choosing sync.Mutex // guards choices
	choices  map[string]shimListing

	listing  sync.Mutex // guards listings
	listings listings
}

// Bounds of an index.
const (
	maxSurveyed = 8    // projects
	maxFolders  = 1024 // of a project; reading all stamps takes about 1 ms
	maxDepth    = 16   // nested folders
	maxListed   = 64   // folders that one survey reads, which takes about 1 ms
	maxEntries  = 4096 // names of one folder
	maxSecrets  = 64   // files that one survey returns
	maxNested   = 64   // folders with repositories that one survey returns
	// maxSurvey is how long one survey reads stamps and folders: a hundred times as long
	// as the other bounds take on a local disk.
	maxSurvey = 500 * time.Millisecond
	// minStampAge is how old a stamp must be to be trusted: more than the resolution of
	// any kernel's file times. File systems that keep whole seconds, or every other one
	// (HFS+, vfat), need minCoarseAge.
	minStampAge  = 50 * time.Millisecond
	minCoarseAge = 3 * time.Second
)

// stamper is implemented by file systems that can tell whether the names in a folder
// have changed.
type stamper interface {
	Stamp(path string) (Stamp, error)
}

// Stamp differs after each change of the names in a folder.
type Stamp struct {
	Device, File uint64
	Changed      int64 // nanoseconds since 1970
}

// NewIndex returns an index of a file system's projects. now must be the clock of the
// file system's stamps.
func NewIndex(fsys effects.FS, now func() time.Time) *Index {
	x := &Index{FS: fsys, now: now, Background: func(task func()) { go task() }}
	x.stamper, _ = fsys.(stamper)
	return x
}

// Holds implements [Comparer].
func (x *Index) Holds(path string, limit int64, text string) (bool, error) {
	if by, ok := x.FS.(Comparer); ok {
		return by.Holds(path, limit, text)
	}
	data, err := x.ReadFile(path, limit)
	return string(data) == text, err
}

// Stamp returns when the names in a folder changed last.
func (x *Index) Stamp(path string) (Stamp, error) {
	if x.stamper == nil {
		return Stamp{}, errors.ErrUnsupported
	}
	return x.stamper.Stamp(path)
}

// OldStamp returns the stamp of a folder whose names have been the same for long enough
// that each later change makes another one; false if there is none.
func (x *Index) OldStamp(path string) (Stamp, bool) {
	stamp, err := x.Stamp(path)
	return stamp, err == nil && x.trusts(path, stamp)
}

// trusts reports whether each later change of the names in a folder makes another stamp
// than this one, which it has now.
func (x *Index) trusts(path string, stamp Stamp) bool {
	if !x.keepsStamps(path) {
		return false
	}
	least := minStampAge
	if stamp.Changed%int64(time.Second) == 0 {
		least = minCoarseAge
	}
	return x.now().UnixNano()-stamp.Changed > int64(least)
}

// keepsStamps reports whether the file system of a folder has stamps that change with it.
func (x *Index) keepsStamps(path string) bool {
	by, ok := x.FS.(interface{ KeepsStamps(path string) bool })
	return x.stamper != nil && (!ok || by.KeepsStamps(path))
}

// Survey implements [Surveyor].
func (x *Index) Survey(root, dir string) Survey {
	if !lexpath.In(root, dir) {
		return Survey{Incomplete: true, Nested: []string{dir}}
	}
	s, more := x.project(root).survey(x, dir)
	if more != nil {
		x.Background(more)
	}
	return s
}

// survey returns what is known of a folder, and a task that reads the rest, nil if
// there is none.
func (p *projectIndex) survey(x *Index, dir string) (s Survey, more func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, cut := p.find(x, dir)
	if at == nil {
		return Survey{Incomplete: cut, Nested: []string{dir}}, nil
	}
	end := x.now().Add(maxSurvey)
	stale, all := p.stale(x, at, nil, end)
	s.Incomplete = !all
	n := 0
	for ; n < len(stale) && n < maxListed && x.now().Before(end); n++ {
		stale = append(stale, p.put(stale[n], x.list(stale[n]))...)
	}
	if len(stale) > n {
		s.Incomplete = true
		more = p.task(x, stale[n:])
	}
	if s.Incomplete {
		s.Nested = []string{dir}
	}
	at.collect(&s, at)
	return s, more
}

// project returns the cache of a project. If there are too many, the least recently
// used one is dropped.
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
		// The copy does not keep the message alive that the path came in.
		p = &projectIndex{root: &folder{path: strings.Clone(root), base: len(root)}, folders: 1}
		if len(x.projects) >= maxSurveyed {
			x.projects = slices.Delete(x.projects, 0, 1)
		}
	}
	x.projects = append(x.projects, p)
	return p
}

// projectIndex is the cache of one project.
type projectIndex struct {
	mu      sync.Mutex
	root    *folder
	folders int  // number of folders, root included
	reading bool // a task is reading folders
}

// folder is the cache of one folder.
type folder struct {
	path  string
	base  int // length of the project's root in path, in bytes
	depth int
	// stamp is the folder's stamp from before it was read, zero if it has to be read
	// again.
	stamp   Stamp
	secrets []string // names
	skipped []string // names of folders that are not read, but those of version control
	ignores []string // names of ignore files that are links
	subs    []*folder
	// repository is set if it holds a repository of its own.
	repository bool
	truncated  bool // not all names are known, or not all folders are cached
	possible   bool // one of the names is sometimes that of a secret
	gone       bool // removed from the tree
}

// find returns the folder of a path, nil if there is none, the path leads through a
// skipped folder, or, with cut set, it is not known.
func (p *projectIndex) find(x *Index, dir string) (at *folder, cut bool) {
	at = p.root
	for rest := strings.TrimPrefix(dir[len(at.path):], "/"); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if skippedFolders.Has(lexpath.Fold(name)) {
			return nil, false
		}
		next := at.sub(name)
		if next == nil {
			// It is new, or was not read yet.
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

// stale appends the folders that have to be read, because they never were or have
// changed since. all is false if the time ended before every folder was compared.
func (p *projectIndex) stale(x *Index, f *folder, list []*folder, end time.Time) (_ []*folder, all bool) {
	if f.stamp == (Stamp{}) {
		list = append(list, f)
	} else if now, err := x.stamper.Stamp(f.path); err != nil || now != f.stamp {
		f.stamp = Stamp{}
		list = append(list, f)
	}
	for _, sub := range f.subs {
		if !x.now().Before(end) {
			return list, false
		}
		if list, all = p.stale(x, sub, list, end); !all {
			return list, false
		}
	}
	return list, true
}

// collect adds the content of the folder and everything below; from is where it began.
func (f *folder) collect(s *Survey, from *folder) {
	s.Incomplete = s.Incomplete || f.truncated || f.possible
	if f.truncated || f.repository && f != from {
		s.Nested = append(s.Nested, f.path)
	}
	for _, name := range f.skipped {
		s.Nested = append(s.Nested, Joined(f.path, name))
	}
	if len(s.Nested) > maxNested {
		s.Nested = []string{from.path}
	}
	for _, name := range f.ignores {
		s.Ignores = append(s.Ignores, Joined(f.path, name))
	}
	for _, name := range f.secrets {
		if len(s.Secrets) >= maxSecrets {
			s.Incomplete = true
			break
		}
		s.Secrets = append(s.Secrets, Joined(f.path, name))
	}
	for _, sub := range f.subs {
		sub.collect(s, from)
	}
}

// task returns a function that reads folders, and those found in them, in the
// background. There is one at a time.
func (p *projectIndex) task(x *Index, list []*folder) func() {
	if p.reading {
		return nil
	}
	p.reading = true
	list = slices.Clone(list)
	return func() {
		for n := 0; n < len(list) && n < maxFolders; n++ {
			// Reading without the lock: a slow disk must not block requests.
			found := x.list(list[n])
			p.mu.Lock()
			list = append(list, p.put(list[n], found)...)
			p.mu.Unlock()
		}
		p.mu.Lock()
		p.reading = false
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
