package paths

import "strings"

// maxShimFolders bounds the folders whose names an index caches; when it is exceeded the
// cache is emptied.
const maxShimFolders = 1024

// shimListing is the cached result for a folder.
type shimListing struct {
	stamp Stamp
	names []string
}

// Choosing implements chooser. A result is used while the folder has the same stamp,
// which changes with each name that is added or removed; a stamp that is hardly older
// than the reading is not trusted. So the answer is as current as that of an Lstat.
func (x *Index) Choosing(dir string) ([]string, error) {
	if x.stamper == nil {
		return listChoosing(x.FS, dir)
	}
	// Before the names, so that a change in between makes the stamp outdated.
	stamp, err := x.stamper.Stamp(dir)
	if err != nil {
		return nil, err
	}
	x.choosing.Lock()
	kept, ok := x.choices[dir]
	x.choosing.Unlock()
	if ok && kept.stamp == stamp {
		return kept.names, nil
	}
	names, err := listChoosing(x.FS, dir)
	if err != nil || !x.trusts(dir, stamp) {
		return names, err
	}
	x.choosing.Lock()
	defer x.choosing.Unlock()
	if x.choices == nil || len(x.choices) >= maxShimFolders {
		x.choices = map[string]shimListing{}
	}
	x.choices[strings.Clone(dir)] = shimListing{stamp, names}
	return names, nil
}
