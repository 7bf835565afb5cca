package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

func TestContentDigest(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("abc"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for _, path := range []string{file, link} {
		if sum, n, err := contentDigest(path, 3); sum != abc || n != 3 || err != nil {
			t.Errorf("%s: %s, %d, %v", path, sum, n, err)
		}
		if sum, _, err := contentDigest(path, 2); sum != "" || err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s is too long: %q, %v", path, sum, err)
		}
	}
	for _, path := range []string{dir, "/dev/zero"} {
		if sum, _, err := contentDigest(path, 3); sum != "" || !errors.Is(err, decisions.ErrNoContent) {
			t.Errorf("%s: %q, %v", path, sum, err)
		}
	}
	if _, _, err := contentDigest(filepath.Join(dir, "none"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
