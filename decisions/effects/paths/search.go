package paths

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/lexpath"
)

// Reach is the set of files below a folder that a program reads.
type Reach uint8

const (
	ReachAll     Reach = iota // grep -r, ack, cp -r, tar
	ReachShown                // rg: no hidden and no ignored files
	ReachVisible              // ag, rg --no-ignore: no hidden files
	ReachKept                 // agents' own searches: no ignored files
	ReachTracked              // git grep, git archive: tracked files
	ReachNamed                // only names that are not those of secrets
)

// searchEnters reports whether a program with that reach, given the folder dir, reads a
// file of the project.
func (r *Resolver) searchEnters(as Reach, root, dir, file string) bool {
	switch as {
	case ReachNamed:
		return false
	case ReachTracked:
		return r.tracked(root, file)
	case ReachShown:
		return !r.skips(root, dir, file, true, true)
	case ReachVisible:
		return !r.skips(root, dir, file, true, false)
	case ReachKept:
		return !r.skips(root, dir, file, false, true)
	case ReachAll:
	}
	return true
}

// Passes returns a file with the name of a secret that a search of a folder reads, ""
// if none is known; of a search of files whose names end with one of ends, if there are any.
// If there may be one that is not known, the folder is added to UncertainSearches.
func (r *Resolver) Passes(dir string, as Reach, ends []string) string {
	file, uncertain := r.passes(dir, as, ends)
	if uncertain && as == ReachAll && !slices.Contains(r.UncertainSearches, dir) {
		r.UncertainSearches = append(r.UncertainSearches, dir)
	}
	return file
}

// passes is Passes; uncertain is set if there may be such a file that is not known.
func (r *Resolver) passes(dir string, as Reach, ends []string) (file string, uncertain bool) {
	s, ok := r.fs.(Surveyor)
	if !ok || as == ReachNamed {
		return "", false
	}
	for root, in := range r.searchStarts(dir) {
		found := s.Survey(root, in)
		for _, file := range found.Secrets {
			if !lexpath.In(in, file) || !HasEnd(file, ends) || !r.searchEnters(as, root, in, file) {
				continue
			}
			// Walk checks every folder on the way: the caller must not learn of files that
			// it cannot reach.
			if at, why := r.Walk(RootPlace, file, false); why == "" && !at.Missing || why != "" && !r.Others {
				return file, uncertain
			}
		}
		uncertain = uncertain || found.Incomplete
	}
	return "", uncertain
}

// MayHoldRepository reports whether there may be a repository in a folder or below that is
// not that of the project's root and is not ignored.
func (r *Resolver) MayHoldRepository(dir string) bool {
	s, ok := r.fs.(Surveyor)
	if !ok {
		return false
	}
	for root, in := range r.searchStarts(dir) {
		if _, err := r.Lstat(Joined(in, ".git")); in != root && err == nil {
			return true
		}
		for _, nested := range s.Survey(root, in).Nested {
			if nested == in || !r.skips(root, in, nested+"/.git", false, true) {
				return true
			}
		}
	}
	return false
}

// RepositoryElsewhere reports whether a .git below a folder, which is not ignored, is known to lead
// out of the folder: git looks at the repository there when it looks for new files.
func (r *Resolver) RepositoryElsewhere(dir string) bool {
	s, ok := r.fs.(Surveyor)
	if !ok {
		return false
	}
	for root, in := range r.searchStarts(dir) {
		for _, nested := range s.Survey(root, in).Nested {
			link := Joined(nested, ".git")
			mode, err := r.Lstat(link)
			if err != nil || nested == dir || mode.IsDir() || r.skips(root, in, link, false, true) {
				continue
			}
			if to, ok := GitLine(r.fs, link, GitFile); !ok || !lexpath.In(dir, lexpath.Abs(nested, to)) {
				return true
			}
		}
	}
	return false
}

// searchStarts returns the roots that a search of a folder goes through, each with the
// folder in it where the search begins.
func (r *Resolver) searchStarts(dir string) iter.Seq2[string, string] {
	return func(yield func(root, in string) bool) {
		for _, root := range r.searchRoots(dir) {
			in := dir
			switch {
			case lexpath.In(root, dir):
			case lexpath.In(dir, root):
				in = root
			default:
				continue
			}
			if !yield(root, in) {
				return
			}
		}
	}
}

// searchRoots returns the roots of the session, and that of the working tree of the
// project's repository that a folder lies in.
func (r *Resolver) searchRoots(dir string) []string {
	roots := r.Session().roots
	if slices.ContainsFunc(roots, func(root string) bool { return lexpath.In(root, dir) }) || !r.inOtherTree(dir) {
		return roots
	}
	return append(slices.Clip(roots), r.treeOf(dir))
}

// Search adds the tags to a recursive read if it reads a secret of the project.
func (r *Resolver) Search(e *effects.Effect, as Reach) {
	if e.File == nil || e.Kind != effects.KindRead {
		return
	}
	r.passing(e, r.Passes(e.File.Path, as, nil))
}

// SearchEnding is Search for a program that reads only files whose names end with one of ends.
// Tags of the folder itself (a home, the root) are added without listing it.
func (r *Resolver) SearchEnding(e *effects.Effect, as Reach, ends []string) {
	if at, err := r.Lstat(e.File.Path); err != nil || !at.IsRegular() {
		r.RecurseTracked(e)
		r.passing(e, r.Passes(e.File.Path, as, ends))
	}
}

// HasEnd reports whether the name of a file ends with one of ends, which are in lower case.
// "" is the end of a name without a dot. Without ends, every name does.
func HasEnd(file string, ends []string) bool {
	name := lexpath.Fold(path.Base(file))
	return len(ends) == 0 || slices.ContainsFunc(ends, func(end string) bool {
		return end != "" && strings.HasSuffix(name, end) || end == "" && !strings.Contains(name, ".")
	})
}

// passing adds the tags if a read passes over a file with the name of a secret.
func (r *Resolver) passing(e *effects.Effect, file string) {
	if file != "" {
		e.Tags = e.Tags.With(effects.Secret)
		e.Text = display.Display(strings.TrimSuffix(e.Text, allBelow) + allBelow + ", with " + r.Name(file))
	}
}

// ChoosesSecrets reports whether a pattern is meant for names of secrets: .env*, *.pem,
// or hidden names in general.
func ChoosesSecrets(name string) bool {
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune("*?[]{}\\", c) {
			return -1
		}
		return c
	}, name)
	switch {
	case plain == "":
		return false
	case strings.HasPrefix(plain, ".") && plain != name && !strings.HasPrefix(name, "*"):
		return true
	}
	return Guarded().Match(lexpath.Fold("/"+plain), "").Has(effects.Secret) || Guarded().Match(lexpath.Fold("/x"+plain), "").Has(effects.Secret)
}

// Alternatives returns the patterns that a pattern with one list in braces expands to;
// more than one list is not supported.
func Alternatives(pattern string) []string {
	head, rest, ok := strings.Cut(pattern, "{")
	list, tail, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.ContainsAny(list+tail, "{}") {
		return []string{pattern}
	}
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		all = append(all, head+name+tail)
	}
	return all
}
