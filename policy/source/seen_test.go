package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/policy/policytest"
)

// local is the file system of this machine.
type local struct{ remote bool }

func (local) Lstat(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (local) Stamp(path string) (Stamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Stamp{}, err
	}
	return Stamp{Changed: info.ModTime().UnixNano()}, nil
}

func (l local) KeepsStamps(string) bool { return !l.remote }

// TestSee: what could change without a notice is not seen.
func TestSee(t *testing.T) {
	root := t.TempDir()
	dir, none := filepath.Join(root, "policy.d"), filepath.Join(root, "none")
	policytest.Write(t, dir, map[string]string{"a.rego": "a", ".b": "b"})
	linked := filepath.Join(root, "linked")
	for link, to := range map[string]string{filepath.Join(dir, "b.rego"): ".b", linked: dir} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	// As if all of it were read in an hour, when the files are old.
	later := time.Now().Add(time.Hour)
	a, b := File{Name: filepath.Join(dir, "a.rego")}, File{Name: filepath.Join(dir, "b.rego")}
	many := make([]File, maxSeen)
	for i := range many {
		many[i] = a
	}
	for _, tt := range []struct {
		name        string
		by          Looker
		begun       time.Time
		dirs, found []string
		files       []File
		want        bool
	}{
		{"files and a folder that is not there", local{}, later, []string{dir, none}, []string{dir}, []File{a}, true},
		{"just changed", local{}, time.Now(), []string{dir}, []string{dir}, []File{a}, false},
		{"a link to a file", local{}, later, []string{dir}, []string{dir}, []File{a, b}, false},
		{"a link to the folder", local{}, later, []string{linked}, []string{linked}, nil, false},
		{"a folder that came meanwhile", local{}, later, []string{dir}, nil, nil, false},
		{"a file that went meanwhile", local{}, later, []string{dir}, []string{dir}, []File{{Name: filepath.Join(dir, "gone.rego")}}, false},
		{"on a file system without stamps", local{remote: true}, later, []string{dir}, []string{dir}, []File{a}, false},
		{"nothing there, on such a file system", local{remote: true}, later, []string{none}, nil, nil, false},
		{"too much", local{}, later, []string{dir}, []string{dir}, many, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := See(tt.by, Access{}, tt.begun, tt.dirs, tt.found, tt.files)
			if (s != nil) != tt.want || s.Same(tt.by, time.Hour) != tt.want {
				t.Errorf("seen: %v, the same: %v, want %v", s != nil, s.Same(tt.by, time.Hour), tt.want)
			}
		})
	}
	s := See(local{}, Access{}, time.Now().Add(-time.Hour), nil, nil, nil)
	if !s.Same(local{}, 2*time.Hour) || s.Same(local{}, 59*time.Minute) {
		t.Error("what was seen an hour ago is the same for less or more than that")
	}
}
