package paths

import "slices"

// Links returns the known links below a folder of the session, or of another working
// tree of its project.
func (r *Resolver) Links(dir string) []string {
	s, ok := r.fs.(Surveyor)
	if !ok {
		return nil
	}
	var all []string
	for root, in := range r.searchStarts(dir) {
		for _, link := range s.Survey(root, in).Links {
			if !slices.Contains(all, link) {
				all = append(all, link)
			}
		}
	}
	return all
}
