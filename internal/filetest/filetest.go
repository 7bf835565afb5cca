// Package filetest writes files for tests. It is imported by tests alone.
package filetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes a file that only its owner can read, and makes its folders.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
