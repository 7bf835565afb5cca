// Package policytest has helpers for tests of policy folders.
package policytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Write writes files below dir.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Age makes what was just written in a folder an hour old, so that permd uses it
// without the wait for the end of a change. What is older, or of the future,
// stays as it is.
func Age(t testing.TB, dir string) {
	t.Helper()
	now := time.Now()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if age := now.Sub(info.ModTime()); age < 0 || age > time.Minute {
			return nil
		}
		return os.Chtimes(path, time.Time{}, now.Add(-time.Hour))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Chmod changes the mode of a file.
func Chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Link makes a link to a file.
func Link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// Owners are root and the user running the test, who may own rules files.
func Owners() []uint32 { return []uint32{0, uint32(os.Getuid())} }
