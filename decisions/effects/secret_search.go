package effects

import (
	"path"
	"slices"
	"strings"
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
		case inside(root, dir):
		case inside(dir, root):
			in = root
		default:
			continue
		}
		found := s.Survey(root, in)
		for _, file := range found.Secrets {
			if !inside(in, file) || !r.goes(as, root, in, file) {
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
	if slices.ContainsFunc(roots, func(root string) bool { return inside(root, dir) }) || !r.ofRepository(dir) {
		return roots
	}
	return append(slices.Clip(roots), r.treeOf(dir))
}

// doubt asks for a person when a call reaches the network and searches a folder
// of which it is not known whether a secret lies in it. By itself such a search
// is quiet: nearly all are harmless, and what it finds stays with the agent.
func (b *builder) doubt() {
	if len(b.res.doubts) == 0 || !slices.ContainsFunc(b.effects, func(e Effect) bool {
		return e.Kind == KindConnect && !e.Tags.Has(Loopback)
	}) {
		return
	}
	for i := range b.effects {
		if e := &b.effects[i]; e.Kind == KindRead && e.File != nil && e.File.Recursive && slices.Contains(b.res.doubts, e.File.Path) && !e.Tags.Has(Secret) {
			b.unknown(e.From, "a search that may pass over a secret, in a call that reaches the network")
			return
		}
	}
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

// reach is how far a search goes: narrow says that it goes only into names that
// hold no secret, hidden that it goes into hidden ones.
func (v *invocation) reach(narrow, hidden bool) reach {
	switch {
	case narrow, ownReaders[v.run.Program]:
		return reachNamed
	case !v.p.skipsHidden:
		return reachAll
	case !searchers[v.run.Program]:
		return reachNamed
	case hidden, v.b.changesIgnores():
		return reachAll
	case v.run.Program != "rg", v.has(unignoring):
		// How ag reads ignore files is its own affair.
		return reachVisible
	}
	return reachShown
}

// unignoring are the options with which rg leaves out less than git does.
var unignoring = []string{
	"--no-ignore", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-files", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-vcs",
	"--no-require-git", "--ignore-file-case-insensitive",
}

// changesIgnores reports whether an earlier part of the call, or an earlier call,
// may change what ignore files say.
func (b *builder) changesIgnores() bool {
	return b.mayChange(func(w string) bool {
		dir, tree := strings.CutSuffix(w, "/")
		base := path.Base(dir)
		return tree || slices.Contains(ignoreNames, base) || base == "exclude" || base == "ignore" || strings.Contains(base, "gitconfig") || base == "config"
	})
}

var (
	// searchers leave hidden names out and print what they find. Other programs
	// that leave them out are checkers of code.
	searchers = wordSet("rg ag")
	// ownReaders go through a folder for files of their own kinds, or take what a
	// file of the project says (.dockerignore).
	ownReaders = wordSet("prettier biome markdownlint markdownlint-cli2 rubocop standardrb flutter dart deno docker podman nerdctl du")
)

// findsPlain reports whether find's expression lets only files with names that
// hold no secret come to the command at i: each alternative of the expression
// names such files, and does so before the command.
func (v *invocation) findsPlain(i int) bool {
	begin := 0
	if n := len(v.operands); n > 0 {
		begin = v.operands[n-1] + 1
	}
	named, negated := false, false
	for j := begin; j < len(v.args); j++ {
		text := v.args[j].text
		switch text {
		case "!", "-not":
			negated = true
			if j+1 < len(v.args) && (v.args[j+1].text == "(" || v.args[j+1].dynamic()) {
				return false
			}
			continue
		case "-o", "-or", ",":
			if !named {
				return false
			}
			named = false
		case "-name", "-iname":
			if j++; j >= len(v.args) || v.args[j].dynamic() {
				return false
			}
			named = named || !negated && v.b.table.plainPattern(v.args[j].text)
		case "-exec", "-execdir", "-ok", "-okdir":
			if !named {
				return false
			}
			for j++; j < len(v.args) && v.args[j].text != ";" && (v.args[j].text != "+" || v.args[j-1].text != "{}"); j++ {
				continue
			}
		default:
			if o := v.p.options[text]; o != nil && o.arity != arityNone {
				j++ // its value is no part of the expression
			}
		}
		negated = false
	}
	return named && begin <= i
}
