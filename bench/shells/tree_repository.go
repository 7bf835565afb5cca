//go:build linux

package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// repository returns the files of a .git folder with one commit, so that git
// commands have something to read.
func repository(files map[string]string) map[string]string {
	r := repo{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n", "refs/tags/": ""}
	person := "dev <dev@example.com> 1700000000 +0000"
	commit := r.object("commit", fmt.Sprintf("tree %x\nauthor %s\ncommitter %s\n\nA commit\n", r.tree(files, ""), person, person))
	r["refs/heads/main"] = fmt.Sprintf("%x\n", commit)
	r["index"] = r.index(files)
	return r
}

// repo has the files of a .git folder, by name.
type repo map[string]string

// object adds an object and returns its name.
func (r repo) object(kind, text string) []byte {
	text = fmt.Sprintf("%s %d\x00%s", kind, len(text), text)
	sum := sha1.Sum([]byte(text))
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must(err)
	must(w.Close())
	name := fmt.Sprintf("%x", sum)
	r["objects/"+name[:2]+"/"+name[2:]] = b.String()
	return sum[:]
}

// tree adds the tree object of a folder, and those of all folders below it.
func (r repo) tree(files map[string]string, folder string) []byte {
	entries := map[string]string{} // by the name that git uses for sorting
	for name, text := range files {
		rest, ok := strings.CutPrefix(name, folder)
		if !ok {
			continue
		}
		first, _, below := strings.Cut(rest, "/")
		switch {
		case !below:
			entries[first] = "100644 " + first + "\x00" + string(r.object("blob", text))
		case entries[first+"/"] == "":
			entries[first+"/"] = "40000 " + first + "\x00" + string(r.tree(files, path.Join(folder, first)+"/"))
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text.WriteString(entries[name])
	}
	return r.object("tree", text.String())
}

// index returns an index without the files' times, so that git reads each file.
func (r repo) index(files map[string]string) string {
	b := append([]byte("DIRC"), 0, 0, 0, 2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(files)))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		start := len(b)
		b = append(b, make([]byte, 24)...)              // times, device and inode
		b = binary.BigEndian.AppendUint32(b, 0o100644)  // mode
		b = append(b, make([]byte, 12)...)              // owner, group and size
		b = append(b, r.object("blob", files[name])...) // name of the object
		b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
		b = append(b, name...)
		for b = append(b, 0); (len(b)-start)%8 != 0; {
			b = append(b, 0)
		}
	}
	sum := sha1.Sum(b)
	return string(append(b, sum[:]...))
}
