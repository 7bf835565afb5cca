package paths

import (
	"io/fs"
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// A hard link is another name of a file, and there is no way to find the other names
// from one of them. So a file with several names is compared with the files whose
// names are guarded: permd's own, and those in the project and the person's home, up
// to the bounds. Other names are unknown, so writing to such a file is treated as
// writing outside of the project.

// Identifier is a file system that identifies files independently of their names.
type Identifier interface {
	// Identity returns a value that is the same for all names of a regular file.
	Identity(path string) (Identity, error)
}

// Identity identifies a file.
type Identity struct{ Device, File uint64 }

// Bounds of the search for other names of a file.
const (
	maxNamed      = 4096 // names examined below each home and root, nearest first
	maxNamedDepth = 5    // nested folders
)

// otherNames returns the guarded tags of a file's other names.
func (r *Resolver) otherNames(kind effects.Kind, p string) effects.Tags {
	by, ok := r.fs.(Identifier)
	if !ok {
		return 0
	}
	id, err := by.Identity(p)
	if err != nil {
		return effects.TagsOf(effects.Secret) // it existed a moment ago
	}
	if r.guardedFiles == nil {
		r.guardedFiles = map[Identity]effects.Tags{}
		r.recordGuarded(by)
	}
	tags := r.guardedFiles[id]
	if kind == effects.KindRead {
		return tags & effects.TagsOf(effects.Secret, effects.Permd)
	}
	for _, program := range r.Own.named {
		if other, err := by.Identity(program); err == nil && other == id {
			tags = tags.With(effects.Permd)
		}
	}
	return tags
}

// recordGuarded records the files with several names of which one is guarded.
func (r *Resolver) recordGuarded(by Identifier) {
	for _, own := range r.Own.paths {
		r.recordBelow(by, own, func(string) effects.Tags { return effects.TagsOf(effects.Permd) })
	}
	g := r.Session()
	for _, root := range slices.Concat(g.roots, g.Homes) {
		if s, ok := r.fs.(Surveyor); ok && slices.Contains(g.roots, root) {
			for _, file := range s.Survey(root, root).Secrets {
				r.recordNames(by, file, r.Guard(file))
			}
		}
		r.recordBelow(by, root, r.Guard)
	}
}

// recordBelow walks a folder, breadth first, into folders that are guarded or may hold
// something that is.
func (r *Resolver) recordBelow(by Identifier, top string, guard func(string) effects.Tags) {
	type folder struct {
		path  string
		depth int
	}
	if mode, err := r.fs.Lstat(top); err != nil || !mode.IsDir() {
		r.recordNames(by, top, guard(top))
		return
	}
	left := maxNamed
	for queue := []folder{{top, 0}}; len(queue) > 0 && left > 0; queue = queue[1:] {
		in := queue[0]
		entries, err := r.fs.Names(in.path, maxNamed)
		if err != nil {
			continue // unreadable or too large
		}
		for _, e := range entries[:min(left, len(entries))] {
			left--
			p := path.Join(in.path, e.Name())
			switch tags := guard(p); {
			case e.Type().IsRegular() && tags != 0:
				r.recordNames(by, p, tags)
			case e.IsDir() && in.depth < maxNamedDepth && (tags != 0 || r.mayHold(p)):
				queue = append(queue, folder{p, in.depth + 1})
			}
		}
	}
}

// mayHold reports whether a folder that is not guarded itself may, by its name, hold
// something that is.
func (r *Resolver) mayHold(dir string) bool {
	f := lexpath.Fold(dir)
	return Guarded().containedIn(f, r.Session().fromHome(f)) != 0
}

// recordNames records a file if it has several names.
func (r *Resolver) recordNames(by Identifier, p string, tags effects.Tags) {
	if tags == 0 {
		return
	}
	if mode, err := r.fs.Lstat(p); err != nil || mode&effects.ModeLinked == 0 {
		return
	}
	if id, err := by.Identity(p); err == nil {
		r.guardedFiles[id] |= tags
	}
}

// addOtherTags adds the tags of a file's other names to its own, and reports whether
// they guard it more than its own name does. Writing to a file with several names may
// change one outside of the project.
func (r *Resolver) addOtherTags(kind effects.Kind, at place, tags effects.Tags) (_ effects.Tags, guarded bool) {
	if kind == effects.KindDelete || at.mode&effects.ModeLinked == 0 || at.mode&fs.ModeSymlink != 0 {
		return tags, false // deleting a name leaves the file under the others
	}
	others := r.otherNames(kind, at.Path)
	guarded = others&^tags != 0
	tags |= others
	if kind == effects.KindWrite && tags.Has(effects.InProject) {
		tags = tags&^effects.TagsOf(effects.InProject) | effects.TagsOf(effects.Outside)
	}
	return tags, guarded
}
