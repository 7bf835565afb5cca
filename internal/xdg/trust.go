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

// UntrustedError means that a folder must not hold permd's sockets or files.
type UntrustedError struct {
	Path   string // the untrusted folder: the one that was checked, or an ancestor
	Reason string
}

// Error returns the path and the reason.
func (e *UntrustedError) Error() string { return e.Path + " " + e.Reason }

// CheckOwn returns an error unless dir is a folder and not a symbolic link, belongs to
// uid or root, has none of the permission bits in forbidden, and only root and uid can
// replace it or its ancestors. The error is an *UntrustedError or one of the file
// system.
func CheckOwn(dir string, uid uint32, forbidden fs.FileMode) error {
	if err := checkDir(dir, uid, forbidden); err != nil {
		return err
	}
	return checkAncestors(dir, uid)
}

// CheckMachine returns an error unless dir is a folder that only its owner can write,
// and only root can write its ancestors. Such a folder was created by root, who chose
// its owner: permd's own user, which clients do not know.
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

// checkAncestors checks the folders above dir after resolving links: whoever can rename
// entries there can replace dir. In a sticky folder such as /tmp only the owner of an
// entry can. A folder that its group can write is accepted: many systems give each user
// a group of their own.
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
