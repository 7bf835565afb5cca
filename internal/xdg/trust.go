package xdg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// UntrustedError says why a folder must not hold permd's sockets or files.
type UntrustedError struct {
	Path   string // the folder at fault; may be an ancestor
	Reason string
}

// Error returns path and reason.
func (e *UntrustedError) Error() string { return e.Path + " " + e.Reason }

// CheckOwn fails unless dir is a folder, not a symbolic link, that is owned by
// uid or root, has none of the permission bits of forbidden, and is in folders
// that only root and uid can replace. The error is an *UntrustedError, or that
// of the file system.
func CheckOwn(dir string, uid uint32, forbidden fs.FileMode) error {
	if err := checkDir(dir, uid, forbidden); err != nil {
		return err
	}
	return checkAncestors(dir, uid)
}

// CheckMachine fails unless dir is a folder that only its owner can write, in
// folders that only root can write. Then root has created it, and root chose
// its owner (permd's own user, whom a client does not know).
func CheckMachine(dir string) error {
	owner, err := ownerOf(dir)
	if err != nil {
		return err
	}
	if err := checkDir(dir, owner, 0o022); err != nil {
		return err
	}
	return checkAncestors(dir, 0)
}

func checkDir(dir string, uid uint32, forbidden fs.FileMode) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, err := owner(fi)
	switch {
	case err != nil:
		return err
	case fi.Mode()&fs.ModeSymlink != 0:
		return &UntrustedError{dir, "is a symbolic link"}
	case !fi.IsDir():
		return &UntrustedError{dir, "is not a folder"}
	case owner != uid && owner != 0:
		return &UntrustedError{dir, fmt.Sprintf("belongs to user %d, not to user %d or root", owner, uid)}
	case fi.Mode().Perm()&forbidden != 0:
		return &UntrustedError{dir, fmt.Sprintf("has mode %#o, so others may enter or change it", fi.Mode().Perm())}
	}
	return nil
}

// checkAncestors checks the folders above dir, links resolved: anyone who may
// rename entries there can replace dir. In a sticky folder (/tmp) only an
// entry's owner can rename it. A folder that its group may write is accepted:
// many systems give each person a group of their own.
func checkAncestors(dir string, uid uint32) error {
	up, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for {
		fi, err := os.Lstat(up)
		if err != nil {
			return err
		}
		owner, err := owner(fi)
		if err != nil {
			return err
		}
		if !slices.Contains([]uint32{0, uid}, owner) {
			return &UntrustedError{up, fmt.Sprintf("belongs to user %d, who could exchange what lies in it", owner)}
		}
		if fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0 {
			return &UntrustedError{up, fmt.Sprintf("has mode %#o, so everybody could exchange what lies in it", fi.Mode().Perm())}
		}
		parent := filepath.Dir(up)
		if parent == up {
			return nil
		}
		up = parent
	}
}

func ownerOf(path string) (uint32, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return owner(fi)
}

func owner(fi fs.FileInfo) (uint32, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.New("this system does not tell who owns a file")
	}
	return st.Uid, nil
}
