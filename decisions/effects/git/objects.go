package git

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

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
	repository := repositoryOf(r)
	for _, side := range sides {
		base, certain := revision(side)
		if certain || base == "" && len(sides) > 1 {
			continue
		}
		if hash := hashIn(base); hash == "" && !alone && base == side {
			if e := r.Call.Paths.Operand(effects.KindRead, side, r.Cwd, r.From); e.File != nil && r.Call.Exists(e.File.Path) {
				continue // git refuses a word that is both a path and a revision
			}
		}
		if !repository.commit(base) {
			top := r.fromRoot(".")
			r.printsFolder(i, top)
			r.search(i, top)
			return
		}
	}
}

// names splits a word A..B of objects with their paths into both.
func names(word string) []string {
	if a, b, ok := strings.Cut(word, ".."); ok {
		return []string{word, a, strings.TrimPrefix(b, ".")}
	}
	return []string{word}
}

// revision returns the name that a revision begins with, without what may stay an object that
// is no commit, and whether it is certainly a commit, whatever the name is, or one of the
// index (gitrevisions(7)).
func revision(word string) (base string, certain bool) {
	word = strings.TrimPrefix(word, "^")
	depth := 0
	for i := range len(word) {
		switch word[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 {
				if i == 0 {
					return "", true // the index, or a search for a message
				}
				word = word[:i]
			}
		}
		if i >= len(word) {
			break
		}
	}
	for {
		at := strings.LastIndexAny(word, "~^@")
		if at < 0 {
			return word, false
		}
		switch rest := word[at:]; {
		case word == "@":
			return "HEAD", true
		case rest[0] == '~':
			return word[:at], true
		case strings.HasPrefix(rest, "@{"):
			return word[:at], true // an entry of a reflog
		case rest[0] == '@':
			return word, at > 0 && word[at-1] == '^' // REV^@
		case rest == "^{}", rest == "^{object}", rest == "^{tree}", rest == "^{tag}":
			word = word[:at]
		case rest == "^{blob}":
			return word, false
		default:
			return word[:at], true // ^, ^2, ^{commit}, ^{/text}, ^!, ^-
		}
	}
}

// hashIn returns the hash that a name is, or ends with as git describe has it, "" if it is none.
func hashIn(name string) string {
	if at := strings.LastIndex(name, "-g"); at >= 0 && isHash(name[at+2:]) {
		name = name[at+2:]
	}
	if !isHash(name) {
		return ""
	}
	return strings.ToLower(name)
}

// isHash reports whether git may take a word for a hash or the beginning of one.
func isHash(s string) bool {
	return len(s) >= 4 && len(s) <= 64 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// Bounds of what is read to tell whether a name is that of a commit, in bytes.
const (
	maxLoose = 1 << 16
	maxLog   = 1 << 20
	maxGraph = 16 << 20
	maxPlace = 4096 // names in a folder of objects
)

// repository is the folder of a repository, and of the working tree in it.
type repository struct {
	fs          effects.FS
	own, common string
}

// repositoryOf returns the repository of a run's working tree. What it says proves only that a
// hash is one of a commit, which it is in each repository.
func repositoryOf(r *Run) repository {
	g := repository{fs: r.Call.FS}
	root := r.fromRoot(".")
	if root == "." || g.fs == nil {
		return g
	}
	g.own = paths.Child(path.Clean(root), ".git")
	if dir, ok := paths.GitLine(g.fs, g.own, paths.GitFile); ok {
		g.own = lexpath.Abs(path.Dir(g.own), dir)
	}
	g.common = g.own
	switch dir, ok := paths.GitLine(g.fs, path.Join(g.own, "commondir"), ""); {
	case ok:
		g.common = lexpath.Abs(g.own, dir)
	case !missing(g.fs, path.Join(g.own, "commondir")):
		g.common = "" // not known
	}
	return g
}

// missing reports whether a file is certainly not there.
func missing(fsys effects.FS, file string) bool {
	_, err := fsys.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// commit reports whether a name is that of a commit: of a hash if an object, a log or a list
// of commits says so, of a branch or what is no reference, and of another reference if it
// leads to a commit.
func (g *repository) commit(name string) bool {
	switch hash := hashIn(name); {
	case name == "":
		return false
	case name == "HEAD":
		return true
	case hash != "":
		return g.leads(hash) || g.branch(name)
	case strings.ContainsRune(name, '^'):
		return false
	}
	for _, ref := range []string{g.own + "/" + name, g.common + "/refs/" + name, g.common + "/refs/tags/" + name} {
		text, err := g.read(ref, maxLoose)
		if err != nil {
			continue
		}
		hash, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
		return strings.HasPrefix(hash, "ref:") || g.leads(hash)
	}
	return g.packed(name)
}

// branch reports whether there is a branch of a name, which is always a commit. Git prefers it to
// a hash that is not whole.
func (g *repository) branch(name string) bool {
	if len(name) >= 40 && isHash(name) {
		return false
	}
	_, err := g.read(g.common+"/refs/heads/"+name, maxLoose)
	return err == nil
}

// packed reports whether a name is none of a packed reference that may lead to something
// other than a commit.
func (g *repository) packed(name string) bool {
	text, err := g.read(g.common+"/packed-refs", maxLog)
	if err != nil {
		return missing(g.fs, g.common+"/packed-refs") && missing(g.fs, g.common+"/reftable")
	}
	tag := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		hash, ref, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "^") && tag != "":
			return g.leads(line[1:])
		case tag != "":
			return g.leads(tag)
		case ref == name, ref == "refs/"+name, ref == "refs/tags/"+name:
			tag = hash
		}
	}
	return tag == "" || g.leads(tag)
}

// leads reports whether an object is a commit or the tag of one.
func (g *repository) leads(hash string) bool {
	for range 4 {
		head := g.object(hash)
		switch kind, _, _ := strings.Cut(head, " "); kind {
		case "commit":
			return true
		case "tag":
			_, body, _ := strings.Cut(head, "object ")
			hash, _, _ = strings.Cut(body, "\n")
		case "":
			return isHash(hash) && (g.logged(hash) || g.inGraph(hash))
		default:
			return false
		}
	}
	return false
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
