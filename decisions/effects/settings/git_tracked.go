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
	if len(index) == 0 {
		return files, true
	}
	if !plainIndex(index) {
		return nil, false
	}
	_, ok = eachEntry(index, checksums["sha1"], func(head, name []byte) {
		files[string(name)] = Tracked{
			Mode: entryMode(head), Hash: string(head[40:60]),
			Unmerged: binary.BigEndian.Uint16(head[60:])>>12&3 != 0,
		}
	})
	return files, ok
}

// entryMode returns the mode of an entry, by its part of fixed length (gitformat-index(5)).
func entryMode(head []byte) uint32 { return binary.BigEndian.Uint32(head[24:]) }
