// Package git finds what git reads and obeys of its repository, for which no word has to
// be a path that other programs could open: files of the history and of the index, and
// the configuration of a repository that is not the project's.
package git

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// Run is a run of git whose words were read.
type Run struct {
	Call     *collect.Collector
	Sub      string // the sub-command
	Args     []effects.Word
	Flags    []string // by their canonical names
	Operands []int    // indices in Args
	Dashes   int      // the number of operands before --, -1 without one
	Unparsed bool     // it is not known which words are operands
	Cwd      string
	Tree     string // the top of another repository's working tree, "" for the project's
	From     string
	Into     Sink

	found *repository // by repository
}

// Sink takes what a word of a run does, by the word's index.
type Sink interface {
	Add(arg int, e effects.Effect)
	// SetAside adds an effect that may stop the call and allows nothing.
	SetAside(arg int, e effects.Effect)
	Unknown(arg int, why string)
	// Full reports whether the run has more effects than it may have.
	Full() bool
}

func (r *Run) has(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(r.Flags, f) })
}

// Secrets adds the reads of secrets that git prints from its own data, for
// which no word has to be a path that other programs could open. Only words that name
// a secret count; a diff or log without one shows changes, and does not ask. What is
// staged or committed by name is read too: the next push carries it away.
func (r *Run) Secrets() {
	sub := r.Sub
	r.compared()
	if sub == "add" || sub == "commit" {
		r.staged()
		return
	}
	prints, patches := printing.Has(sub), patching.Has(sub)
	if sub == "status" && r.has([]string{"--verbose"}) {
		// It shows what is staged and, given twice, all changes, as git diff does.
		prints, r.Dashes = true, 0
	}
	if !prints && !patches {
		return
	}
	r.copies()
	objects := sub == "show" || sub == "cat-file" || sub == "diff" || sub == "difftool" || sub == "archive" || sub == "grep" || sub == "unpack-file"
	switch {
	case sub == "cat-file" && r.has([]string{"-t", "-s", "-e"}):
		return
	case sub == "archive" && r.has([]string{"--list"}):
		return
	case patches && !r.showsContent():
		return
	}
	silent := (sub == "diff" || sub == "show") && r.has(summaryOptions) && !r.showsContent()
	if !silent && r.repository().replaces() {
		r.Into.Unknown(len(r.Args)-1, "a repository in which other objects may be in the place of those that are named")
	}
	limited := false // words limit it to some paths
	reduced := -1    // the word that excludes some
	named := false   // words name the objects to search, each with a path
	whole := false   // a word may be a whole revision
	operands, dashes, pattern := r.separated()
	for n, i := range operands {
		w := &r.Args[i]
		if r.Into.Full() {
			return
		}
		if w.Dynamic() || (w.Glob || w.One) && byName.Has(sub) {
			if !silent && (w.Prefix != "" || !w.Dynamic()) {
				r.Into.Unknown(i, "a name that may be that of any file of the history")
			}
			continue // a word of which nothing is known asks already
		}
		behind := dashes >= 0 && n >= dashes
		if n == 0 && pattern {
			continue
		}
		if !behind && (!silent || sub == "show") {
			r.unnamed(i, n)
		}
		switch _, ok := languages.GitObject(w.Text); {
		case ok && objects && !behind:
			named = true
			if !silent || sub == "show" {
				r.objects(i, w.Text)
				if r.mayBePath(w.Text) {
					r.pathspec(i, w.Text, true)
				}
			}
		case silent, sub == "archive" && n == 0:
			// No content, or only a revision.
		default:
			limits := r.pathspec(i, w.Text, behind) && (behind || dashes < 0)
			limited, whole = limited || limits, whole || !limits && !behind
			if r.excludes(w.Text) {
				reduced = i
			}
		}
	}
	if reduced >= 0 && !limited && !PrintsTracked(sub) {
		r.wholeTree(reduced)
	}
	r.lines()
	r.sets()
	if !silent {
		r.relative()
	}
	if len(operands) > 0 && !silent && r.has([]string{icase}) {
		r.printsFolder(len(r.Args)-1, r.fromRoot("."))
		r.search(len(r.Args)-1, r.fromRoot("."))
	}
	if PrintsTracked(sub) && (!limited && (!named || whole) || r.mayLackPattern()) {
		r.printsFolder(len(r.Args)-1, ".")
		r.search(len(r.Args)-1, ".")
	}
}

