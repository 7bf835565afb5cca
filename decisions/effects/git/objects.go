package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// takesObjects are the sub-commands that print what an object holds, whichever file that
// was, or take a tree that may be one of any folder.
var takesObjects = wordset.Fields("show cat-file diff difftool diff-tree diff-index grep archive")

// unnamed adds the read of all tracked files for a word that may name an object other than a
// commit: the hash of a blob may be that of any file, and TREE:path may be in any directory.
func (r *Run) unnamed(i, n int) {
	if !takesObjects.Has(r.Sub) || r.Sub == "archive" && n > 0 {
		return
	}
	word := r.Args[i].Text
	alone := r.Sub == "cat-file" || r.Sub == "archive" || r.Dashes >= 0
	sides := []string{word}
	if a, b, ok := strings.Cut(word, ".."); ok {
		// git takes A..B for two revisions first, and HEAD:../x for a path if there is none.
		sides = append(sides, a, strings.TrimPrefix(b, "."))
	}
	repository := r.repository()
	for _, side := range sides {
		if hash := describedIn(side); hash != "" {
			if kind := repository.kind(hash); kind != "commit" && (kind != "" || repository.mayHave(hash)) {
				r.prints(i, kind)
				return
			}
		}
		base, certain := revision(side)
		if certain || base == "" && len(sides) > 1 {
			continue
		}
		if hash := hashIn(base); hash == "" && !alone && base == side {
			if e := r.Call.Paths.Operand(effects.KindRead, side, r.Cwd, r.From); e.File != nil && r.Call.Exists(e.File.Path) {
				continue // git refuses a word that is both a path and a revision
			}
		}
		if kind := repository.kindOf(base); kind != "commit" {
			r.prints(i, kind)
			return
		}
	}
}

// prints adds the reads of all tracked files, of which an object of a kind other than a commit may be
// any. A file may be one of an earlier commit as well, or one that is in none.
func (r *Run) prints(i int, kind string) {
	top := r.fromRoot(".")
	r.printsFolder(i, top)
	r.search(i, top)
	// git show of a commit in a large pack is common, and its kind is not known. That it may print a
	// file of the history is no more than git log -p does.
	if kind == "blob" || kind == "" && r.Sub == "cat-file" {
		r.Into.Unknown(i, "an object that may be any file of the history")
	}
}

// Bounds of what is read to tell whether a name is that of a commit, in bytes.
const (
	maxLoose = 1 << 16
	maxLog   = 1 << 20
	maxGraph = 16 << 20
	maxPlace = 4096 // names in a folder of objects
)

// repository is the folder of a working tree in a repository, "" if there is no project, and that
// of the repository, "" if it is not known.
type repository struct {
	fs          effects.FS
	own, common string
	packs       *packedRefs // nil if they were not read
}

// repository returns the repository of the run's working tree, which is looked for once. What it says
// proves only that a hash is one of a commit, which it is in each repository.
func (r *Run) repository() *repository {
	if r.found == nil {
		r.found = r.findRepository()
	}
	return r.found
}

func (r *Run) findRepository() *repository {
	g := &repository{fs: r.Call.FS}
	root := r.fromRoot(".")
	if root == "." || g.fs == nil {
		return g
	}
	root = path.Clean(root)
	g.own = paths.Child(root, ".git")
	if missing(g.fs, g.own) {
		for dir := root; dir != "/"; {
			if dir = path.Dir(dir); !missing(g.fs, paths.Child(dir, ".git")) {
				return g // git may take that one
			}
		}
	}
	if dir, ok := paths.GitLine(g.fs, g.own, paths.GitFile); ok {
		g.own = lexpath.Abs(path.Dir(g.own), dir)
	}
	switch dir, ok := paths.GitLine(g.fs, path.Join(g.own, "commondir"), ""); {
	case ok:
		g.common = lexpath.Abs(g.own, dir)
	case missing(g.fs, path.Join(g.own, "commondir")):
		g.common = g.own
	}
	return g
}

