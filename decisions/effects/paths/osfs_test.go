package paths

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

func TestRealFileSystem(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/proj/.git", "home/proj/src", "outside/sub", "home/proj/locked/in"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"home/proj/link": root + "/outside", "home/proj/loop": "loop", "home/proj/root": "/proc/self/root", "proj": "home/proj",
		"home/proj/deep": "../../outside/sub",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "home/proj/locked"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "home/proj/locked"), 0o700) })
	proj := root + "/home/proj"
	r := NewResolver(Environment{FS: OSFS{}}, &effects.Call{Cwd: root + "/proj", User: effects.User{Home: root + "/home"}})
	if got := r.Project(); got != proj {
		t.Errorf("project: got %q, want %q", got, proj)
	}
	for _, tt := range []struct{ given, want string }{
		{"src/new/a.go", proj + "/src/new/a.go"},
		{"link/x", root + "/outside/x"},
		{"loop/x", "?"},
		{"root/etc/passwd", "?"},
		{"deep/../x", "?"},
	} {
		got := resolved(r.File(effects.KindRead, tt.given, root+"/proj", ""))
		if tt.want == "?" && got[0] != '?' || tt.want != "?" && got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.given, got, tt.want)
		}
	}
	if got := resolved(r.Operand(effects.KindRead, "deep/../x", proj, "")); got != root+"/outside/x" {
		t.Errorf("operand behind a link: got %q", got)
	}
	if os.Geteuid() != 0 { // root reads everything
		if e := r.File(effects.KindRead, "locked/in", proj, ""); e.Kind != effects.KindUnknown {
			t.Errorf("in a folder that cannot be searched: got %q", resolved(e))
		}
	}
}

func TestOSFSReadFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if data, err := (OSFS{}).ReadFile(file, 5); err != nil || string(data) != "12345" {
		t.Errorf("at the limit: got %q, %v", data, err)
	}
	if _, err := (OSFS{}).ReadFile(file, 4); err == nil {
		t.Error("above the limit: no error")
	}
	if _, err := (OSFS{}).ReadFile(filepath.Join(dir, "link"), 5); err == nil {
		t.Error("a link: no error")
	}
	if _, err := (OSFS{}).ReadFile(dir, 5); err == nil {
		t.Error("a folder: no error")
	}
	if _, err := (OSFS{}).Lstat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	if _, err := (OSFS{}).Lstat(file + "/x"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a file: got %v, which must not be ErrNotExist", err)
	}
}

// BenchmarkFile measures one effect of a path in a project on the real file system;
// lstat measures the file system's part of it.
func BenchmarkFile(b *testing.B) {
	root := b.TempDir()
	if err := os.MkdirAll(root+"/home/proj/.git", 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(root+"/home/proj/src", 0o700); err != nil {
		b.Fatal(err)
	}
	own := OwnFiles(root+"/home/.config/permd", "/etc/permd")
	env := Environment{FS: OSFS{}, Own: &own}
	c := &effects.Call{Cwd: root + "/home/proj", User: effects.User{Home: root + "/home"}}
	b.Run("effect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewResolver(env, c).File(effects.KindRead, "src/a.go", c.Cwd, "rawInput.path")
		}
	})
	b.Run("second", func(b *testing.B) {
		b.ReportAllocs()
		r := NewResolver(env, c)
		for b.Loop() {
			r.File(effects.KindRead, "src/a.go", c.Cwd, "rawInput.path")
		}
	})
	b.Run("lstat", func(b *testing.B) {
		for b.Loop() {
			_, _ = OSFS{}.Lstat(root + "/home/proj/src")
		}
	})
}

// TestOSFSLstat compares with the standard library on every kind of file.
func TestOSFSLstat(t *testing.T) {
	dir := t.TempDir()
	paths := []string{dir, dir + "/file", dir + "/link", dir + "/fifo", dir + "/socket", "/dev/null"}
	if err := os.WriteFile(dir+"/file", nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, p := range paths {
		fi, err := os.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := OSFS{}.Lstat(p)
		if want := fi.Mode() & (fs.ModeType | fs.ModePerm); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", p, got, err, want)
		}
	}
	if _, err := (OSFS{}).Lstat(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := (OSFS{}).Lstat(dir + "/file/x"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a file: %v", err)
	}
}

// TestOSFSNames compares with the standard library, up to the limit.
func TestOSFSNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", ".b", "c d"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	names, err := OSFS{}.Names(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	for _, n := range names {
		got[n.Name()] = n.Type()
	}
	want := map[string]fs.FileMode{"a": 0, ".b": 0, "c d": 0, "link": fs.ModeSymlink}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := (OSFS{}).Names(dir, 3); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("more than the limit: got %v", err)
	}
	if names, err := (OSFS{}).Names(t.TempDir(), 1); err != nil || len(names) != 0 {
		t.Errorf("an empty folder: got %v, %v", names, err)
	}
	if _, err := (OSFS{}).Names(dir+"/none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	for _, p := range []string{dir + "/link", dir + "/a"} {
		if _, err := (OSFS{}).Names(p, 9); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, which must be another error", p, err)
		}
	}
	if uid, err := (OSFS{}).Owner(dir); err != nil || int(uid) != os.Getuid() {
		t.Errorf("owner: got %d, %v", uid, err)
	}
}
