package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	_, err = Take(path)
	held, ok := errors.AsType[*Held](err)
	if !ok || held.PID != os.Getpid() {
		t.Errorf("a second Take: %v, want it to name pid %d", err, os.Getpid())
	}
	if err := l.Free(); err != nil {
		t.Error(err)
	}
	if err := l.Free(); err != nil {
		t.Errorf("a second Free: %v", err)
	}
	if l, err = Take(path); err != nil {
		t.Fatalf("after Free: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(data)) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the file says %q, %v", data, err)
	}
	if err := l.Free(); err != nil {
		t.Error(err)
	}
}

// TestForeignFiles: a file at the path that is not a lock file is not touched.
func TestForeignFiles(t *testing.T) {
	const diary = "dear diary"
	tests := []struct {
		name string
		make func(path, other string) error
		says string
	}{
		{"link", func(path, other string) error { return os.Symlink(other, path) }, "a symbolic link"},
		{"second name", func(path, other string) error { return os.Link(other, path) }, "another name"},
		{"fifo", func(path, _ string) error { return unix.Mkfifo(path, 0o600) }, "not a regular file"},
		{"folder", func(path, _ string) error { return os.Mkdir(path, 0o700) }, "is a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path, other := filepath.Join(dir, "lock"), filepath.Join(dir, "other")
			if err := os.WriteFile(other, []byte(diary), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(path, other); err != nil {
				t.Fatal(err)
			}
			_, err := Take(path)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v, want it to say %q", err, tt.says)
			}
			if data, err := os.ReadFile(other); err != nil || string(data) != diary {
				t.Errorf("the other file now says %q, %v", data, err)
			}
		})
	}
}

func TestNoFolder(t *testing.T) {
	if _, err := Take(filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// TestFreeBesideACopy: a child has a copy of the descriptor from fork until exec.
func TestFreeBesideACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := unix.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	if err := l.Free(); err != nil {
		t.Fatal(err)
	}
	l, err = Take(path)
	if err != nil {
		t.Fatalf("taking what was freed: %v", err)
	}
	if err := errors.Join(l.Free(), l.Free()); err != nil {
		t.Errorf("freeing twice: %v", err)
	}
}
