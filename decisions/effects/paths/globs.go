package paths

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
)

// A pattern expands to names in a folder, and one of them may be a link out of the
// folder: "cat docs/*" reads the target of docs/x. So the folder is read, up to a
// bounded number of names; beyond the bound the pattern is an unknown effect. The
// folder may change before the command runs, as with everything that is read from
// the file system; what the call itself creates there is checked separately.
const (
	maxNames   = 1024 // of one folder
	MaxMatched = 4096 // of all folders in one call, counted for each pattern
	MaxPattern = 64   // bytes
)

// listing is a folder with its names.
type listing struct {
	dir   string
	names []fs.DirEntry
	why   string
}

// Names returns the names in a folder, or why they are not known. A folder that does
// not exist has none.
func (r *Resolver) Names(dir string) ([]fs.DirEntry, string) {
	for i := range r.listings {
		if r.listings[i].dir == dir {
			return r.listings[i].names, r.listings[i].why
		}
	}
	l := listing{dir: dir}
	names, err := r.fs.Names(dir, maxNames)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.why = "a folder whose names cannot be read, or are too many"
	default:
		l.names = names
	}
	if len(r.listings) < effects.MaxDisturbed {
		r.listings = append(r.listings, l)
	}
	return l.names, l.why
}

// Match returns the names in a folder that a pattern is compared with, counted for the call, or
// why they are not known. Beyond the bound no folder is read any more.
func (r *Resolver) Match(dir string) (names []fs.DirEntry, why string) {
	if r.Matched <= MaxMatched {
		names, why = r.Names(dir)
		r.Matched += len(names)
	}
	if why == "" && r.Matched > MaxMatched {
		return nil, "a pattern with more names than permd looks at"
	}
	return names, why
}

// GlobMatch reports whether a shell pattern may match a name. A bracket may match
// anything, because shells differ.
func GlobMatch(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") && !strings.HasPrefix(pattern, "[") {
		return false
	}
	if i := strings.IndexByte(pattern, '['); i >= 0 {
		pattern = pattern[:i] + "*"
	}
	// Of an ASCII name, every byte is a character.
	ascii := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	if !ascii {
		return globMatchBytes(pattern, name)
	}
	p, n, star, back := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globMatchBytes is GlobMatch for a name with bytes outside of ASCII. A ? is one byte to
// dash and in the C locale, and a character to others, so it may match either.
func globMatchBytes(pattern, name string) bool {
	// at[i] is set if the name so far may be matched by pattern[:i].
	at, next := make([]bool, len(pattern)+1), make([]bool, len(pattern)+1)
	skipStars := func(at []bool) {
		for i := range len(pattern) {
			at[i+1] = at[i+1] || at[i] && pattern[i] == '*'
		}
	}
	at[0] = true
	skipStars(at)
	for n := range len(name) {
		clear(next)
		for i, may := range at {
			if !may {
				continue
			}
			if i > 0 && pattern[i-1] == '?' && name[n]&0xc0 == 0x80 {
				next[i] = true // the rest of the character
			}
			if i == len(pattern) {
				continue
			}
			switch pattern[i] {
			case '*':
				next[i] = true
			case '?', name[n]:
				next[i+1] = true
			}
		}
		skipStars(next)
		at, next = next, at
	}
	return at[len(pattern)]
}
