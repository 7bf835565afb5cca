// Package files replaces files as a whole, and says who else could change them.
package files

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
)

// OthersWrite are the permission bits with which somebody else than a file's
// owner could write it. What belongs to a person and to their private group is
// written by them alone, as where new files are made that way (umask 002).
func OthersWrite(info fs.FileInfo, uid uint32) fs.FileMode {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid && xdg.PrivateGroup(uid, st.Gid) {
		return 0o002
	}
	return 0o022
}

// RepairCommand is the command that makes a folder, permd's own or one above it,
// trustworthy.
func RepairCommand(path, own string, uid uint32) string {
	quoted := cli.Quote(path)
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0 || !info.IsDir():
		return "move it away: mv " + quoted + " " + quoted + ".old"
	case !belongsTo(info, uid):
		return fmt.Sprintf("sudo chown %d %s", uid, quoted)
	case path == own:
		return "chmod 700 " + quoted
	}
	return "chmod o-w " + quoted
}

// belongsTo reports whether root or the user owns a file.
func belongsTo(info fs.FileInfo, uid uint32) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == uid || st.Uid == 0)
}
