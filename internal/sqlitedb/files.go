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

// sideFiles are the suffixes of the files that SQLite keeps next to a database.
var sideFiles = []string{"-wal", "-shm", "-journal"}

// prepare makes sure that the database's file exists and that only this user can access
// it; the folder has been prepared. fresh is true if the file has no content yet.
//
// The file is created here because SQLite would make it readable for everyone and follow
// a link. Its side files get the mode of the file. The descriptor is closed before
// SQLite opens the file (see the package comment).
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
		if info.Size() < minPage { // SQLite would treat it as new
			return false, fmt.Errorf("opening %s: %w: it was cut to %d bytes", path, ErrDamaged, info.Size())
		}
		return false, checkWholePages(path, info.Size())
	}
	// SQLite silently deletes the log of an empty database.
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
	case !ownedByUs(info):
		return fmt.Errorf("folder %s: %w: it belongs to someone else", dir, ErrUnsafe)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("folder %s: %w: others may enter it (mode %04o, want 0700)", dir, ErrUnsafe, info.Mode().Perm())
	}
	return nil
}

// checkFile returns an error unless the file is a regular file that only this user can
// access. It may use the name, because nobody else can change names in the folder.
func checkFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("checking database: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is a link or no regular file", path, ErrUnsafe)
	case !ownedByUs(info):
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
	if !ownedByUs(info) && os.Geteuid() != 0 {
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

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// syncFolder makes new names in a folder durable.
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

// SetAside renames a damaged database and its side files, so that a new one can take its
// place and the old one can still be examined. It returns the new name,
// PATH.damaged-TIME; the side files are renamed with it, so that SQLite finds them.
// Nothing is deleted or overwritten. The database must not be open.
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

// unusedName returns the first of name, name-2, name-3 … of which neither the file nor
// side files exist.
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
