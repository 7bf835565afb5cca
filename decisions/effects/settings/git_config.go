package settings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// readGitConfig reads a repository's configuration. It returns sections and keys in
// lower case, as git compares them; a subsection is one name, whatever it contains.
// Continued lines, quotes and escapes in values, and entries on a section's line are
// rejected.
func readGitConfig(text string) ([]entry, error) {
	var list []entry
	var section []string
	for line := range strings.Lines(text) {
		line = strings.Trim(line, asciiBlanks)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, ok := strings.CutSuffix(line[1:], "]")
			if !ok {
				return nil, errRejected
			}
			head, sub, quoted := strings.Cut(name, ` "`)
			if !plainKey(head) {
				return nil, errRejected // [a.b] is an old form of [a "b"]
			}
			section = []string{strings.ToLower(head)}
			if quoted {
				sub, ok = strings.CutSuffix(sub, `"`)
				if !ok || strings.ContainsAny(sub, `"\`) {
					return nil, errRejected
				}
				section = append(section, sub)
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.Trim(key, asciiBlanks), strings.Trim(value, asciiBlanks)
		if len(section) == 0 || !plainKey(key) || strings.ContainsAny(value, `"\#;`) {
			return nil, errRejected
		}
		list = append(list, entry{append(section[:len(section):len(section)], strings.ToLower(key)), value})
	}
	return list, nil
}

// Repository returns why the repository's configuration has, or may get, a setting
// that is not harmless to a read-only command; "" if it has none.
func (a *Surroundings) Repository(s *Format, dir string) string {
	tree := a.TreeAbove(dir)
	if tree == "" {
		return "" // no repository: git has nothing to read
	}
	return a.obeysTree(s, tree, 0)
}

// obeysTree is Repository for one working tree. Git itself runs in the working trees
// of submodules, with their configuration.
func (a *Surroundings) obeysTree(s *Format, tree string, depth int) string {
	dirs := a.gitFolders(tree)
	if dirs == nil || depth > maxSubmodules {
		return path.Join(tree, ".git")
	}
	check := &settingsCheck{Surroundings: a, root: tree, nested: depth > 0, ofGit: true}
	for _, git := range dirs {
		if file := a.storesElsewhere(git); file != "" {
			return file
		}
		for _, name := range []string{"config", "config.worktree"} {
			file := paths.Child(git, name)
			check.file = file
			if !a.harmlessSettings(s, check) {
				return file
			}
		}
		hook := paths.Child(git, "hooks/"+statusHook)
		if _, err := a.FS.Lstat(hook); a.Files.Changed(hook) || !errors.Is(err, fs.ErrNotExist) {
			return hook
		}
	}
	index := paths.Child(dirs[0], "index")
	data, err := a.FS.ReadFile(index, maxLinksIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	links, ok := gitLinks(data, a.objectFormat(dirs[len(dirs)-1]))
	if err != nil || !ok || len(links) > maxSubmodules {
		return index
	}
	for _, link := range links {
		sub := path.Join(tree, link)
		if !lexpath.In(tree, sub) {
			return index
		}
		if !a.Files.Exists(path.Join(sub, ".git")) {
			continue // not fetched
		}
		if file := a.obeysTree(s, sub, depth+1); file != "" {
			return file
		}
	}
	return ""
}

// asciiBlanks are what git takes for blanks around values.
const asciiBlanks = " \t\r\n\v\f"

// maxLinksIndex bounds the list of tracked files, in bytes; each takes about 100.
const maxLinksIndex = 32 << 20

// maxSubmodules bounds the submodules of one repository, and their nesting.
const maxSubmodules = 16

// gitLinks returns the submodules in a list of tracked files in git's index-format, of a
// repository whose checksums are of a format ("sha1"). It is false for a list that is not
// understood: one that is cut off, or of another format.
func gitLinks(data []byte, format string) (links []string, ok bool) {
	if len(data) == 0 {
		return nil, true
	}
	// A sparse index lists folders instead of their content (gitformat-index,
	// "Sparse Directory Entries").
	if bytes.Contains(data, []byte("sdir\x00\x00\x00\x00")) {
		return nil, false
	}
	size := checksums[format]
	if size == 0 {
		return nil, false
	}
	links, outside, _, ok := indexEntries(data, size)
	return links, ok && !outside
}

// plainIndex reports whether such a list has nothing but files, in the versions that say
// each name in full, and no extension but those that only repeat what is known
// (gitformat-index, "Extensions").
func plainIndex(data []byte) bool {
	links, outside, rest, ok := indexEntries(data, checksums["sha1"])
	if !ok || outside || len(links) > 0 || binary.BigEndian.Uint32(data[4:]) > 3 || bytes.Contains(data, []byte("sdir\x00\x00\x00\x00")) {
		return false
	}
	for len(rest) > 0 {
		if len(rest) < 8 || !slices.Contains(plainExtensions, string(rest[:4])) {
			return false
		}
		size := binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return false
		}
		rest = rest[8+size:]
	}
	return true
}

var plainExtensions = []string{"TREE", "REUC", "EOIE", "IEOT"}

// checksums are the sizes of git's checksums in bytes, by extensions.objectFormat.
var checksums = map[string]int{"sha1": 20, "sha256": 32}

// objectFormat returns the format of a repository's checksums, "" if it is not known.
func (a *Surroundings) objectFormat(git string) string {
	data, err := a.FS.ReadFile(paths.Child(git, "config"), maxObeyed)
	if errors.Is(err, fs.ErrNotExist) {
		return "sha1"
	}
	text, ok := plainText(data)
	list, errRead := readGitConfig(text)
	if err != nil || !ok || errRead != nil {
		return ""
	}
	format := "sha1"
	for _, e := range list {
		if slices.Equal(e.path, []string{"extensions", "objectformat"}) {
			if format != "sha1" && format != e.value {
				return ""
			}
			format = e.value
		}
	}
	return format
}

// indexEntries returns the submodules in such a list, whose checksums have a size,
// whether an entry leads out of the working tree, and what follows the entries.
func indexEntries(data []byte, checksum int) (links []string, outside bool, after []byte, ok bool) {
	after, ok = eachEntry(data, checksum, func(head, name []byte) {
		if bytes.HasPrefix(name, []byte("/")) || bytes.Contains(name, []byte("../")) {
			outside = true // git would look there
		}
		if entryMode(head)&0xf000 == 0xe000 { // git looks at no other bits
			links = append(links, string(name))
		}
	})
	return links, outside, after, ok
}

// eachEntry calls a function for each entry of such a list, with its part of fixed length and its
// name, and returns what follows them.
func eachEntry(data []byte, checksum int, entry func(head, name []byte)) (after []byte, ok bool) {
	if len(data) < 12+checksum || !bytes.HasPrefix(data, []byte("DIRC")) {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	// A checksum of all is at the end.
	rest, name := data[12:len(data)-checksum], []byte(nil)
	fixed := 42 + checksum // up to the flags
	for range count {
		if len(rest) < fixed+1 {
			return nil, false
		}
		head, at := rest[:fixed], fixed
		if version > 2 && rest[fixed-2]&0x40 != 0 {
			at += 2
		}
		if version == 4 {
			// The number of bytes removed from the end of the previous name.
			strip := 0
			for more := true; more; at++ {
				if at >= len(rest) || strip > len(name) {
					return nil, false
				}
				c := rest[at]
				if strip = strip<<7 | int(c&0x7f); c&0x80 != 0 {
					strip++
				}
				more = c&0x80 != 0
			}
			if strip > len(name) {
				return nil, false
			}
			name = name[:len(name)-strip]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(rest[min(at, len(rest)):], 0)
		if end < 0 {
			return nil, false
		}
		name = append(name, rest[at:at+end]...)
		next := at + end + 1
		if version < 4 {
			next = (at + end + 8) / 8 * 8
		}
		if next > len(rest) {
			return nil, false
		}
		rest = rest[next:]
		entry(head, name)
	}
	return rest, true
}

// TreeAbove returns the nearest folder upwards that holds .git, "" if there is none.
func (a *Surroundings) TreeAbove(dir string) string {
	for range MaxObeyedDepth {
		if a.Files.Exists(paths.Child(dir, ".git")) {
			return dir
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
	return ""
}
