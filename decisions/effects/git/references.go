package git

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// referenceSets are the options of git show that name references which may lead to other objects
// than commits. Those of --branches are commits, as is what the log of HEAD has.
var referenceSets = []string{"--all", "--tags", "--remotes", "--glob", "--reflog"}

// Bounds of reading the references of a repository, to tell whether they all lead to commits.
const (
	maxReferences = 128
	maxRefFolders = 64
)

// sets adds the read of all tracked files where git show has an option that names
// several references, unless all references of the repository are known to lead to commits: a tag
// may be of a file.
func (r *Run) sets() {
	if r.Sub != "show" || !r.has(referenceSets) {
		return
	}
	if r.repository().onlyCommits() && !r.has([]string{"--reflog"}) {
		return
	}
	top, i := r.fromRoot("."), len(r.Args)-1
	r.printsFolder(i, top)
	r.search(i, top)
}

// onlyCommits reports whether all references, of few enough, lead to commits.
func (g *repository) onlyCommits() bool {
	text, ok := g.packedRefs()
	if !ok {
		return false
	}
	var hashes []string
	for line := range bytes.Lines(text) {
		hash, ref, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if ok && string(hash) != "#" && !bytes.HasPrefix(ref, []byte("refs/heads/")) {
			hashes = append(hashes, string(hash))
		}
		if len(hashes) > maxReferences {
			return false
		}
	}
	folders := []string{g.common + "/refs"}
	if g.own != g.common {
		folders = append(folders, g.own+"/refs")
	}
	for n := 0; n < len(folders); n++ {
		entries, err := g.fs.Names(folders[n], maxReferences)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil, n > maxRefFolders:
			return false
		}
		for _, e := range entries {
			file := path.Join(folders[n], e.Name())
			switch {
			case file == g.common+"/refs/heads":
				// Git lets branches lead to commits alone.
			case e.IsDir():
				folders = append(folders, file)
			default:
				text, err := g.read(file, maxLoose)
				if err != nil {
					return false
				}
				if hash := strings.TrimSpace(string(text)); !strings.HasPrefix(hash, "ref:") { // it leads to another one
					hashes = append(hashes, hash)
				}
			}
		}
		if len(hashes) > maxReferences {
			return false
		}
	}
	for _, hash := range hashes {
		if !g.leads(hash) {
			return false
		}
	}
	return true
}

// maxPackedRefs bounds what is read of the packed references, in bytes.
const maxPackedRefs = 16 << 20

// packedRefs returns the packed references, as git writes them, nothing if there are none. They are
// read once. ok is false if they are not known, or if there may be a reftable, which has all
// references.
func (g *repository) packedRefs() (text []byte, ok bool) {
	if g.packs == nil {
		g.packs = &packedRefs{}
		if g.common != "" && missing(g.fs, g.common+"/reftable") {
			var err error
			g.packs.text, err = g.read(g.common+"/packed-refs", maxPackedRefs)
			g.packs.ok = err == nil || missing(g.fs, g.common+"/packed-refs")
		}
	}
	return g.packs.text, g.packs.ok
}

// packedRefs is what packedRefs of a repository has returned.
type packedRefs struct {
	text []byte
	ok   bool
}

// replacing is where the references are by which git shows one object in the place of another.
const replacing = "refs/replace/"

// replaces reports whether git may show other objects than the names say: if some are replaced, and
// not all of them commits by commits, whose files have names, or if that is not known.
func (g *repository) replaces() bool {
	if g.own == "" {
		return false // there is no project
	}
	text, ok := g.packedRefs()
	if !ok {
		return true
	}
	var by map[string]string
	if bytes.Contains(text, []byte(" "+replacing)) {
		by = map[string]string{}
		for line := range bytes.Lines(text) {
			hash, ref, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			if object, ok := bytes.CutPrefix(ref, []byte(replacing)); ok {
				by[string(object)] = string(hash)
			}
			if len(by) > maxReferences {
				return true
			}
		}
	}
	entries, err := g.fs.Names(g.common+"/"+strings.TrimSuffix(replacing, "/"), maxReferences)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, e := range entries {
		text, err := g.read(g.common+"/"+replacing+e.Name(), maxLoose)
		if err != nil {
			return true
		}
		if by == nil {
			by = map[string]string{}
		}
		by[e.Name()] = strings.TrimSpace(string(text))
	}
	for object, other := range by {
		if len(by) > maxReferences || g.kind(object) != "commit" || g.kind(other) != "commit" {
			return true
		}
	}
	return false
}
