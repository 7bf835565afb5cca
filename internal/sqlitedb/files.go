package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// sideFiles are the files that SQLite keeps next to a database.
var sideFiles = []string{"-wal", "-shm", "-journal"}

// minPage is the smallest page of a database, in bytes.
const minPage = 512

// prepare makes sure that the database's file exists and that only we can
// touch it; the folder has been prepared. It reports whether the file is still
// without content.
//
// The file is made here because SQLite would make it readable for all and
// follow a link; its side files take the mode of the file. The descriptor is
// closed before SQLite opens the file (see the package comment).
func prepare(path string) (fresh bool, err error) {
	for _, side := range sideFiles {
		if err := checkFile(path + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	err = checkFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if hasContent(path+"-wal") || hasContent(path+"-journal") {
			return false, fmt.Errorf("opening %s: %w: its log is there, the database is gone", path, ErrDamaged)
		}
		return true, create(path)
	}
	if err != nil {
		return false, err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() > 0 {
		if info.Size() < minPage { // to SQLite it would be a new one
			return false, fmt.Errorf("opening %s: %w: it was cut to %d bytes", path, ErrDamaged, info.Size())
		}
		return false, nil
	}
	// SQLite deletes the log of an empty database without a word.
	if hasContent(path + "-wal") {
		return false, fmt.Errorf("opening %s: %w: the database is empty, but its log is not", path, ErrDamaged)
	}
	return true, nil
}

func prepareFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making database folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("checking database folder: %w", err)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("folder %s: %w: it is a link or no folder", dir, ErrUnsafe)
	case !ours(info):
		return fmt.Errorf("folder %s: %w: it belongs to someone else", dir, ErrUnsafe)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("folder %s: %w: others may enter it (mode %04o, want 0700)", dir, ErrUnsafe, info.Mode().Perm())
	}
	return nil
}

// checkFile refuses what is not a file of ours alone. It looks by name only:
// nobody else can change names in the folder.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("checking database: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is a link or no regular file", path, ErrUnsafe)
	case !ours(info):
		return fmt.Errorf("%s: %w: it belongs to someone else", path, ErrUnsafe)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: %w: others may open it (mode %04o, want 0600)", path, ErrUnsafe, info.Mode().Perm())
	}
	return nil
}

// checkReadable is checkFile for a reader, which may be root looking at the
// database of a service.
func checkReadable(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("checking database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w: it is a link or no regular file", path, ErrUnsafe)
	}
	if !ours(info) && os.Geteuid() != 0 {
		return fmt.Errorf("%s: %w: it belongs to someone else", path, ErrUnsafe)
	}
	return nil
}

func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("making database: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("making database: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

func hasContent(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Size() > 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// syncFolder makes new names in a folder survive a power loss.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing folder: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("syncing folder: %w", err)
	}
	return nil
}

// SetAside renames a damaged database and its side files, so that a new one
// can take its place and the old one can still be looked at. It returns the
// database's new name, PATH.damaged-TIME; the side files follow it, so that
// SQLite finds them. Nothing is deleted or overwritten. The database must not
// be open.
func SetAside(path string, now time.Time) (string, error) {
	target, err := unusedName(path + ".damaged-" + stamp(now))
	if err != nil {
		return "", fmt.Errorf("setting %s aside: %w", path, err)
	}
	moved := false
	// The database first: Open refuses a log without its database, but a
	// database without its log would look like an older one.
	for _, side := range append([]string{""}, sideFiles...) {
		switch err := os.Rename(path+side, target+side); {
		case err == nil:
			moved = true
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("setting database aside: %w", err)
		}
	}
	if !moved {
		return "", fmt.Errorf("setting %s aside: %w", path, fs.ErrNotExist)
	}
	return target, syncFolder(filepath.Dir(path))
}

// unusedName returns the first of name, name-2, name-3 … that neither exists nor
// has side files.
func unusedName(name string) (string, error) {
	candidate := name
	for n := 2; n < 1000; n++ {
		free := !exists(candidate)
		for _, side := range sideFiles {
			free = free && !exists(candidate+side)
		}
		if free {
			return candidate, nil
		}
		candidate = fmt.Sprintf("%s-%d", name, n)
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrExist)
}

func stamp(t time.Time) string { return t.UTC().Format("20060102T150405Z") }
