package settings

import (
	"encoding/binary"
)

// Tracked is a file in git's list of tracked files.
type Tracked struct {
	Mode     uint32 // as git writes it: 0100644, 0100755, 0120000 for a link
	Hash     string // of its content as git keeps it, 20 bytes
	Unmerged bool   // a merge left several versions of it
}

// TrackedFiles returns the entries of git's list of tracked files, by their paths in the working
// tree; ok is false if the list is not one that Plain takes.
func TrackedFiles(index []byte) (files map[string]Tracked, ok bool) {
	files = map[string]Tracked{}
	ok = eachTracked(index, func(head, name []byte) {
		files[string(name)] = Tracked{
			Mode: entryMode(head), Hash: string(head[40:60]),
			Unmerged: binary.BigEndian.Uint16(head[60:])>>12&3 != 0,
		}
	})
	return files, ok
}

// EachTracked calls a function for the path of each entry of such a list, which must not keep it. ok
// is false if the list is not one that Plain takes.
func EachTracked(index []byte, path func(name []byte)) (ok bool) {
	return eachTracked(index, func(_, name []byte) { path(name) })
}

func eachTracked(index []byte, entry func(head, name []byte)) (ok bool) {
	if len(index) == 0 {
		return true
	}
	if !plainIndex(index) {
		return false
	}
	_, ok = eachEntry(index, checksums["sha1"], entry)
	return ok
}

// entryMode returns the mode of an entry, by its part of fixed length (gitformat-index(5)).
func entryMode(head []byte) uint32 { return binary.BigEndian.Uint32(head[24:]) }
