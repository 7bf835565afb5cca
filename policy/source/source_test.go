package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/policytest"
)

func names(t *Tree) []string {
	var out []string
	for _, f := range t.Files {
		out = append(out, f.Rel+"="+string(f.Data))
	}
	return out
}

func TestRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy.d")
	policytest.Write(t, dir, map[string]string{
		"b.rego": "b", "a.rego": "a", "sub/c.rego": "c", "rules.yaml": "y", "README.md": "no", "data.json": "no",
		".hidden.rego": "no", ".git/x.rego": "no", "a.rego~": "no", "other.yaml": "no",
	})
	if err := os.Symlink("b.rego", filepath.Join(dir, "link.rego")); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, Access{Owners: policytest.Owners()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.rego=a", "b.rego=b", "link.rego=b", "rules.yaml=y", "sub/c.rego=c"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{dir, filepath.Join(dir, "sub")}, got.Dirs); diff != "" {
		t.Error(diff)
	}
	lists, err := Read(dir, Access{ListsOnly: true})
	if err != nil || len(lists.Files) != 1 || lists.Files[0].Rel != "rules.yaml" {
		t.Errorf("lists only: %v, %v", lists, err)
	}
	if none, err := Read(filepath.Join(dir, "none"), Access{}); err != nil || len(none.Dirs) > 0 {
		t.Errorf("a missing folder: %v, %v", none, err)
	}
}

// A mounted ConfigMap: real files in ..data, which is a link that gets swapped.
func TestReadConfigMap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy.d")
	policytest.Write(t, dir, map[string]string{"..2026_1/a.rego": "one", "..2026_1/sub/b.rego": "two"})
	for name, to := range map[string]string{"..data": "..2026_1", "a.rego": "..data/a.rego", "sub": "..data/sub"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(dir, Access{Owners: policytest.Owners()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.rego=one", "sub/b.rego=two"}, names(got)); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		at   string
		want string
	}{
		{"folder that everybody can write", func(t *testing.T, dir string) { policytest.Chmod(t, dir, 0o777) }, "", "can be written by everybody"},
		{"folder that everybody can write, sticky", func(t *testing.T, dir string) { policytest.Chmod(t, dir, 0o777|os.ModeSticky) }, "", "can be written by everybody"},
		{"folder that its group can write", func(t *testing.T, dir string) { policytest.Chmod(t, dir, 0o775) }, "", "can be written by its group"},
		{"parent that everybody can write", func(t *testing.T, dir string) { policytest.Chmod(t, filepath.Dir(dir), 0o777) }, "..", "can be written by everybody"},
		{"file that everybody can write", func(t *testing.T, dir string) { policytest.Chmod(t, filepath.Join(dir, "a.rego"), 0o666) }, "a.rego", "can be written by everybody"},
		{"link to the outside", func(t *testing.T, dir string) {
			policytest.Write(t, filepath.Dir(dir), map[string]string{"out.rego": "x"})
			policytest.Link(t, "../out.rego", filepath.Join(dir, "b.rego"))
		}, "b.rego", "leads out of the folder"},
		{"absolute link to the outside", func(t *testing.T, dir string) { policytest.Link(t, "/etc/passwd", filepath.Join(dir, "b.rego")) }, "b.rego", "leads out of the folder"},
		{"broken link", func(t *testing.T, dir string) { policytest.Link(t, "none", filepath.Join(dir, "b.rego")) }, "b.rego", "broken"},
		{"link to a folder", func(t *testing.T, dir string) {
			policytest.Write(t, dir, map[string]string{"sub/x.rego": "x"})
			policytest.Link(t, "sub", filepath.Join(dir, "other"))
		}, "other", "links to a folder"},
		{"link to itself", func(t *testing.T, dir string) { policytest.Link(t, ".", filepath.Join(dir, "loop")) }, "loop", "links to a folder"},
		{"large file", func(t *testing.T, dir string) {
			policytest.Write(t, dir, map[string]string{"b.rego": strings.Repeat("#", maxFileSize+1)})
		}, "b.rego", "larger than 1 MiB"},
		{"too many files", func(t *testing.T, dir string) {
			for i := range maxFiles { // names of one file: making as many files takes seconds
				if err := os.Link(filepath.Join(dir, "a.rego"), filepath.Join(dir, fmt.Sprintf("f%d.rego", i))); err != nil {
					t.Fatal(err)
				}
			}
		}, "", fmt.Sprintf("more than %d files", maxFiles)},
		{"too deep", func(t *testing.T, dir string) {
			policytest.Write(t, dir, map[string]string{strings.Repeat("d/", maxDepth+1) + "x.rego": "x"})
		}, strings.TrimSuffix(strings.Repeat("d/", maxDepth+1), "/"), "nested more than"},
		{"FIFO", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "b.rego"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "b.rego", "not a regular file"},
		{"other name of the list", func(t *testing.T, dir string) { policytest.Write(t, dir, map[string]string{"rules.yml": "x"}) }, "rules.yml", "is not read"},
		{"a FIFO for a folder", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(dir, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "", "not a directory"},
		{"a file for a folder", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			policytest.Write(t, filepath.Dir(dir), map[string]string{"policy.d": "x"})
		}, "", "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "permd", "policy.d")
			policytest.Write(t, dir, map[string]string{"a.rego": "a"})
			tt.make(t, dir)
			_, err := Read(dir, Access{Owners: policytest.Owners()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), filepath.Join(dir, tt.at)) {
				t.Errorf("error %v, want one of %s with %q", err, filepath.Join(dir, tt.at), tt.want)
			}
		})
	}
	t.Run("foreign owner", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "policy.d")
		policytest.Write(t, dir, map[string]string{"a.rego": "a"})
		if _, err := Read(dir, Access{Owners: []uint32{4242}}); err == nil || !strings.Contains(err.Error(), "belongs to uid") {
			t.Errorf("error %v", err)
		}
	})
}

