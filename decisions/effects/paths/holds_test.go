package paths

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHolds compares Holds with ReadFile, and both with what was written.
func TestHolds(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 511, 512, 513, 4095, 4096, 4097, 10_000} {
		file := filepath.Join(dir, "f")
		text := strings.Repeat("x", size)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int64{0, int64(size) - 1, int64(size), int64(size) + 1, 1 << 20} {
			if limit < 0 {
				continue
			}
			data, err := OSFS{}.ReadFile(file, limit)
			if (err == nil) != (int64(size) <= limit) || err == nil && string(data) != text {
				t.Errorf("%d bytes with limit %d: read %d, %v", size, limit, len(data), err)
			}
			for _, other := range []string{text, text + "x", strings.TrimSuffix(text, "x"), strings.Repeat("y", size)} {
				want := err == nil && other == text
				if same, _ := (OSFS{}).Holds(file, limit, other); same != want {
					t.Errorf("%d bytes with limit %d hold %d bytes: %v", size, limit, len(other), same)
				}
			}
		}
	}
	// The size that the kernel tells of these is no size.
	for _, file := range []string{"/proc/self/cmdline", "/proc/self/status"} {
		data, err := OSFS{}.ReadFile(file, 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		want, _ := os.ReadFile(file)
		if err != nil || file == "/proc/self/cmdline" && !bytes.Equal(data, want) || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", file, len(data), err)
		}
	}
	for name, path := range map[string]string{
		"a folder": dir, "nothing": filepath.Join(dir, "none"), "a NUL": "/dev/null\x00x", "a long path": filepath.Join(dir, strings.Repeat("d/", stackTested)),
	} {
		same, err := (OSFS{}).Holds(path, 10, "")
		_, read := OSFS{}.ReadFile(path, 10)
		if same || err == nil || read == nil || err.Error() != read.Error() {
			t.Errorf("%s: %v, %v; %v when read", name, same, err, read)
		}
	}
}

// stackTested is more than fits on the stack (see osfs_stack.go).
const stackTested = 1000

// TestLstat compares the lookup by a path on the stack with that of the library.
func TestLstat(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, strings.Repeat("d", 200), strings.Repeat("e", 200), strings.Repeat("f", 200))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	list := []string{"", "/", ".", dir, dir + "/link", dir + "/link/x", dir + "/none", dir + "/\x00", "/dev/null\x00", "/dev/null", "/proc/self/exe", long, long + "/none", strings.Repeat("x", 5000)}
	for n := 500; n < 520; n++ {
		list = append(list, "/"+strings.Repeat("/", n-2)+".", strings.Repeat("x", n))
	}
	for _, path := range list {
		var got, want unix.Stat_t
		gotErr, wantErr := lstat(path, &got), unix.Lstat(path, &want)
		if !errors.Is(gotErr, wantErr) || got.Ino != want.Ino || got.Mode != want.Mode || got.Dev != want.Dev {
			t.Errorf("%.40q (%d bytes): got %+v, %v; want %+v, %v", path, len(path), got, gotErr, want, wantErr)
		}
	}
}
