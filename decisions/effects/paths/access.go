package paths

import "io/fs"

// unsearchable says why a folder cannot be looked into for the caller, "" when it
// can. A daemon with more rights than the caller would else tell what the
// caller's own programs cannot find out, and judge by what they do not see.
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

// MaySearch decides as the kernel does: the owner's right counts for the owner
// alone. Which groups the person's processes are in is not known, so everybody
// else needs the right of the group and that of the others.
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
