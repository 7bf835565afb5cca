package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a test for all systems that uses what only a test for Linux declares is found,
// and so is a function that another system does not have.
func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the go command lists what is imported on two systems; .ci/run checks permd itself")
	}
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/some\n\ngo 1.26\n")
	write("some.go", "package some\n")
	write("some_linux_test.go", "package some\n\nfunc helper() {}\n")
	write("some_test.go", "package some\n\nvar _ = helper\n")
	if err := check(dir, "linux"); err != nil {
		t.Errorf("for Linux: %v", err)
	}
	if err := check(dir, "darwin"); err == nil || !strings.Contains(err.Error(), "some_test.go:3:9: undefined: helper") {
		t.Errorf("for macOS: %v", err)
	}
	write("some_test.go", "package some\n")
	if err := check(dir, "darwin"); err != nil {
		t.Errorf("without the use: %v", err)
	}
	write("some.go", "package some\n\nimport \"syscall\"\n\nvar _ = syscall.Gettid\n")
	if err := check(dir, "darwin"); err == nil || !strings.Contains(err.Error(), "undefined: syscall.Gettid") {
		t.Errorf("for macOS: %v", err)
	}
	if err := check(dir, "darwin", "./nowhere"); err == nil {
		t.Error("no packages are no error")
	}
}
