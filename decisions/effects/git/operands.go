package git

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// reads returns the reads of a path of a commit, of the index or of the working tree. Git goes by
// the text of a path, in which it takes x/.. out, whatever x is (normalize_path_copy in its
// path.c); what other programs would read by that path counts as well. If that is not
// known, a path that is not straight makes the run unknown. Any other one is
// taken by its name: it may be a revision, and git follows no links in it.
func (r *Run) reads(i int, file string) []effects.Effect {
	given := []string{file}
	cleaned := r.cleaned(file)
	if !straight(file) {
		given = append(given, cleaned)
	}
	var list []effects.Effect
	for _, word := range given {
		e := r.Call.Operand(effects.KindRead, word, r.Cwd, r.From)
		if e.File == nil && !straight(file) {
			r.Into.Unknown(i, e.Why)
		}
		if e.File == nil && path.IsAbs(cleaned) {
			e = r.Call.Paths.ByName(effects.KindRead, file, cleaned, r.From)
		}
		if e.File != nil && !slices.ContainsFunc(list, func(other effects.Effect) bool { return other.File.Path == e.File.Path }) {
			list = append(list, e)
		}
	}
	return list
}

// mayBePath reports whether git may take REV:PATH for a path: if it is a pattern, the name of a
// file that exists, or has magic where all words but the first are paths.
func (r *Run) mayBePath(word string) bool {
	e := r.Call.Paths.Operand(effects.KindRead, word, r.Cwd, r.From)
	return strings.ContainsAny(word, "*?[\\") || r.Sub == "archive" && strings.HasPrefix(word, ":") || e.File != nil && r.Call.Exists(e.File.Path)
}

// straight reports whether a path is relative and only goes down, from the folder where it
// begins or one above.
func straight(file string) bool {
	rest := file
	for ok := true; ok; {
		if rest, ok = strings.CutPrefix(rest, "../"); !ok {
			rest, ok = strings.CutPrefix(rest, "./")
		}
	}
	return rest == "" || rest == "." || rest == ".." || path.Clean(rest) == strings.TrimSuffix(rest, "/") && !strings.HasPrefix(rest, "/")
}

// cleaned returns a path in the repository as git has it: without . and .., and absolute where
// the folder of the run is known.
func (r *Run) cleaned(file string) string {
	if path.IsAbs(file) || r.Cwd == "" {
		return path.Clean(file)
	}
	return lexpath.Abs(cmp.Or(r.Call.Paths.Resolved(r.Cwd, ""), r.Cwd), file)
}

// separated returns the operands without a -- that is one of them to the reader, the number of
// those before the -- that separates revisions from paths, -1 without one, and whether the
// first one is a pattern.
//
// What -- means differs: git grep passes over one that comes before it has a pattern, so that
// the pattern may follow, and another -- separates (cmd_grep in its builtin/grep.c); where no
// operand is a path, or the first one says which tree they are in, it only ends the options.
func (r *Run) separated() (operands []int, dashes int, pattern bool) {
	operands, dashes = r.operands(), r.Dashes
	switch r.Sub {
	case "cat-file", "archive", "merge-file", "unpack-file":
		return operands, -1, false
	case "grep":
		pattern = !r.has(patternOptions) && !r.mayLackPattern()
		if dashes == 0 && pattern {
			dashes = slices.IndexFunc(operands, func(i int) bool { return r.Args[i].Text == "--" })
			if dashes == 0 { // the pattern is --
				dashes = slices.IndexFunc(operands[1:], func(i int) bool { return r.Args[i].Text == "--" })
				if dashes >= 0 {
					dashes++
				}
			}
			if dashes > 0 {
				operands = slices.Delete(slices.Clone(operands), dashes, dashes+1)
			}
		}
	}
	return operands, dashes, pattern
}

// patternOptions are the options of git grep with which no operand is the pattern.
var patternOptions = []string{"-e", "--and", "--or", "--not"}

// mayLackPattern reports whether the first operand of git grep may be a pattern or a path: a
// file of patterns may hold none.
func (r *Run) mayLackPattern() bool {
	return r.Sub == "grep" && r.has([]string{"-f"}) && !r.has(patternOptions)
}

// icase is the option with which a pathspec names a file in any case.
const icase = "--icase-pathspecs"

// maxAlike bounds the names of a folder that are compared with a prefix.
const maxAlike = 4096

// relative sets the reads aside of what --relative[=PATH] limits a diff to: the files whose path
// from the top of the working tree begins with PATH, letter by letter, or those below the
// folder of the run.
func (r *Run) relative() {
	for i := range r.Args {
		w := &r.Args[i]
		word := w.Text
		if w.Dynamic() {
			word = w.Prefix
		}
		prefix, given := strings.CutPrefix(word, "--relative=")
		switch {
		case w.Dynamic() && (given || strings.HasPrefix("--relative=", word) && len(word) > len("--r")):
			r.Into.Unknown(i, "a folder that is not known before it runs")
		case word == "--relative":
			r.printsFolder(i, ".")
		case !given, prefix == "":
		default:
			r.printsAlike(i, prefix)
		}
	}
}

// printsAlike sets aside the reads of all whose path begins with a prefix: of the folder of
// that name, and of its neighbours whose names begin alike. Without such a folder it is all
// that is in the folder above.
func (r *Run) printsAlike(i int, prefix string) {
	at := r.fromRoot(path.Clean(prefix))
	mode, err := r.Call.Paths.Lstat(at)
	if err != nil || !mode.IsDir() {
		r.printsFolder(i, path.Dir(at))
		return
	}
	r.printsFolder(i, at)
	if strings.HasSuffix(prefix, "/") {
		return
	}
	entries, err := r.Call.FS.Names(path.Dir(at), maxAlike)
	if err != nil {
		r.printsFolder(i, path.Dir(at))
		return
	}
	for _, e := range entries {
		if name := e.Name(); name != path.Base(at) && strings.HasPrefix(name, path.Base(at)) {
			r.printsFolder(i, paths.Child(path.Dir(at), name))
		}
	}
}
