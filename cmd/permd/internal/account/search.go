package account

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/permd/permd/decisions/effects"
)

// MaySearch reports whether a user may enter a folder, by the owners and modes of the folder and of
// all above it, with links resolved. What other permissions than these would let the user do, such
// as access control lists, does not count.
func MaySearch(u *effects.User, dir string) (bool, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, err
	}
	at := "/"
	for name := range strings.SplitSeq(resolved, "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return false, err
		}
		if !maySearch(u, info) {
			return false, nil
		}
	}
	return true, nil
}

func maySearch(u *effects.User, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return false
	}
	mode := info.Mode().Perm()
	switch {
	case u.UID == 0:
		return true
	case st.Uid == u.UID:
		return mode&0o100 != 0
	case u.Name != "" && inGroup(u, st.Gid):
		return mode&0o010 != 0
	}
	// Who is in a group that is not known may be kept out by its mode.
	return mode&0o001 != 0 && (u.Name != "" || mode&0o010 != 0)
}

func inGroup(u *effects.User, gid uint32) bool {
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	return err == nil && slices.Contains(u.Groups, g.Name)
}
