package settings

import (
	"bytes"
	"errors"
	"path"
)

// Indexed is what git's list of tracked files says of what git itself reads in the working
// tree.
type Indexed struct {
	Links      []string // submodules, by their paths from the top
	Attributes []string // files of attributes, likewise
}

var errIndex = errors.New("the list of tracked files is not understood")

// ReadIndexed reads a list of tracked files in git's index-format, of a repository whose checksums
// are SHA-256 or else SHA-1. One that is cut off, or is split in two files, is an error.
func ReadIndexed(data []byte, sha256 bool) (t Indexed, err error) {
	if len(data) == 0 {
		return t, nil
	}
	size := checksums["sha1"]
	if sha256 {
		size = checksums["sha256"]
	}
	after, ok := eachEntry(data, size, func(head, name []byte) {
		switch {
		case entryMode(head)&0xf000 == 0xe000:
			t.Links = append(t.Links, string(name))
		case bytes.HasSuffix(name, []byte(".gitattributes")) && path.Base(string(name)) == ".gitattributes":
			t.Attributes = append(t.Attributes, string(name))
		}
	})
	if !ok || bytes.HasPrefix(after, []byte("link")) {
		return Indexed{}, errIndex
	}
	return t, nil
}
