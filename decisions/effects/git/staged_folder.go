package git

import (
	"crypto/sha1" //nolint:gosec // git's name of a file's content
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// Bounds of what is looked at to tell what git add stages of folders.
const (
	maxFolderNames = 1 << 13 // names, and tracked files
	maxFolderDepth = 32
	maxIndex       = 8 << 20  // bytes
	maxCompared    = 1 << 20  // bytes of a file that is compared with what is tracked
	maxAllCompared = 16 << 20 // bytes of all of them
)

// staging finds the files that git add stages of folders: at least those that changed or are
// new, as far as all of them are ordinary files. Each of its functions returns false for what is
// not understood.
type staging struct {
	*Run
	change  *settings.GitChange
	root    string
	tracked map[string]settings.Tracked // by their paths from the root
	// named has the tracked files and the folders above them by their folded paths: on a file
	// system that does not tell cases apart, another path may be the same file.
	named  map[string]string
	places map[string]bool // folders that were looked at, and whether they are ordinary
	names  int             // that may still be looked at
	bytes  int64           // that may still be compared
}

// newStaging reads the list of tracked files.
func newStaging(r *Run, change *settings.GitChange) (*staging, bool) {
	s := &staging{Run: r, change: change, root: r.Call.Paths.Project(), named: map[string]string{}, places: map[string]bool{}, names: maxFolderNames, bytes: maxAllCompared}
	if s.root == "" {
		return nil, false
	}
	index, ok := r.index(maxIndex)
	if !ok {
		return nil, false
	}
	if s.tracked, ok = settings.TrackedFiles(index); !ok || len(s.tracked) > maxFolderNames {
		return nil, false
	}
	for name := range s.tracked {
		for at := name; at != "."; at = path.Dir(at) {
			folded := lexpath.Fold(at)
			if had, ok := s.named[folded]; ok && had != at {
				return nil, false
			} else if ok {
				break
			}
			s.named[folded] = at
		}
	}
	return s, true
}

// below adds what git stages of a folder, given by its path from the root, and of all below it.
// Without new files it is what changed of those that are tracked.
func (s *staging) below(folder string, newFiles bool) bool {
	s.change.Folders = true
	var ignores []paths.IgnoreFile
	for i := range folder {
		if folder == "." || i > 0 && folder[i] != '/' {
			continue
		}
		file, ok := s.ignores(folder[:i])
		if !ok {
			return false
		}
		ignores = append(ignores, file)
	}
	if newFiles && !s.enter(folder, ignores) {
		return false
	}
	for name, tracked := range s.tracked {
		if lexpath.Below(s.at(folder), s.at(name)) && !s.compare(name, tracked) {
			return false
		}
	}
	return true
}

// ignores reads the .gitignore file of a folder, given by its path from the root. Git may read a
// tracked one that is gone, and what is read by a link; then ok is false.
//
// Any other file of ignored names can only cause more files to be ignored (gitignore(5)).
func (s *staging) ignores(folder string) (_ paths.IgnoreFile, ok bool) {
	name := path.Join(folder, ".gitignore")
	file, err := paths.ReadIgnoreFile(s.Call.FS, s.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		_, tracked := s.tracked[name]
		return file, !tracked
	}
	return file, err == nil
}

// leavesOut reports whether git certainly leaves out what is not tracked at a path, by the
// .gitignore files of the folders above it, from the root down.
func leavesOut(ignores []paths.IgnoreFile, rel string, folder bool) bool {
	names, out := strings.Split(rel, "/"), false
	for depth := range ignores {
		out = ignores[depth].Ignores(names[depth:], folder, out)
	}
	return out
}

func (s *staging) at(name string) string { return path.Join(s.root, name) }

// enter adds the new files in a folder and below that git does not leave out. ignores are of the
// folders above.
func (s *staging) enter(folder string, ignores []paths.IgnoreFile) bool {
	entries, err := s.Call.FS.Names(s.at(folder), s.names)
	if s.names -= len(entries); err != nil || len(ignores) > maxFolderDepth {
		return false
	}
	if folder == "." {
		folder = ""
	}
	file, ok := s.ignores(folder)
	if !ok {
		return false
	}
	ignores = append(slices.Clip(ignores), file)
	for _, e := range entries { // before its files, of which less is known
		if name := e.Name(); lexpath.Fold(name) == ".git" && (folder != "" || name != ".git") || folder != "" && name == "HEAD" {
			s.change.Odd = "./" + folder + ", which may be a repository of its own"
			return false
		}
	}
	for _, e := range entries {
		name := e.Name()
		if folder == "" && name == ".git" {
			continue
		}
		rel := path.Join(folder, name)
		if had, ok := s.named[lexpath.Fold(rel)]; ok && had != rel {
			return false
		}
		if leavesOut(ignores, rel, e.IsDir()) {
			continue
		}
		_, tracked := s.tracked[rel]
		switch {
		case e.IsDir() && !tracked:
			if !s.enter(rel, ignores) {
				return false
			}
		case tracked: // it is compared
		case !s.take(rel):
			return false
		}
	}
	return true
}

// take adds a file that is new or has changed.
func (s *staging) take(name string) bool {
	file, ok := s.stages(s.at(name), s.at(name))
	if !ok {
		s.change.Odd = s.odd(s.at(name))
		return false
	}
	s.change.Files = append(s.change.Files, file)
	return true
}

// compare adds a tracked file if it has changed.
func (s *staging) compare(name string, tracked settings.Tracked) bool {
	if tracked.Unmerged || !s.ordinary(path.Dir(name)) {
		return false
	}
	file := s.at(name)
	mode, err := s.Call.Paths.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		// It is staged that it is gone.
		e := s.Call.Operand(effects.KindRead, file, "", s.From)
		return e.File != nil && e.Tags.Has(effects.InProject) && guarded(&e) == 0
	}
	if err != nil {
		return false
	}
	same := false
	switch {
	case mode&fs.ModeSymlink != 0 && tracked.Mode == 0o120000:
		// git may read its own files by a link.
		target, err := s.Call.FS.Readlink(file)
		return err == nil && blobHash(target) == tracked.Hash && !strings.HasPrefix(lexpath.Fold(path.Base(name)), ".git")
	case !mode.IsRegular() || tracked.Mode != 0o100644 && tracked.Mode != 0o100755:
		return false
	case (mode&0o100 != 0) != (tracked.Mode&0o100 != 0):
	case s.bytes > 0:
		data, err := s.Call.FS.ReadFile(file, min(maxCompared, s.bytes))
		s.bytes -= int64(len(data))
		// With returns, what is staged may have other ends of lines.
		same = err == nil && blobHash(string(data)) == tracked.Hash && !strings.Contains(string(data), "\r")
	}
	if !same {
		return s.take(name)
	}
	// git may read it all the same, to compare it.
	e := s.Call.Operand(effects.KindRead, file, "", s.From)
	s.change.Guarded = s.change.Guarded || guarded(&e) != 0
	return e.File != nil && e.Guarded() == 0
}

// ordinary reports whether a folder, given by its path from the root, and those above it are
// folders of the working tree and of no other repository, or gone.
func (s *staging) ordinary(folder string) bool {
	if folder == "." {
		return true
	}
	ok, had := s.places[folder]
	if !had {
		mode, err := s.Call.Paths.Lstat(s.at(folder))
		gone := errors.Is(err, fs.ErrNotExist)
		ok = (gone || err == nil && mode.IsDir() && !s.Call.Exists(paths.Joined(s.at(folder), ".git"))) && s.ordinary(path.Dir(folder))
		s.places[folder] = ok
	}
	return ok
}

// blobHash returns git's name of a file's content, as bytes.
func blobHash(data string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)) //nolint:gosec // as above
	return string(sum[:])
}
