package paths

import "io/fs"

// unsearchable returns why the caller cannot search a folder, "" if it can. Otherwise
// a daemon with more rights than the caller would reveal what the caller's own
// programs cannot find out, and decide by it.
func (r *Resolver) unsearchable(at place) string {
	if !r.Others || at.Missing || at.Path == "/" || r.c.User.UID == 0 {
		return ""
	}
	may, ok := r.searchable[at.Path]
	if !ok {
		may = r.MaySearch(at.Path)
		if r.searchable == nil {
			r.searchable = map[string]bool{}
		}
		r.searchable[at.Path] = may
	}
	if !may {
		return "a folder of the path cannot be searched by the person"
	}
	return ""
}

// MaySearch decides as the kernel does: if the person owns the folder, only the
// owner's permission counts. The groups of the person's processes are not known, so
// everybody else needs the permissions of both the group and others.
func (r *Resolver) MaySearch(dir string) bool {
	mode, err := r.Lstat(dir)
	if err != nil || mode.Type() != fs.ModeDir {
		return false
	}
	uid, err := r.fs.Owner(dir)
	switch {
	case err != nil:
		return false
	case uid == r.c.User.UID:
		return mode&0o100 != 0
	}
	return mode&0o011 == 0o011
}
