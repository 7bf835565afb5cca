package git

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// maxNamesIndex bounds git's list of tracked files where only their paths are looked at, in bytes. It
// has room for more than 200,000 files.
const maxNamesIndex = 32 << 20

// index returns git's list of tracked files, of at most limit bytes, nothing if there is none.
func (r *Run) index(limit int64) (data []byte, ok bool) {
	g := r.repository()
	if g.common == "" {
		return nil, false
	}
	data, err := g.read(g.own+"/index", limit)
	return data, err == nil || errors.Is(err, fs.ErrNotExist) && missing(g.fs, g.own+"/index")
}

// takesPlaces reports whether a file to be staged takes the place of tracked files, or whether
// that is not known.
func (r *Run) takesPlaces(files []string) bool {
	root := r.Call.Paths.Project()
	index, ok := r.index(maxNamesIndex)
	if root == "" || !ok {
		return true
	}
	places, found := placesOf(root, files), false
	ok = settings.EachTracked(index, func(name []byte) { found = found || places.have(name) })
	return found || !ok
}

// places are where files to be staged are, by their folded paths from the root of the working tree:
// on a file system that does not tell cases apart, another path may be the same file.
type places struct{ files, folders map[string]bool }

func placesOf(root string, files []string) places {
	p := places{map[string]bool{}, map[string]bool{}}
	for _, file := range files {
		name, _ := lexpath.RelBelow(root, file)
		name = lexpath.Fold(name)
		p.files[name] = true
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			p.folders[at] = true
		}
	}
	return p
}

// have reports whether a file to be staged takes the place of a tracked one: if that is in a folder
// of the file's name, or has the name of a folder above the file. Git then takes it out of its index.
func (p places) have(tracked []byte) bool {
	if slices.ContainsFunc(tracked, func(c byte) bool { return c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' }) {
		tracked = []byte(lexpath.Fold(string(tracked)))
	}
	for i := 0; ; i++ {
		next := bytes.IndexByte(tracked[i:], '/')
		if next < 0 {
			return p.folders[string(tracked)]
		}
		if i += next; p.files[string(tracked[:i])] {
			return true
		}
	}
}
