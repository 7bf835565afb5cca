package runs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// How sub-commands of git print what files of the repository hold, in its
// history, its index or the working tree.
var (
	gitPrints = wordset.Fields("show diff blame annotate cat-file grep archive difftool format-patch merge-file checkout-index unpack-file")
	// These print it only when they are asked for patches.
	gitPatches = wordset.Fields("log reflog whatchanged diff-tree diff-index diff-files stash range-diff")
	// gitPatch are the options that ask for them, by their canonical names.
	gitPatch = []string{
		"--patch", "--unified", "-L", "--word-diff", "--color-words", "--binary", "--patch-with-raw", "--patch-with-stat", "--cc", "-c", "-m",
		"--function-context", "--text", "--full-index",
	}
	// gitSummaries are options with which diff and show print no patch.
	gitSummaries = []string{
		"--stat", "--numstat", "--shortstat", "--dirstat", "--compact-summary", "--summary", "--name-only", "--name-status", "--raw",
		"--no-patch", "--quiet", "--check",
	}
)

// repositorySecrets adds the reads of secrets that git prints: it takes them out
// of its own data, so that no word of the command needs to be a path that any
// other program would open. Only words that name a secret count; a diff or a log
// without one shows what was changed, and stays quiet.
func (v *invocation) repositorySecrets() {
	if len(v.subs) == 0 || v.run.Program != "git" {
		return
	}
	sub := v.subs[0]
	prints, patches := gitPrints[sub], gitPatches[sub]
	if !prints && !patches {
		return
	}
	objects := sub == "show" || sub == "cat-file" || sub == "diff" || sub == "difftool" || sub == "archive" || sub == "grep" || sub == "unpack-file"
	switch {
	case sub == "cat-file" && v.has([]string{"-t", "-s", "-e"}):
		return
	case sub == "archive" && v.has([]string{"--list"}), sub == "grep" && v.has([]string{"--files-with-matches", "--files-without-match", "--count", "--quiet"}):
		return
	case patches && !v.has(gitPatch):
		return
	}
	silent := (sub == "diff" || sub == "show") && v.has(gitSummaries) && !v.has(gitPatch)
	limited := false // to what a word names
	for n, i := range v.gitOperands() {
		w := &v.args[i]
		if v.full() {
			return
		}
		if w.Dynamic() {
			continue // it asks by itself
		}
		behind := v.dashes >= 0 && n >= v.dashes
		if sub == "grep" && n == 0 && !behind && !v.has([]string{"-e", "-f"}) {
			continue // the expression
		}
		switch file, ok := gitObject(w.Text); {
		case ok && objects && !behind:
			limited = true
			if !silent || sub == "show" {
				v.gitSecret(i, file)
			}
		case silent, sub == "archive" && n == 0:
			// No content, or the revision.
		default:
			limited = v.gitPathspec(i, w.Text, behind) || limited
		}
	}
	v.gitLines()
	if goesThrough(sub) && !limited {
		v.gitSearch(len(v.args)-1, ".")
	}
}

// goesThrough reports whether a sub-command prints all that git tracks, or what
// it finds there.
func goesThrough(sub string) bool { return sub == "grep" || sub == "archive" }

// gitOperands are the indexes of the words that are no options.
func (v *invocation) gitOperands() []int {
	if !v.unparsed {
		return v.operands
	}
	var all []int
	for i := range v.args {
		if text := v.args[i].Text; text != "" && text[0] != '-' && text != v.subs[0] {
			all = append(all, i)
		}
	}
	return all
}

// gitObject returns the path of REV:PATH; without REV, or with the number of a
// stage, it is one of the index. Braces hold dates and expressions, which may
// have colons.
func gitObject(text string) (file string, ok bool) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth > 0 {
				continue
			}
			file = text[i+1:]
			if i == 0 && file != "" && strings.IndexByte("/!^(", file[0]) >= 0 {
				return "", false // signs of a path, or a search for a message
			}
			if i == 0 && len(file) > 1 && file[0] >= '0' && file[0] <= '3' && file[1] == ':' {
				file = file[2:]
			}
			return file, file != ""
		}
	}
	return "", false
}

// gitSecret adds the read of a file of a revision, if it is named like a
// secret. Its path begins at the repository's root, unless it says otherwise.
func (v *invocation) gitSecret(i int, file string) {
	if !strings.HasPrefix(file, "./") && !strings.HasPrefix(file, "../") {
		file = v.gitRoot(file)
	}
	v.gitRead(i, file, false)
}

// gitRoot is a path from the repository's root on.
func (v *invocation) gitRoot(file string) string {
	if root := v.b.Paths.Project(); root != "" && !path.IsAbs(file) {
		return paths.Joined(root, file)
	}
	return file
}