// Write access of only the owner's private group is accepted, but not for the
// rules of an organisation.
func TestReadPrivateGroup(t *testing.T) {
	t.Parallel()
	mine := uint32(os.Getgid())
	for _, tt := range []struct {
		name    string
		private func(gid uint32) bool
		mode    os.FileMode
		want    string
	}{
		{"private", func(gid uint32) bool { return gid == mine }, 0o664, ""},
		{"shared", func(gid uint32) bool { return gid != mine }, 0o664, fmt.Sprintf("can be written by its group (gid %d), mode 0664", mine)},
		{"no group is", nil, 0o664, "can be written by its group"},
		{"private, and everybody may write", func(uint32) bool { return true }, 0o666, "can be written by everybody"},
	} {
		for _, at := range []string{"..", ".", "sub", "sub/a.rego"} {
			t.Run(tt.name+"/"+at, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "permd", "policy.d")
				policytest.Write(t, dir, map[string]string{"sub/a.rego": "a"})
				name := filepath.Join(dir, at)
				policytest.Chmod(t, name, tt.mode|0o100)
				_, err := Read(dir, Access{Owners: policytest.Owners(), PrivateGroup: tt.private})
				if tt.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				pe, ok := errors.AsType[diag.Problem](err)
				want := strings.Replace(tt.want, "0664", "0764", 1)
				if !ok || pe.File != name || !strings.Contains(pe.Text, want) || !strings.HasPrefix(pe.Hint, "chmod g") || !strings.HasSuffix(pe.Hint, " "+name) {
					t.Errorf("error %+v, want %q of %s", err, want, name)
				}
			})
		}
	}
}

func TestDigest(t *testing.T) {
	f := func(name, data string) File { return File{Name: name, Data: []byte(data)} }
	all := map[string]string{}
	for name, d := range map[string]string{
		"none": Digest(nil, nil), "extra": Digest([]string{"a"}, nil), "two extras": Digest([]string{"a", ""}, nil),
		"one": Digest(nil, []File{f("a", "b")}), "moved": Digest(nil, []File{f("ab", "")}),
		"two": Digest(nil, []File{f("a", "b"), f("", "")}),
	} {
		if other, ok := all[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		all[d] = name
	}
}