// missing reports whether a file is certainly not there.
func missing(fsys effects.FS, file string) bool {
	_, err := fsys.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// kindOf returns the kind of the object that a name leads to, noObject if there is none, "" if it is not known. It is a commit
// of a hash if an object, a log or a list of commits says so, of what is no reference, and
// of a reference if it leads to a commit.
func (g *repository) kindOf(name string) string {
	hash := hashIn(name)
	switch {
	case name == "", g.own != "" && g.common == "":
		return ""
	case name == "HEAD":
		return "commit"
	case hash != "" && (len(name) == 40 || len(name) == 64):
		return g.kindOfHash(hash)
	case strings.ContainsRune(name, '^'), strings.HasPrefix(name, "main-worktree/"), strings.HasPrefix(name, "worktrees/"):
		return ""
	}
	// Git prefers a reference to a hash that is not whole, and takes the first that there is.
	for _, place := range []string{"%", "refs/%", "refs/tags/%", "refs/heads/%", "refs/remotes/%", "refs/remotes/%/HEAD"} {
		found, last, ok := g.resolve(strings.Replace(place, "%", name, 1))
		switch {
		case !ok:
			return ""
		case found == "":
			continue
		}
		kind := g.kind(found)
		switch {
		case kind != "":
		case strings.HasPrefix(last, "refs/heads/"):
			// Git sets those to commits alone, but somebody may have written the file by hand.
			return "commit"
		case strings.HasPrefix(last, "refs/remotes/"), last == "refs/stash":
			// git fetch and git stash set those to commits, git update-ref to anything.
			if g.beyond(found) {
				return "commit"
			}
		}
		return kind
	}
	if hash == "" {
		return "commit"
	}
	return g.kindOfHash(hash)
}

// noObject is the kind of what is certainly in no place where git looks for objects: it refuses the name.
const noObject = "none"

// kindOfHash is kind, but noObject for what the repository certainly does not have.
func (g *repository) kindOfHash(hash string) string {
	kind := g.kind(hash)
	if kind == "" && !g.mayHave(hash) {
		return noObject
	}
	return kind
}

// maxSymbolic is how many references git follows from one to another.
const maxSymbolic = 5

// resolve returns the hash of the object that a reference leads to, and the last reference on the
// way. The hash is "" if there is none; ok is false if that is not known.
func (g *repository) resolve(ref string) (hash, last string, ok bool) {
	for range maxSymbolic {
		if lexpath.Abs("/", ref) != "/"+ref {
			return "", ref, true // git refuses the name
		}
		file := g.own + "/" + ref
		if strings.HasPrefix(ref, "refs/") && !strings.HasPrefix(ref, "refs/bisect/") && !strings.HasPrefix(ref, "refs/worktree/") && !strings.HasPrefix(ref, "refs/rewritten/") {
			file = g.common + "/" + ref
		}
		text, err := g.read(file, maxLoose)
		if err != nil {
			if !g.free(file) {
				return "", ref, false
			}
			hash, ok = g.packed(ref)
			return hash, ref, ok
		}
		line := strings.TrimSpace(string(text))
		to, symbolic := strings.CutPrefix(line, "ref:")
		if !symbolic {
			hash, _, _ = strings.Cut(line, "\t")
			return hash, ref, isHash(hash)
		}
		ref = strings.TrimSpace(to)
	}
	return "", ref, false
}

// free reports whether a file is certainly not there, or is a folder.
func (g *repository) free(file string) bool {
	mode, err := g.fs.Lstat(file)
	return err == nil && mode.IsDir() || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// packed returns the hash of a packed reference, of the commit or file if it is that of a tag
// that git has followed; "" if there is none. ok is false if that is not known.
func (g *repository) packed(name string) (hash string, ok bool) {
	text, ok := g.packedRefs()
	if !ok {
		return "", false
	}
	before, rest, found := bytes.Cut(text, []byte(" "+name+"\n"))
	if !found {
		return "", true
	}
	hash = string(before[bytes.LastIndexByte(before, '\n')+1:])
	if peeled, isTag := bytes.CutPrefix(rest, []byte("^")); isTag {
		peeled, _, _ = bytes.Cut(peeled, []byte("\n"))
		hash = string(peeled)
	}
	return hash, isHash(hash)
}

// leads reports whether an object is a commit or the tag of one.
func (g *repository) leads(hash string) bool { return g.kind(hash) == "commit" }

// kind returns the kind of an object, or of what it is a tag of, "" if it is not known.
func (g *repository) kind(hash string) string {
	for range 4 {
		head := g.object(hash)
		switch kind, _, _ := strings.Cut(head, " "); kind {
		case "tag":
			_, body, _ := strings.Cut(head, "object ")
			hash, _, _ = strings.Cut(body, "\n")
		case "":
			if isHash(hash) && (g.logged(hash) || g.inGraph(hash)) {
				return "commit"
			}
			return ""
		default:
			return kind
		}
	}
	return "tag"
}

// object returns the beginning of an object whose hash begins as given: its kind, and of a tag
// what it is one of; "" if that is not known. A name that several objects have is refused
// by git.
func (g *repository) object(hash string) string {
	if g.common == "" || !isHash(hash) {
		return ""
	}
	dir := path.Join(g.common, "objects", hash[:2])
	name := hash[2:]
	if len(hash) != 40 && len(hash) != 64 {
		entries, err := g.fs.Names(dir, maxPlace)
		if err != nil {
			return g.inPack(hash)
		}
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), hash[2:]) })
		if i < 0 {
			return g.inPack(hash)
		}
		name = entries[i].Name()
	}
	data, err := g.read(path.Join(dir, name), maxLoose)
	if err != nil {
		return g.inPack(hash)
	}
	return inflated(data)
}

