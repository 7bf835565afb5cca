package source

import (
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/permd/permd/policy/diag"
)

// check reports whether a file or folder may hold rules: anybody else who can
// write it could allow themselves everything. In a parent with the sticky bit
// nobody else can replace the folder.
//
// Only the owner can write what the owner's private group can write, and where
// people have such groups, new files are created that way (umask 002). That is
// accepted for a person's rules, as sshd does on Debian for keys, and checked
// again with every reload, since somebody may have joined the group. The rules
// of an organisation are installed by tools that can set a mode, so they get no
// such exception.
func (t Access) check(name string, info fs.FileInfo, parent bool) error {
	if parent && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	st, known := info.Sys().(*syscall.Stat_t)
	if t.Owners != nil && known && !slices.Contains(t.Owners, st.Uid) {
		return diag.Problem{File: name, Text: fmt.Sprintf("belongs to uid %d, which must not write these rules", st.Uid),
			Hint: "give it to root or to the owner of the rules with chown"}.AsError()
	}
	mode := info.Mode().Perm()
	switch {
	case t.Writable:
	case mode&0o002 != 0:
		return diag.Problem{File: name, Text: fmt.Sprintf("can be written by everybody, mode %04o", mode), Hint: "chmod go-w " + name}.AsError()
	case mode&0o020 == 0 || known && t.PrivateGroup != nil && t.PrivateGroup(st.Gid):
	default:
		who := "its group"
		if known {
			who += fmt.Sprintf(" (gid %d)", st.Gid)
		}
		return diag.Problem{File: name, Text: fmt.Sprintf("can be written by %s, mode %04o", who, mode), Hint: "chmod g-w " + name}.AsError()
	}
	return nil
}
