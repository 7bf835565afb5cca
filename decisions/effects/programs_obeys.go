package effects

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// What a program that only looks may be told by the project it runs in: to run
// another one, to ask another host. Such files come with what is cloned, so a
// run that obeys one is not read-only.

const (
	// maxObeyed is the size up to which such a file is looked into, in bytes; a
	// larger one counts as if it said something.
	maxObeyed = 64 << 10
	// maxObeyedDepth is how many folders are looked into.
	maxObeyedDepth = 32
)

// obeyed is a file of a project, and the words of which it must hold one to
// matter; without words its being there is enough.
type obeyed struct {
	name  string
	words [][]byte
}

// obeyedFiles reads lines such as "rust-toolchain.toml: path".
func obeyedFiles(lines []spelled) ([]obeyed, error) {
	var all []obeyed
	for _, line := range lines {
		name, words, more := strings.Cut(line.text, ": ")
		if name == "" || strings.ContainsAny(name, " \t:") || path.IsAbs(name) || more && strings.TrimSpace(words) == "" {
			return nil, line.errorf("file %q: expected NAME or NAME: WORDS", line.text)
		}
		o := obeyed{name: name}
		for word := range strings.FieldsSeq(words) {
			o.words = append(o.words, []byte(word))
		}
		all = append(all, o)
	}
	return all, nil
}

// tellsOfItself reports whether the run is a question about the program alone,
// such as for its version.
func (v *invocation) tellsOfItself() bool {
	return len(v.args) == 1 && len(v.subs) == 0 && len(v.operands) == 0 && !v.changes && len(v.flags) == 1 &&
		slices.Contains(v.p.readonlyAlone, v.flags[0])
}

// obeysProject reports whether a file that the program obeys lies in its folder
// or in one above it, up to the root of the project or of the working tree that
// this is, or may come to lie there before it runs. Programs go up from where the
// folder really is, not along the links that lead to it.
func (v *invocation) obeysProject() bool {
	if len(v.p.obeys) == 0 {
		return false
	}
	dir, root := v.folderOf(v.run.Cwd), v.b.res.project()
	if dir != "" && !inside(root, dir) {
		root = v.b.res.treeOf(dir)
	}
	for range maxObeyedDepth {
		if dir == "" {
			return true
		}
		if slices.ContainsFunc(v.p.obeys, func(o obeyed) bool { return v.finds(o, path.Join(dir, o.name)) }) {
			return true
		}
		if dir == root || dir == "/" || !inside(root, dir) {
			return false
		}
		dir = path.Dir(dir)
	}
	return true
}

// finds reports whether the file is there and says something that matters. What
// cannot be read may say anything.
func (v *invocation) finds(o obeyed, file string) bool {
	if v.b.writes(file) || v.b.stale(file) || v.b.settled(Effect{File: &File{Path: file}}).File == nil {
		return true
	}
	data, err := v.b.w.FS.ReadFile(file, maxObeyed)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return len(o.words) == 0 || slices.ContainsFunc(o.words, func(word []byte) bool { return bytes.Contains(data, word) })
}

// noFile says why a word in the place of a file is none, "" when it is one.
func noFile(does act, text string) string {
	switch {
	case does == actSources && strings.HasPrefix(text, "@"):
		return "a file of options"
	case does == actViewed && strings.HasPrefix(text, "+"):
		return "a command for a program that shows files"
	case does == actDatabase && strings.HasPrefix(strings.ToLower(text), "file:"):
		return "an address that leads to a file"
	}
	return ""
}

// plainSpec reports whether the text can only be the name of a package in a
// registry, with or without its scope and version.
func plainSpec(text string) bool {
	if scope, rest, ok := strings.Cut(text, "/"); ok {
		if len(scope) < 2 || scope[0] != '@' {
			return false
		}
		text = scope[1:] + rest
	}
	if text == "" || strings.IndexByte("-.@", text[0]) >= 0 || strings.HasSuffix(text, ".tgz") || strings.HasSuffix(text, ".gz") || strings.HasSuffix(text, ".tar") {
		return false
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-@^", c) {
			return false
		}
	}
	return true
}

// isName reports whether the text can only be a name of what the program knows
// itself: no path, no address, and no file that happens to have that name.
func (v *invocation) isName(text string) bool {
	if strings.ContainsAny(text, "/:\\~") || strings.HasPrefix(text, ".") || v.run.Cwd == "" {
		return false
	}
	file := path.Join(v.run.Cwd, text)
	if v.b.writes(file) || v.b.stale(file) {
		return false
	}
	_, err := v.b.w.FS.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}