// staged adds the reads of secrets among what git add and git commit take from the
// working tree: what their words name and, below folders, what is not ignored.
func (r *Run) staged() {
	limited := r.Sub == "commit" // what is staged was decided when it was
	r.submodules()
	for _, i := range r.operands() {
		if r.Into.Full() {
			return
		}
		if w := &r.Args[i]; !w.Dynamic() {
			limited = r.pathspec(i, w.Text, true) || limited
		}
	}
	if !limited {
		r.printsFolder(len(r.Args)-1, r.fromRoot("."))
		r.search(len(r.Args)-1, r.fromRoot("."))
	}
}

// PrintsTracked reports whether a sub-command prints all tracked files, or what it finds
// in them.
func PrintsTracked(sub string) bool { return sub == "grep" || sub == "archive" }

// wholeFolders reports whether a word that names a folder stands for the files below.
func (r *Run) wholeFolders() bool { return PrintsTracked(r.Sub) || r.Sub == "add" || r.Sub == "commit" }

// operands returns the indices of the words that are no options.
func (r *Run) operands() []int {
	if !r.Unparsed {
		return r.Operands
	}
	var all []int
	for i := range r.Args {
		if text := r.Args[i].Text; text != "" && text[0] != '-' && text != r.Sub {
			all = append(all, i)
		}
	}
	return all
}

// objects adds the reads of the files of REV:PATH or REV:PATH..REV:PATH.
func (r *Run) objects(i int, word string) {
	for _, name := range names(word) {
		if file, ok := languages.GitObject(name); ok {
			r.object(i, file)
		}
	}
}

// object adds the read of a file in a revision, if it has the name of a secret. Its
// path is relative to the repository's root unless it begins with a dot.
func (r *Run) object(i int, file string) {
	if !strings.HasPrefix(file, "./") && !strings.HasPrefix(file, "../") {
		file = r.fromRoot(file)
	}
	for _, e := range r.reads(i, file) {
		r.shows(i, e)
		if r.wholeFolders() {
			file := *e.File
			file.Recursive = true
			e.File = &file
		}
		r.Into.SetAside(i, e)
	}
}

// fromRoot returns a path relative to the repository's root as an absolute one.
func (r *Run) fromRoot(file string) string {
	if path.IsAbs(file) {
		return file
	}
	root := r.Tree
	if where, _ := r.Call.Paths.Folder(r.Cwd); root == "" && where.Has(effects.Worktree) {
		if e := r.Call.Paths.Operand(effects.KindRead, ".", r.Cwd, r.From); e.File != nil {
			root = e.File.Tree
		}
	}
	if root = cmp.Or(root, r.Call.Paths.Project()); root != "" {
		return paths.Joined(root, file)
	}
	return file
}

