package account

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestMaySearch: a folder counts with all above it, as its owner, its group and others are let in,
// and through links.
func TestMaySearch(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Skip("the folders of the test cannot be opened: ", err)
		}
	}
	inner := filepath.Join(dir, "home", "project")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(inner, link); err != nil {
		t.Fatal(err)
	}
	me, other := &effects.User{UID: uint32(os.Geteuid())}, &effects.User{UID: 4711, Name: "nobody-of-the-test"}
	may := func(u *effects.User, path string) bool {
		ok, err := MaySearch(u, path)
		return err == nil && ok
	}
	for _, tt := range []struct {
		mode          os.FileMode
		other, owners bool
	}{{0o755, true, true}, {0o700, false, true}, {0o750, false, true}, {0o711, true, true}, {0o744, false, true}} {
		if err := os.Chmod(filepath.Dir(inner), tt.mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{inner, link} {
			if got := may(other, path); got != tt.other {
				t.Errorf("mode %o: another user may enter %s: %v", tt.mode, path, got)
			}
			if got := may(me, path); got != tt.owners {
				t.Errorf("mode %o: the owner may enter %s: %v", tt.mode, path, got)
			}
		}
	}
	if may(other, filepath.Join(dir, "none")) || may(other, filepath.Join(dir, "link", "none")) {
		t.Error("what is not there can be entered")
	}
}
