package git

import (
	"io/fs"
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// OwnChange returns what a run changes if it stages files, commits what is staged, or makes a branch
// where HEAD is, and does nothing else; ok is false for any other run. Only these forms are known
// to change nothing but git's own data: git add FILE..., of folders (git add ., -A, -u) where all that
// would be staged are ordinary files, git commit -m TEXT, git checkout -b NAME and
// git switch -c NAME.
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
		// It looks for new files, too, and so at repositories that are named among them.
		root := r.Call.Paths.Project()
		change.Commits = true
		return change, onlyMessage(words) && root != "" && !r.Call.Paths.RepositoryElsewhere(root)
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

// stagedFiles reads the words that name files and folders to stage, or say to stage all, and
// say nothing else.
func (r *Run) stagedFiles(words []effects.Word) (change settings.GitChange, ok bool) {
	all, update := false, false
options:
	for len(words) > 0 {
		switch words[0].Text {
		case "-v", "--verbose":
		case "-A", "--all":
			all = true
		case "-u", "--update":
			update = true
		case "--":
			words = words[1:]
			break options
		default:
			break options
		}
		words = words[1:]
	}
	if len(words) > maxStaged || all && update || len(words) == 0 && !all && !update {
		return change, false
	}
	folders := []string{}
	if len(words) == 0 {
		folders = append(folders, ".") // all of the working tree, wherever the run is
	}
	for i := range words {
		if folder, ok := r.stagedFolder(words[i].Text); ok {
			folders = append(folders, folder)
			continue
		}
		file, ok := r.stagedFile(words[i].Text)
		if !ok {
			change.Odd = r.odd(lexpath.Abs(r.Call.Paths.Resolved(r.Cwd, ""), words[i].Text))
			return change, false
		}
		change.Files = append(change.Files, file)
	}
	if len(folders) == 0 {
		return change, !r.takesPlaces(change.Files)
	}
	s, ok := newStaging(r, &change)
	for _, folder := range folders {
		ok = ok && s.below(folder, !update)
	}
	if !ok {
		return change, false
	}
	places := placesOf(s.root, change.Files)
	for name := range s.tracked {
		if places.have([]byte(name)) {
			return change, false
		}
	}
	return change, true
}

// stagedFile returns the file that a word names, if it is one of the project by that name only,
// which anybody may read who may read the project. Of a file that is not there, it depends on
// what git tracks.
func (r *Run) stagedFile(word string) (string, bool) {
	if !isPlainPath(word) {
		return "", false
	}
	return r.stages(word, lexpath.Abs(r.Call.Paths.Resolved(r.Cwd, ""), word))
}

// isPlainPath reports whether a word of git add is a path, however git reads it.
func isPlainPath(word string) bool {
	if word == "" || word[0] == '-' || strings.ContainsAny(word, "*?[\\:") || path.Clean(word) != strings.TrimPrefix(word, "./") {
		return false
	}
	s, ok := languages.ParsePathspec(word)
	return ok && s.Path == word
}

// stagedFolder returns the folder that a word names, by its path from the root of the working
// tree, if it is one of the project and not named through links.
func (r *Run) stagedFolder(word string) (string, bool) {
	word = strings.TrimSuffix(word, "/")
	if word != "." && !isPlainPath(word) {
		return "", false
	}
	root := r.Call.Paths.Project()
	folder := lexpath.Abs(r.Call.Paths.Resolved(r.Cwd, ""), word)
	e := r.Call.Operand(effects.KindRead, word, r.Cwd, r.From)
	if root == "" || e.File == nil || e.File.Path != folder || guarded(&e) != 0 || !r.within(folder) {
		return "", false
	}
	if mode, err := r.Call.Paths.Lstat(folder); err != nil || !mode.IsDir() {
		return "", false
	}
	if folder == root {
		return ".", true
	}
	return lexpath.RelBelow(root, folder)
}

// stages returns the file that a path names, if it is one whose content may be staged and the
// path leads to it without links, which would be to another place than want.
func (r *Run) stages(word, want string) (string, bool) {
	e := r.Call.Operand(effects.KindRead, word, r.Cwd, r.From)
	if e.File == nil || !e.Tags.Has(effects.InProject) {
		return "", false
	}
	if guarded(&e) != 0 {
		return "", false // a person sees what is committed of these
	}
	file := e.File.Path
	if file != want {
		return "", false // through a link
	}
	if mode, err := r.Call.Paths.Lstat(file); err != nil || !mode.IsRegular() || mode&effects.ModeLinked != 0 {
		return "", false
	}
	return file, r.within(path.Dir(file))
}

// odd says why a file is no ordinary one to stage, "" if that is not known.
func (r *Run) odd(file string) string {
	rel, ok := lexpath.RelBelow(r.Call.Paths.Project(), file)
	if !ok {
		return ""
	}
	rel = "./" + rel
	e := r.Call.Operand(effects.KindRead, file, "", r.From)
	mode, err := r.Call.Paths.Lstat(file)
	switch {
	case err != nil:
	case mode&fs.ModeSymlink != 0:
		return rel + ", which is a link"
	case mode&effects.ModeLinked != 0:
		return rel + ", which has other names, too"
	case guarded(&e) != 0:
		return rel + ", which is guarded: " + strings.Join(guarded(&e).Names(), ", ")
	}
	return ""
}

// within reports whether a folder is one of the project's working tree. A repository in between
// would have its files, or not take them.
func (r *Run) within(folder string) bool {
	root := r.Call.Paths.Project()
	if root == "" {
		return false
	}
	for dir := folder; dir != root; dir = path.Dir(dir) {
		if !lexpath.In(root, dir) || r.Call.Exists(path.Join(dir, ".git")) || r.Call.Exists(path.Join(dir, "HEAD")) {
			return false
		}
	}
	return true
}

// guarded returns the tags of a file for which a change of it needs an exact answer.
func guarded(e *effects.Effect) effects.Tags {
	written := effects.Effect{Kind: effects.KindWrite, Tags: e.Tags}
	return written.Guarded()
}
