// Package policytest has helpers for tests of policy folders.
package policytest

import (
	"os"
	"path/filepath"
	"testing"
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
