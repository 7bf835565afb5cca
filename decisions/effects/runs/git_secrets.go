package runs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// The sub-commands of git that print the content of files, from the history, the index
// or the working tree.
var (
	gitPrints = wordset.Fields("show diff blame annotate cat-file grep archive difftool format-patch merge-file checkout-index unpack-file")
	// These print it only if patches are requested.
	gitPatches = wordset.Fields("log reflog whatchanged diff-tree diff-index diff-files stash range-diff")
	// gitPatch are the options that request them, by their canonical names.
	gitPatch = []string{
		"--patch", "--unified", "-L", "--word-diff", "--color-words", "--binary", "--patch-with-raw", "--patch-with-stat", "--cc", "-c", "-m",
		"--function-context", "--text", "--full-index",
	}
	// gitSummaries are the options with which diff and show print no patch.
	gitSummaries = []string{
		"--stat", "--numstat", "--shortstat", "--dirstat", "--compact-summary", "--summary", "--name-only", "--name-status", "--raw",
		"--no-patch", "--quiet", "--check",
	}
)

// repositorySecrets adds the reads of secrets that git prints from its own data, for
// which no word has to be a path that other programs could open. Only words that name
// a secret count; a diff or log without one shows changes, and does not ask.
func (v *invocation) repositorySecrets() {
	if len(v.subs) == 0 || v.run.Program != "git" {
		return
	}
	sub := v.subs[0]
	prints, patches := gitPrints.Has(sub), gitPatches.Has(sub)
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
	limited := false // words limit it to some paths
	for n, i := range v.gitOperands() {
		w := &v.args[i]
		if v.full() {
			return
		}
		if w.Dynamic() {
			continue // it already asks
		}
		behind := v.dashes >= 0 && n >= v.dashes
		if sub == "grep" && n == 0 && !behind && !v.has([]string{"-e", "-f"}) {
			continue // the pattern
		}
		switch file, ok := languages.GitObject(w.Text); {
		case ok && objects && !behind:
			limited = true
			if !silent || sub == "show" {
				v.gitSecret(i, file)
			}
		case silent, sub == "archive" && n == 0:
			// No content, or only a revision.
		default:
			limited = v.gitPathspec(i, w.Text, behind) || limited
		}
	}
	v.gitLines()
	if printsTracked(sub) && !limited {
		v.printsFolder(len(v.args)-1, ".")
		v.gitSearch(len(v.args)-1, ".")
	}
}

// printsTracked reports whether a sub-command prints all tracked files, or what it finds
// in them.
func printsTracked(sub string) bool { return sub == "grep" || sub == "archive" }

// gitOperands returns the indices of the words that are no options.
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

// gitSecret adds the read of a file in a revision, if it has the name of a secret. Its
// path is relative to the repository's root unless it begins with a dot.
func (v *invocation) gitSecret(i int, file string) {
	if !strings.HasPrefix(file, "./") && !strings.HasPrefix(file, "../") {
		file = v.gitRoot(file)
	}
	v.setAside(i, v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From))
	v.gitRead(i, file, false)
}

// gitRoot returns a path relative to the repository's root as an absolute one.
func (v *invocation) gitRoot(file string) string {
	if root := v.b.Paths.Project(); root != "" && !path.IsAbs(file) {
		return paths.Joined(root, file)
	}
	return file
}

// gitPathspec adds the reads of a word that is a pathspec: a path or a pattern,
// possibly with magic. It reports whether the word limits the paths that git reads: a
// revision does not, nor does an exclusion.
func (v *invocation) gitPathspec(i int, spec string, behind bool) bool {
	s, ok := languages.ParsePathspec(spec)
	if !ok || s.Path == "" {
		return false
	}
	literal := s.Literal || v.has([]string{"--literal-pathspecs"})
	if literal && !s.Signs {
		s.Path = spec
	}
	if s.Top {
		s.Path = v.gitRoot(s.Path)
	}
	pattern := !literal && strings.ContainsAny(s.Path, "*?[\\")
	v.gitRead(i, s.Path, pattern)
	if behind || pattern || s.Signs {
		return true
	}
	e := v.b.Paths.Operand(effects.KindRead, s.Path, v.run.Cwd, v.at.From)
	return e.File == nil || e.Guarded() != 0 || v.Exists(e.File.Path)
}

// gitRead adds the read of a path if it is guarded, or of the folder of a pattern for
// names of secrets. For another folder or pattern it adds the secrets that git reads
// there.
func (v *invocation) gitRead(i int, file string, pattern bool) {
	if len(file) > paths.MaxPath {
		v.unknown(i, "a path that is too long")
		return
	}
	through := printsTracked(v.subs[0])
	if !pattern {
		e := v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From)
		switch {
		case e.File == nil:
			// Unknown: the run's folder or an earlier part of the call has the reason.
		case e.Guarded() != 0:
			v.b.Add(v.via(i, e))
		default:
			v.printsFile(i, e, through)
			if through {
				v.gitSearch(i, file)
			}
		}
		return
	}
	dir := file[:strings.IndexAny(file, "*?[\\")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	if dir == "" {
		dir = "."
	}
	v.printsFolder(i, dir)
	if !paths.ChoosesSecrets(path.Base(file)) && !paths.Guarded().Match(lexpath.Fold("/"+strings.Trim(file, "/")), "").Has(effects.Secret) {
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

// printsFile sets aside the read of a word that git may take for a path. One that does
// not exist is rather a revision, unless it is given as a path of an earlier revision.
func (v *invocation) printsFile(i int, e effects.Effect, through bool) {
	mode, err := v.b.Paths.Lstat(e.File.Path)
	if err != nil && v.dashes < 0 && !through {
		return
	}
	e.File.Recursive = err == nil && mode.IsDir()
	v.setAside(i, e)
}

// printsFolder sets aside the read of the tracked files below a folder.
func (v *invocation) printsFolder(i int, dir string) {
	e := v.b.Operand(effects.KindRead, dir, v.run.Cwd, v.at.From)
	if e.File != nil {
		e.File.Recursive = true
	}
	v.setAside(i, e)
}

// gitSearch adds the read of a tracked secret below a folder.
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

// gitLines adds the reads of the files in -L RANGE:FILE.
func (v *invocation) gitLines() {
	if v.subs[0] == "blame" || v.subs[0] == "annotate" {
		return // these have only the range
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
	// ownReaders read the files of a folder by their own selection, or according to a
	// file of the project (.dockerignore).
	ownReaders = wordset.Fields("prettier biome markdownlint markdownlint-cli2 rubocop standardrb flutter dart deno docker podman nerdctl du")
)
