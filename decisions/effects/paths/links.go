package paths

import (
	"slices"

	"github.com/permd/permd/internal/lexpath"
)

// Links returns the known links below a folder of the session, or of another working
// tree of its project.
func (r *Resolver) Links(dir string) []string {
	s, ok := r.fs.(Surveyor)
	if !ok {
		return nil
	}
	var all []string
	for _, root := range r.searchRoots(dir) {
		in := dir
		switch {
		case lexpath.In(root, dir):
		case lexpath.In(dir, root):
			in = root
		default:
			continue
		}
		for _, link := range s.Survey(root, in).Links {
			if !slices.Contains(all, link) {
				all = append(all, link)
			}
		}
	}
	return all
}
