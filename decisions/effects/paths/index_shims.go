package paths

import "strings"

// maxChoices is how many folders an index keeps such names of; when there are
// more it starts over.
const maxChoices = 1024

// shimListing is what is kept of a folder.
type shimListing struct {
	stamp Stamp
	names []string
}

// Choosing implements chooser. What it keeps is used while the folder has the
// same stamp, which each name that is added or goes changes; a stamp hardly older
// than the look is not trusted. So the answer is as old as that of an Lstat.
func (x *Index) Choosing(dir string) ([]string, error) {
	if x.stamper == nil {
		return listChoosing(x.FS, dir)
	}
	// Before the names: a change in between makes the stamp an old one.
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
	if err != nil || x.now().UnixNano()-stamp.Changed <= int64(minStampAge) {
		return names, err
	}
	x.choosing.Lock()
	defer x.choosing.Unlock()
	if x.choices == nil || len(x.choices) >= maxChoices {
		x.choices = map[string]shimListing{}
	}
	x.choices[strings.Clone(dir)] = shimListing{stamp, names}
	return names, nil
}