// logged reports whether the log of HEAD has a commit whose hash begins as given.
func (g *repository) logged(hash string) bool {
	for _, dir := range []string{g.own, g.common} {
		text, err := g.read(dir+"/logs/HEAD", maxLog)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			before, rest, _ := strings.Cut(line, " ")
			after, _, _ := strings.Cut(rest, " ")
			if strings.HasPrefix(before, hash) || strings.HasPrefix(after, hash) {
				return true
			}
		}
	}
	return false
}

// inGraph reports whether the list of commits that git keeps has one whose hash begins as
// given (gitformat-commit-graph(5)).
func (g *repository) inGraph(hash string) bool {
	if g.common == "" {
		return false
	}
	info := path.Join(g.common, "objects/info")
	files := []string{info + "/commit-graph"}
	if list, err := g.read(info+"/commit-graphs/commit-graph-chain", maxLoose); err == nil {
		for name := range strings.FieldsSeq(string(list)) {
			if isHash(name) {
				files = append(files, info+"/commit-graphs/graph-"+name+".graph")
			}
		}
	}
	for _, file := range files {
		data, err := g.read(file, maxGraph)
		if err == nil && graphHas(data, hash) {
			return true
		}
	}
	return false
}

// graphHas reports whether a commit graph has a commit whose hash begins as given.
func graphHas(data []byte, hash string) bool {
	if len(data) < 8 || string(data[:4]) != "CGPH" || data[4] != 1 {
		return false
	}
	size := map[byte]int{1: 20, 2: 32}[data[5]]
	var from, to uint64
	for i := range int(data[6]) {
		at := 8 + 12*i
		if len(data) < at+24 {
			return false
		}
		if string(data[at:at+4]) == "OIDL" {
			from, to = binary.BigEndian.Uint64(data[at+4:]), binary.BigEndian.Uint64(data[at+16:])
		}
	}
	if size == 0 || from >= to || to > uint64(len(data)) {
		return false
	}
	_, ok := find(data[from:to], size, hash)
	return ok
}