// read adds the read of a path if it is guarded, or of the folder of a pattern for
// names of secrets. For another folder or pattern it adds the secrets that git reads
// there.
func (r *Run) read(i int, file string, pattern bool) {
	if len(file) > paths.MaxPath {
		r.Into.Unknown(i, "a path that is too long")
		return
	}
	through := r.wholeFolders()
	if !pattern {
		for _, e := range r.reads(i, file) {
			if e.Guarded() == 0 {
				r.printsFile(i, e, through)
			}
			r.shows(i, e)
		}
		return
	}
	if !straight(file) {
		file = r.cleaned(file) // which git matches
	}
	if !strings.ContainsAny(file, "*?[\\") {
		r.read(i, file, false)
		return
	}
	dir := file[:strings.IndexAny(file, "*?[\\")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	if dir == "" {
		dir = "."
	}
	for _, e := range r.reads(i, dir) {
		e.File.Recursive = true
		r.Into.SetAside(i, e)
	}
	if !paths.ChoosesSecrets(path.Base(file)) && !paths.Guarded().Match(lexpath.Fold("/"+strings.Trim(file, "/")), "").Has(effects.Secret) {
		if through && !r.Call.Table.PlainPattern(file) {
			r.search(i, dir)
		}
		return
	}
	e := r.Call.Operand(effects.KindRead, dir, r.Cwd, r.From)
	if e.File == nil {
		return
	}
	e.File.AsWritten, e.File.Recursive = file, true
	e.Tags = e.Tags.With(effects.Secret)
	e.Text = display.Display("read " + r.Call.Paths.Name(e.File.Path) + " and all below named " + path.Base(file))
	r.Into.Add(i, e)
}

// shows adds a read if it is guarded, or of the secrets that git reads in its folder.
func (r *Run) shows(i int, e effects.Effect) {
	switch {
	case e.Guarded() != 0:
		r.Into.Add(i, e)
	case r.wholeFolders():
		r.search(i, e.File.Path)
	}
}

// printsFile sets aside the read of a word that git may take for a path. One that does
// not exist is rather a revision, unless it is given as a path of an earlier revision.
func (r *Run) printsFile(i int, e effects.Effect, through bool) {
	mode, err := r.Call.Paths.Lstat(e.File.Path)
	if err != nil && r.Dashes < 0 && !through {
		return
	}
	e.File.Recursive = err == nil && mode.IsDir()
	r.Into.SetAside(i, e)
}

// printsFolder sets aside the read of the tracked files below a folder.
func (r *Run) printsFolder(i int, dir string) {
	e := r.Call.Operand(effects.KindRead, dir, r.Cwd, r.From)
	if e.File == nil {
		at := r.cleaned(dir)
		if !path.IsAbs(at) {
			return // the folder of the run has the reason
		}
		e = r.Call.Paths.ByName(effects.KindRead, dir, at, r.From)
	}
	e.File.Recursive = true
	r.Into.SetAside(i, e)
}

// search adds the read of a secret below a folder: of a tracked one, which may be ignored, and for
// git add of one that is not ignored.
func (r *Run) search(i int, dir string) {
	e := r.Call.Paths.Operand(effects.KindRead, dir, r.Cwd, r.From)
	if e.File == nil {
		return
	}
	if mode, err := r.Call.Paths.Lstat(e.File.Path); err != nil || !mode.IsDir() {
		return
	}
	as := paths.ReachTracked
	if r.has([]string{"--untracked", "--no-exclude-standard"}) {
		as = paths.ReachAll
	}
	file := r.Call.Paths.Passes(e.File.Path, as, nil)
	if file == "" && r.Sub == "add" && !r.has([]string{"--update"}) {
		file = r.Call.Paths.Passes(e.File.Path, paths.ReachKept, nil)
	}
	if file == "" {
		return
	}
	found := r.Call.Operand(effects.KindRead, file, "", r.From)
	if found.File != nil && found.Guarded() != 0 {
		r.Into.Add(i, found)
	}
}

// lines adds the reads of the files in -L RANGE:FILE.
func (r *Run) lines() {
	if r.Sub == "blame" || r.Sub == "annotate" {
		return // these have only the range
	}
	for i := range r.Args {
		text, ok := strings.CutPrefix(r.Args[i].Text, "-L")
		if !ok || r.Args[i].Dynamic() {
			continue
		}
		at := i
		if text == "" && i+1 < len(r.Args) {
			at, text = i+1, r.Args[i+1].Text
		}
		if j := strings.LastIndexByte(text, ':'); j >= 0 && j+1 < len(text) {
			r.read(at, text[j+1:], false)
		}
	}
}
