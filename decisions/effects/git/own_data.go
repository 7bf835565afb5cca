package git

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// OwnChange returns what a run changes if it stages files that it names one by one, commits what
// is staged, or makes a branch where HEAD is, and does nothing else; ok is false for any
// other run. Only these forms are known to change nothing but git's own data: git add FILE...,
// git commit -m TEXT, git checkout -b NAME and git switch -c NAME.
func (r *Run) OwnChange() (change settings.GitChange, ok bool) {
	// Whatever the call changes before may be what git finds.
	if r.Unparsed || r.Call.Changes() > 0 || !r.Call.Call.Before.None() {
		return change, false
	}
	for i := range r.Args {
		if w := &r.Args[i]; w.Dynamic() || w.Glob || w.One {
			return change, false
		}
	}
	words := r.Args
	for len(words) > 1 && words[0].Text == "-C" {
		words = words[2:]
	}
	if len(words) < 2 || words[0].Text != r.Sub {
		return change, false
	}
	switch words = words[1:]; r.Sub {
	case "add":
		return r.stagedFiles(words)
	case "commit":
		change.Commits = true
		return change, onlyMessage(words)
	case "checkout":
		return newBranch(words, "-b")
	case "switch":
		return newBranch(words, "-c", "--create")
	}
	return change, false
}

// onlyMessage reports whether the words of a commit say nothing but its message.
func onlyMessage(words []effects.Word) bool {
	messages := 0
	for len(words) > 0 {
		switch {
		case words[0].Text == "-q":
			words = words[1:]
		case words[0].Text == "-m" && len(words) > 1 && words[1].Text != "":
			words = words[2:]
			messages++
		default:
			return false
		}
	}
	return messages > 0
}

// newBranch reads the words that make a branch and say nothing else. With --quiet git does not
// take the way on which it leaves the index and the working tree alone.
func newBranch(words []effects.Word, options ...string) (change settings.GitChange, ok bool) {
	if len(words) != 2 || !settings.IsPlainBranch(words[1].Text) {
		return change, false
	}
	for _, o := range options {
		if words[0].Text == o {
			return settings.GitChange{Branch: words[1].Text}, true
		}
	}
	return change, false
}

// maxStaged bounds the files that are looked at.
const maxStaged = 64

// stagedFiles reads the words that name files to stage, and say nothing else.
func (r *Run) stagedFiles(words []effects.Word) (change settings.GitChange, ok bool) {
	for len(words) > 1 && (words[0].Text == "-v" || words[0].Text == "--") {
		dashes := words[0].Text == "--"
		if words = words[1:]; dashes {
			break
		}
	}
	if len(words) > maxStaged {
		return change, false
	}
	for i := range words {
		file, ok := r.stagedFile(words[i].Text)
		if !ok {
			return change, false
		}
		change.Files = append(change.Files, file)
	}
	return change, true
}

// stagedFile returns the file that a word names, if it is one of the project by that name only,
// which anybody may read who may read the project. What git takes of a folder depends on what is
// ignored there, by rules that it reads elsewhere too; and of a file that is not there, on
// what it tracks.
func (r *Run) stagedFile(word string) (string, bool) {
	if word == "" || word[0] == '-' || strings.ContainsAny(word, "*?[\\:") || path.Clean(word) != strings.TrimPrefix(word, "./") {
		return "", false
	}
	if s, ok := languages.ParsePathspec(word); !ok || s.Path != word {
		return "", false
	}
	e := r.Call.Operand(effects.KindRead, word, r.Cwd, r.From)
	if e.File == nil || !e.Tags.Has(effects.InProject) {
		return "", false
	}
	if written := (effects.Effect{Kind: effects.KindWrite, Tags: e.Tags}); written.Guarded() != 0 {
		return "", false // a person sees what is committed of these
	}
	file, root := e.File.Path, r.Call.Paths.Project()
	if root == "" || file != lexpath.Abs(r.Call.Paths.Resolved(r.Cwd, ""), word) {
		return "", false // through a link
	}
	if mode, err := r.Call.Paths.Lstat(file); err != nil || !mode.IsRegular() || mode&effects.ModeLinked != 0 {
		return "", false
	}
	// A repository in between would have the file, or not take it.
	for dir := path.Dir(file); dir != root; dir = path.Dir(dir) {
		if !lexpath.In(root, dir) || r.Call.Exists(path.Join(dir, ".git")) || r.Call.Exists(path.Join(dir, "HEAD")) {
			return "", false
		}
	}
	return file, true
}
