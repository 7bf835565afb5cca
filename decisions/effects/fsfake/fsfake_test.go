package fsfake

import (
	"errors"
	"io/fs"
	"testing"
)

func TestFS(t *testing.T) {
	f := New("/a/dir/", "/a/file", "/link -> a", "/loop -> loop", "/up -> a/dir/../file").Deny("/locked").Device("/dev/x")
	f.File("/locked/in", "x")
	for _, tt := range []struct {
		path string
		mode fs.FileMode
		err  error
	}{
		{"/", fs.ModeDir, nil},
		{"/a", fs.ModeDir, nil},
		{"/a/file", 0, nil},
		{"/link", fs.ModeSymlink, nil},
		{"/link/file", 0, nil},
		{"/dev/x", fs.ModeDevice | fs.ModeCharDevice, nil},
		{"/none", 0, fs.ErrNotExist},
		{"/none/x", 0, fs.ErrNotExist},
		{"/locked", fs.ModeDir, nil},
		{"/locked/in", 0, fs.ErrPermission},
		{"/locked/none", 0, fs.ErrPermission},
	} {
		mode, err := f.Lstat(tt.path)
		if mode.Type() != tt.mode || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, %v", tt.path, mode, err)
		}
	}
	for _, p := range []string{"/a/file/x", "/loop/x"} {
		if _, err := f.Lstat(p); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, which must not be ErrNotExist", p, err)
		}
	}
	if target, err := f.Readlink("/up"); target != "a/dir/../file" || err != nil {
		t.Errorf("readlink: got %q, %v", target, err)
	}
	if _, err := f.Readlink("/a"); err == nil {
		t.Error("readlink of a folder: no error")
	}
	f.File("/a/file", "12345")
	if data, err := f.ReadFile("/link/file", 5); string(data) != "12345" || err != nil {
		t.Errorf("read: got %q, %v", data, err)
	}
	if _, err := f.ReadFile("/a/file", 4); err == nil {
		t.Error("read above the limit: no error")
	}
	f.Remove("/a")
	if _, err := f.Lstat("/a/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after removal: got %v", err)
	}
}
