package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// reach says which files below a folder a program goes into.
type reach uint8

const (
	reachAll     reach = iota // grep -r, ack, cp -r, tar
	reachShown                // rg: no hidden ones, and none that git ignores
	reachVisible              // ag, rg --no-ignore: no hidden ones
	reachKept                 // agents' own searches: none that git ignores
	reachTracked              // git grep, git archive: those that git knows
	reachNamed                // only names that hold no secret
)

// goes reports whether a program with that reach goes into a file of the
// project when it is given the folder dir.
func (r *resolver) goes(as reach, root, dir, file string) bool {
	switch as {
	case reachNamed:
		return false
	case reachTracked:
		return r.tracked(root, file)
	case reachShown:
		return !r.skips(root, dir, file, true, true)
	case reachVisible:
		return !r.skips(root, dir, file, true, false)
	case reachKept:
		return !r.skips(root, dir, file, false, true)
	}
	return true
}

// passes returns a file named like a secret that a search of a folder goes into,
// "" if none is known. Where there may be one that is not known, and nothing else
// keeps the search from it, the folder is noted: see [builder.doubt].
func (r *resolver) passes(dir string, as reach) string {
	s, ok := r.fs.(Surveyor)
	if !ok || as == reachNamed {
		return ""
	}
	for _, root := range r.searched(dir) {
		in := dir
		switch {
		case lexpath.In(root, dir):
		case lexpath.In(dir, root):
			in = root
		default:
			continue
		}
		found := s.Survey(root, in)
		for _, file := range found.Secrets {
			if !lexpath.In(in, file) || !r.goes(as, root, in, file) {
				continue
			}
			// The file is looked for, and with it every folder on the way: what
			// the caller cannot get at, it shall not be told of either.
			if at, why := r.walk(rootPlace, file, false); why == "" && !at.missing || why != "" && !r.others {
				return file
			}
		}
		if found.Doubtful && as == reachAll && !slices.Contains(r.doubts, dir) {
			r.doubts = append(r.doubts, dir)
		}
	}
	return ""
}

// searched are the roots of the session, and of the working tree of the project's
// repository that a folder lies in.
func (r *resolver) searched(dir string) []string {
	roots := r.session().roots
	if slices.ContainsFunc(roots, func(root string) bool { return lexpath.In(root, dir) }) || !r.ofRepository(dir) {
		return roots
	}
	return append(slices.Clip(roots), r.treeOf(dir))
}

// search adds to the read of a folder with all below that it passes over a
// secret of the project.
func (r *resolver) search(e *Effect, as reach) {
	if e.File == nil || e.Kind != KindRead {
		return
	}
	if file := r.passes(e.File.Path, as); file != "" {
		e.Tags = e.Tags.With(Secret)
		e.Text = Display(strings.TrimSuffix(e.Text, allBelow) + allBelow + ", with " + r.name(file))
	}
}
