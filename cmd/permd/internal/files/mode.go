// Package files replaces files atomically, and tells who else could change them.
package files

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
)

// OthersWrite returns the permission bits with which somebody other than the owner can
// write a file. Write permission for the owner's private group does not count: many
// systems create files that way (umask 002).
func OthersWrite(info fs.FileInfo, uid uint32) fs.FileMode {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid && xdg.PrivateGroup(uid, st.Gid) {
		return 0o002
	}
	return 0o022
}

// RepairCommand returns the command that makes a folder trustworthy: permd's own or one
// above it.
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
