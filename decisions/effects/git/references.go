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
	repository := repositoryOf(r)
	if repository.onlyCommits() && !r.has([]string{"--reflog"}) {
		return
	}
	top, i := r.fromRoot("."), len(r.Args)-1
	r.printsFolder(i, top)
	r.search(i, top)
}

// onlyCommits reports whether all references, of few enough, lead to commits.
func (g *repository) onlyCommits() bool {
	if g.common == "" || !missing(g.fs, g.common+"/reftable") {
		return false
	}
	var hashes []string
	text, err := g.read(g.common+"/packed-refs", maxLog)
	if err != nil && !missing(g.fs, g.common+"/packed-refs") {
		return false
	}
	for line := range strings.Lines(string(text)) {
		hash, ref, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && hash != "#" && !strings.HasPrefix(ref, "refs/heads/") {
			hashes = append(hashes, hash)
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

// maxPackedRefs bounds what is read of the packed references to find replacements, in bytes.
const maxPackedRefs = 16 << 20

// replacing is where the references are by which git shows one object in the place of another.
const replacing = "refs/replace/"

// replaces reports whether git may show other objects than the names say: if some are replaced, and
// not all of them commits by commits, whose files have names.
func (g *repository) replaces() bool {
	if g.common == "" {
		return false
	}
	var by map[string]string
	text, err := g.read(g.common+"/packed-refs", maxPackedRefs)
	if err != nil && !missing(g.fs, g.common+"/packed-refs") {
		return true
	}
	if bytes.Contains(text, []byte(" "+replacing)) {
		by = map[string]string{}
		for line := range strings.Lines(string(text)) {
			if hash, ref, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(ref, replacing) {
				by[strings.TrimPrefix(ref, replacing)] = hash
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
