package statefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplace: the file has what was written last, is the user's alone, and what a
// replacement that was cut off has left is no obstacle, and is not written through.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	for _, p := range []string{path + ".new", other} {
		if err := os.WriteFile(p, []byte("much that was there before"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"one", "two", ""} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, uint32(os.Geteuid()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		info, serr := f.Stat()
		if err := errors.Join(err, serr, f.Close()); err != nil || string(got) != text || info.Mode() != 0o600 {
			t.Errorf("%q, %v, mode %v; want %q", got, err, info.Mode(), text)
		}
		if err := os.Symlink(other, path+".new"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "much that was there before" {
		t.Errorf("where a link leads there is %q, %v", got, err)
	}
}

// TestReplaceFails checks that the file is unchanged and no temporary file remains.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("one")); err == nil {
		t.Error("a folder was replaced")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left: %v, %v", list, err)
	}
	if err := Replace(filepath.Join(dir, "none", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
}

func TestOpenForeign(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	if err := Replace(own, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		make func(path string) error
		err  error
	}{
		"nothing":  {func(string) error { return nil }, fs.ErrNotExist},
		"link":     {func(path string) error { return os.Symlink(own, path) }, syscall.ELOOP},
		"pipe":     {func(path string) error { return syscall.Mkfifo(path, 0o600) }, ErrForeign},
		"folder":   {func(path string) error { return os.Mkdir(path, 0o700) }, ErrForeign},
		"of group": {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620)) }, ErrForeign},
		"of all":   {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602)) }, ErrForeign},
	} {
		path := filepath.Join(dir, name)
		if err := want.make(path); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, uint32(os.Geteuid()))
		if !errors.Is(err, want.err) {
			t.Errorf("%s: %v, want %v", name, err, want.err)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := Open(own, uint32(os.Geteuid())+1); !errors.Is(err, ErrForeign) {
		t.Errorf("of another user: %v", err)
	}
}
