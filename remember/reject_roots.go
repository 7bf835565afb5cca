package remember

import (
	"maps"
	"path"
	"path/filepath"

	"github.com/permd/permd/remember/facts"
)

// A reject for a project is about that project's files, and about runs in it. Whoever
// reaches them from elsewhere does the same to them: a session in another project or in
// none, or in a repository inside the project. The choice is therefore looked for in
// every project that the effect is in, not only in the one that the call comes from. An
// allow applies only to calls of its own project.

func (r *rejectEdit) countRoot(e *entry, n int) {
	if e.choice.Scope.Kind != ForProject {
		return
	}
	if !r.ownRoots {
		r.ownRoots, r.x.roots = true, maps.Clone(r.x.roots)
	}
	if r.x.roots == nil {
		r.x.roots = map[string]int{}
	}
	root := e.choice.Scope.Key
	if r.x.roots[root] += n; r.x.roots[root] == 0 {
		delete(r.x.roots, root)
	}
}

// searchRoots looks for rejects for projects, other than that of the call, which the
// effect is in.
func (x *rejectIndex) searchRoots(s *search) {
	switch e := s.q.Effect; {
	case e.File != nil:
		x.searchAbove(s, e.File.Path)
		if !e.File.Recursive {
			return
		}
		for root := range x.roots {
			if root != e.File.Path && facts.Within(root, e.File.Path) {
				x.searchRoot(s, root, root)
			}
		}
	case e.Run != nil:
		x.searchAbove(s, e.Run.Program)
		if e.Run.Script != nil {
			x.searchAbove(s, e.Run.Script.Path)
		}
		// In the project of the call, a run is a run in that project alone, or in one that
		// lies inside it.
		x.searchAboveUpTo(s, e.Run.Cwd, s.q.Project)
	}
}

// searchAbove looks for rejects for the projects that a path is in.
func (x *rejectIndex) searchAbove(s *search, p string) { x.searchAboveUpTo(s, p, "") }

// searchAboveUpTo leaves out the folder end, and those above it if the path lies below
// that.
func (x *rejectIndex) searchAboveUpTo(s *search, p, end string) {
	if !filepath.IsAbs(p) {
		return
	}
	inside := end != "" && facts.Within(p, end)
	if s.q.Trees != nil {
		for _, t := range s.q.Trees(p) {
			if x.roots[t.Key] > 0 && (!inside || !facts.Within(end, t.Root)) {
				x.searchRoot(s, t.Root, t.Key)
			}
		}
	}
	for !inside || p != end {
		if x.roots[p] > 0 {
			x.searchRoot(s, p, p)
		}
		if p == "/" {
			return
		}
		p = path.Dir(p)
	}
}

// searchRoot looks for rejects for the project key, as part of a call in its folder root:
// that of the main repository or of another working tree.
func (x *rejectIndex) searchRoot(s *search, root, key string) {
	if root == s.q.Project && key == s.q.Key() {
		return
	}
	q := *s.q
	q.Project, q.ProjectKey = root, key
	as := *s
	as.q, as.elsewhere = &q, true
	x.searchHere(&as)
	s.reject, s.unsure, s.part = as.reject, as.unsure, as.part
}