// gitPathspec adds the read of what a word of git's stands for: a path, or a
// pattern for paths, with signs for how it is meant before it. It reports
// whether the word limits what git goes through: a revision does not, nor what
// only takes something out.
func (v *invocation) gitPathspec(i int, spec string, behind bool) bool {
	s, ok := parsePathspec(spec)
	if !ok || s.path == "" {
		return false
	}
	literal := s.literal || v.has([]string{"--literal-pathspecs"})
	if literal && !s.signs {
		s.path = spec
	}
	if s.top {
		s.path = v.gitRoot(s.path)
	}
	pattern := !literal && strings.ContainsAny(s.path, "*?[\\")
	v.gitRead(i, s.path, pattern)
	if behind || pattern || s.signs {
		return true
	}
	e := v.b.Paths.Operand(effects.KindRead, s.path, v.run.Cwd, v.at.From)
	return e.File == nil || e.Guarded() != 0 || v.Exists(e.File.Path)
}

// pathspec is a word for paths: signs such as :(top,glob) or :/ and a path.
type pathspec struct {
	path                string
	signs, top, literal bool
}

// parsePathspec reads a word; false when it takes paths out, or is none.
func parsePathspec(spec string) (s pathspec, ok bool) {
	rest, signs := strings.CutPrefix(spec, ":")
	s.signs = signs
	long, isLong := strings.CutPrefix(rest, "(")
	switch {
	case !signs:
		s.path = spec
	case isLong:
		var words string
		if words, s.path, ok = strings.Cut(long, ")"); !ok {
			return s, false
		}
		for word := range strings.SplitSeq(words, ",") {
			switch strings.TrimSpace(word) {
			case "top":
				s.top = true
			case "literal":
				s.literal = true
			case "exclude":
				return s, false
			}
		}
	default:
		for rest != "" && strings.IndexByte("/!^", rest[0]) >= 0 {
			if rest[0] != '/' {
				return s, false
			}
			s.top, rest = true, rest[1:]
		}
		s.path = strings.TrimPrefix(rest, ":")
	}
	return s, true
}

// gitRead adds the read of a path if it is guarded, or of the folder of a
// pattern that is made for names of secrets. Of another folder or pattern it
// adds the secret that git goes into.
func (v *invocation) gitRead(i int, file string, pattern bool) {
	if len(file) > paths.MaxPath {
		v.unknown(i, "a path that is too long")
		return
	}
	through := goesThrough(v.subs[0])
	if !pattern {
		e := v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From)
		switch {
		case e.File == nil:
			// It is not known, which the run's folder or an earlier part says.
		case e.Guarded() != 0:
			v.b.Add(v.via(i, e))
		case through:
			v.gitSearch(i, file)
		}
		return
	}
	dir := file[:strings.IndexAny(file, "*?[\\")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	if dir == "" {
		dir = "."
	}
	if !choosesSecrets(path.Base(file)) && !paths.Guarded.Match(lexpath.Fold("/"+strings.Trim(file, "/")), "").Has(effects.Secret) {
		if through && !v.b.Table.PlainPattern(file) {
			v.gitSearch(i, dir)
		}
		return
	}
	e := v.b.Operand(effects.KindRead, dir, v.run.Cwd, v.at.From)
	if e.File == nil {
		return
	}
	e.File.AsWritten, e.File.Recursive = file, true
	e.Tags = e.Tags.With(effects.Secret)
	e.Text = display.Display("read " + v.b.Paths.Name(e.File.Path) + " and all below named " + path.Base(file))
	v.b.Add(v.via(i, e))
}

// gitSearch adds the read of a secret that git knows below a folder.
func (v *invocation) gitSearch(i int, dir string) {
	e := v.b.Paths.Operand(effects.KindRead, dir, v.run.Cwd, v.at.From)
	if e.File == nil {
		return
	}
	if mode, err := v.b.Paths.Lstat(e.File.Path); err != nil || !mode.IsDir() {
		return
	}
	as := paths.ReachTracked
	if v.has([]string{"--untracked", "--no-exclude-standard"}) {
		as = paths.ReachAll
	}
	file := v.b.Paths.Passes(e.File.Path, as)
	if file == "" {
		return
	}
	found := v.b.Operand(effects.KindRead, file, "", v.at.From)
	if found.File != nil && found.Guarded() != 0 {
		v.b.Add(v.via(i, found))
	}
}

// gitLines adds the reads of files that -L names: RANGE:FILE.
func (v *invocation) gitLines() {
	if v.subs[0] == "blame" || v.subs[0] == "annotate" {
		return // there it is only the range
	}
	for i := range v.args {
		text, ok := strings.CutPrefix(v.args[i].Text, "-L")
		if !ok || v.args[i].Dynamic() {
			continue
		}
		at := i
		if text == "" && i+1 < len(v.args) {
			at, text = i+1, v.args[i+1].Text
		}
		if j := strings.LastIndexByte(text, ':'); j >= 0 && j+1 < len(text) {
			v.gitRead(at, text[j+1:], false)
		}
	}
}

var (
	// ownReaders go through a folder for files of their own kinds, or take what a
	// file of the project says (.dockerignore).
	ownReaders = wordset.Fields("prettier biome markdownlint markdownlint-cli2 rubocop standardrb flutter dart deno docker podman nerdctl du")
)
