package git

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// maxPack bounds what is read of a pack and of its index, in bytes; larger ones are taken
// as if they were not there.
const maxPack = 8 << 20

// inflated returns the beginning of what is compressed.
func inflated(data []byte) string {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	head := make([]byte, 160)
	n, _ := io.ReadFull(z, head)
	return string(head[:n])
}

// inPack is object for objects in packs (gitformat-pack(5)).
func (g *repository) inPack(hash string) string {
	dir := path.Join(g.common, "objects/pack")
	entries, err := g.fs.Names(dir, maxPlace)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok {
			continue
		}
		index, err := g.read(path.Join(dir, e.Name()), maxPack)
		if err != nil {
			continue
		}
		at, ok := offsetIn(index, hash)
		if !ok {
			continue
		}
		pack, err := g.read(path.Join(dir, base+".pack"), maxPack)
		if err != nil {
			continue
		}
		if head := packed(pack, index, at); head != "" {
			return head
		}
	}
	return ""
}

// offsetIn returns where in its pack the first object is whose hash begins as given, by the
// index of the pack, of version 2 and with hashes of 20 bytes.
func offsetIn(index []byte, hash string) (int, bool) {
	if !understood(index) {
		return 0, false
	}
	n := objectsIn(index)
	i, ok := find(index[firstName:firstName+20*n], 20, hash)
	if !ok {
		return 0, false
	}
	at := binary.BigEndian.Uint32(index[firstName+24*n+4*i:])
	return int(at), at < 1<<31
}

// firstName is where the hashes begin in the index of a pack.
const firstName = 8 + 4*256

// understood reports whether an index of a pack is of version 2 and has room for its hashes.
func understood(index []byte) bool {
	return len(index) >= firstName && bytes.HasPrefix(index, []byte("\xfftOc\x00\x00\x00\x02")) && objectsIn(index) <= (len(index)-firstName)/28
}

// objectsIn returns how many objects such an index has.
func objectsIn(index []byte) int { return int(binary.BigEndian.Uint32(index[firstName-4:])) }

// beyond reports whether an object may be where permd does not look: in a pack or an index that
// is larger than maxPack, or in a repository with other hashes.
func (g *repository) beyond(hash string) bool {
	objects := path.Join(g.common, "objects")
	if !missing(g.fs, path.Join(objects, hash[:2], hash[2:])) {
		return false // a file for itself, too large for a commit
	}
	if len(hash) != 40 {
		return true
	}
	dir := path.Join(objects, "pack")
	entries, err := g.fs.Names(dir, maxPlace)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok {
			continue
		}
		index, err := g.read(path.Join(dir, e.Name()), maxPack)
		if err != nil {
			return true
		}
		if _, ok := offsetIn(index, hash); ok {
			_, err = g.read(path.Join(dir, base+".pack"), maxPack)
			return err != nil
		}
	}
	return false
}

// mayHave reports whether the repository may have an object whose hash begins as given: one that is
// there, in a pack that is not understood, in another repository whose objects it takes, or that
// git would fetch.
func (g *repository) mayHave(hash string) bool {
	objects := path.Join(g.common, "objects")
	config, err := g.read(path.Join(g.common, "config"), maxLoose)
	if err != nil && !missing(g.fs, path.Join(g.common, "config")) || bytes.Contains(bytes.ToLower(config), []byte("objectformat")) || !missing(g.fs, path.Join(objects, "info/alternates")) {
		return true
	}
	loose, err := g.fs.Names(path.Join(objects, hash[:2]), maxPlace)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, e := range loose {
		if strings.HasPrefix(e.Name(), hash[2:]) {
			return true
		}
	}
	dir := path.Join(objects, "pack")
	entries, err := g.fs.Names(dir, maxPlace)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		switch path.Ext(e.Name()) {
		case ".promisor":
			return true
		case ".pack":
			index, err := g.read(path.Join(dir, strings.TrimSuffix(e.Name(), ".pack")+".idx"), maxPack)
			if err != nil || !understood(index) {
				return true
			}
			if _, ok := find(index[firstName:firstName+20*objectsIn(index)], 20, hash); ok {
				return true
			}
		}
	}
	return false
}

// packed returns what object does of the entry at an offset of a pack.
func packed(pack, index []byte, at int) string {
	for range 256 { // longer chains than git makes
		if at < 12 || at >= len(pack) {
			return ""
		}
		kind, next := pack[at]>>4&7, at
		for pack[next]&0x80 != 0 {
			if next++; next >= len(pack) {
				return ""
			}
		}
		next++
		switch kind {
		case 1:
			return "commit "
		case 2:
			return "tree "
		case 3:
			return "blob "
		case 4:
			return "tag " + inflated(pack[min(next, len(pack)):])
		case 6: // a difference to the entry so many bytes before
			back := 0
			for i := 0; ; i++ {
				if next+i >= len(pack) || i > 8 {
					return ""
				}
				b := pack[next+i]
				back = back<<7 | int(b&0x7f)
				if b&0x80 == 0 {
					break
				}
				back++
			}
			at -= back
		case 7: // a difference to the entry of that hash
			if next+20 > len(pack) {
				return ""
			}
			base, ok := offsetIn(index, hex.EncodeToString(pack[next:next+20]))
			if !ok {
				return ""
			}
			at = base
		default:
			return ""
		}
	}
	return ""
}

// find returns the place of the first hash that begins as given, in hexadecimal digits, in a
// sorted list of hashes, each of size bytes.
func find(list []byte, size int, hash string) (int, bool) {
	n := len(list) / size
	at := func(i int) string { return hex.EncodeToString(list[i*size : (i+1)*size]) }
	i := sort.Search(n, func(i int) bool { return at(i) >= hash })
	return i, i < n && strings.HasPrefix(at(i), hash)
}

// read returns the content of a file of the repository.
func (g *repository) read(file string, limit int64) ([]byte, error) {
	if g.common == "" {
		return nil, errors.ErrUnsupported
	}
	if mode, err := g.fs.Lstat(file); err != nil || !mode.IsRegular() {
		return nil, fs.ErrNotExist
	}
	return g.fs.ReadFile(file, limit)
}
