package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// The rules of a project are loaded apart from those of org and the users, and from
// those of other projects: whoever works in a project can make its files change all the
// time, or lie where nothing answers, and that must not delay anybody else.

// projectLoads has a token for each project whose rules are not being loaded.
type projectLoads struct {
	mu    sync.Mutex
	free  map[layerKey]chan struct{}
	count map[layerKey]int  // that load or wait for it
	due   map[layerKey]bool // projects that are loaded in the background, by whether they must be again
}

func newProjectLoads() *projectLoads {
	return &projectLoads{free: map[layerKey]chan struct{}{}, count: map[layerKey]int{}, due: map[layerKey]bool{}}
}

// errBusy is the error of a project whose rules are being loaded for so long that nobody
// waits for it any more.
var errBusy = errors.New("loading project rules: its files keep changing, or are not answered for")

// start waits until the rules of a project are not being loaded, and returns a function
// that ends loading them. It returns nil after the deadline.
func (l *projectLoads) start(ctx context.Context, at layerKey, deadline time.Time) (end func()) {
	l.mu.Lock()
	free := l.free[at]
	if free == nil {
		free = make(chan struct{}, 1)
		free <- struct{}{}
		l.free[at] = free
	}
	l.count[at]++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.count[at]--; l.count[at] == 0 {
			delete(l.count, at)
			delete(l.free, at)
		}
	}
	select {
	case <-free:
		return func() { free <- struct{}{}; leave() }
	case <-time.After(time.Until(deadline)):
	case <-ctx.Done():
	}
	leave()
	return nil
}

// maxOrgChanges is how often loading a project begins again because org's rules have
// changed meanwhile.
const maxOrgChanges = 3

// loadProject reads the rules of a project and puts them in place. With add it does so
// for a project that is not known yet.
func (s *Store) loadProject(ctx context.Context, at layerKey, how loadOptions, add bool) error {
	if st := s.state.Load(); add && s.current(st.projects[at], st) {
		st.projects[at].used.Store(s.generation.Add(1))
		return nil
	}
	end := s.loads.start(ctx, at, how.deadline)
	if end == nil {
		return errBusy
	}
	defer end()
	for n := 1; ; n++ {
		st := s.state.Load()
		project := st.projects[at]
		if project == nil {
			if !add {
				return nil // evicted
			}
			dirs, err := source.ProjectDirs(at.project)
			if err != nil {
				return fmt.Errorf("loading project rules: %w", err)
			}
			project = &layerState{layer: decisions.Project, uid: at.uid, project: at.project, dirs: dirs, used: new(atomic.Int64)}
		}
		if add {
			project.used.Store(s.generation.Add(1))
		}
		next := s.refresh(ctx, project.withOrg(st.org), how)
		current := s.update(func(now *state) bool {
			if now.org != st.org && n < maxOrgChanges {
				return false
			}
			if add || now.projects[at] != nil {
				now.projects[at] = next
				now.evict()
			}
			return true
		})
		if current {
			return next.err()
		}
	}
}

// current reports whether a layer needs no reading: nothing has changed since it was read.
func (s *Store) current(n *layerState, st *state) bool {
	if n == nil || n.org != st.org || !n.seen.Same(looker{s.opts.Files}, pollInterval) {
		return false
	}
	if n.layer != decisions.Project {
		return true
	}
	now := s.grounds(layerKey{n.uid, n.project}, &st.switches)
	return now.same(&n.grounds)
}

// looker is the file system that folders of rules are looked at in.
type looker struct{ *mounts.FS }

func (l looker) Stamp(path string) (source.Stamp, error) {
	stamp, err := l.FS.Stamp(path)
	return source.Stamp(stamp), err
}

// loadProjects loads the rules of all projects that are known, at the same time, and
// returns when that is done.
func (s *Store) loadProjects(ctx context.Context, how loadOptions) error {
	known := s.state.Load().projects
	failed := make(chan error, len(known))
	for at := range known {
		go func() { failed <- s.loadProject(ctx, at, how, false) }()
	}
	var errs []error
	for range known {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

// update changes the state, if change returns true for a copy of it.
func (s *Store) update(change func(*state) bool) bool {
	s.changing.Lock()
	defer s.changing.Unlock()
	st := s.state.Load().clone()
	if !change(st) {
		return false
	}
	s.publish(st)
	return true
}

// loadProjectsLater loads the rules of all projects without waiting for it. It does so
// once more if it is called meanwhile.
func (s *Store) loadProjectsLater(ctx context.Context) {
	for at := range s.state.Load().projects {
		again, begin := s.loads.later(at)
		if !begin {
			continue
		}
		go func() {
			for again() {
				_ = s.loadProject(ctx, at, loadOptions{deadline: time.Now().Add(s.delays.load)}, false) // it is in the status
			}
		}()
	}
}

// later notes that a project must be loaded, and reports whether the caller has to do
// it, as long as again returns true.
func (l *projectLoads) later(at layerKey) (again func() bool, begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, running := l.due[at]
	l.due[at] = true
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.due[at] {
			delete(l.due, at)
			return false
		}
		l.due[at] = false
		return true
	}, !running
}

// evict drops the least recently used project layers: of all if there are too many, and if
// they are too large, of those that are larger than others may be.
func (st *state) evict() {
	for {
		total, keys := int64(0), slices.Collect(maps.Keys(st.projects))
		for _, n := range st.projects {
			total += n.weight()
		}
		if total > weight.MaxProjects {
			keys = slices.DeleteFunc(keys, func(at layerKey) bool { return st.projects[at].weight() <= weight.MaxProjects/maxProjects })
		} else if len(keys) <= maxProjects {
			return
		}
		delete(st.projects, slices.MinFunc(keys, func(a, b layerKey) int {
			return cmp.Compare(st.projects[a].used.Load(), st.projects[b].used.Load())
		}))
	}
}
