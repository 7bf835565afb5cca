package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func self() []uint32 { return []uint32{0, uint32(os.Getuid())} }

func names(t *tree) []string {
	var out []string
	for _, f := range t.files {
		out = append(out, f.rel+"="+string(f.data))
	}
	return out
}

func TestReadTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy.d")
	write(t, dir, map[string]string{
		"b.rego": "b", "a.rego": "a", "sub/c.rego": "c", "rules.yaml": "y", "README.md": "no", "data.json": "no",
		".hidden.rego": "no", ".git/x.rego": "no", "a.rego~": "no", "other.yaml": "no",
	})
	if err := os.Symlink("b.rego", filepath.Join(dir, "link.rego")); err != nil {
		t.Fatal(err)
	}
	got, err := readTree(dir, treeRules{owners: self()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.rego=a", "b.rego=b", "link.rego=b", "rules.yaml=y", "sub/c.rego=c"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{dir, filepath.Join(dir, "sub")}, got.dirs); diff != "" {
		t.Error(diff)
	}
	lists, err := readTree(dir, treeRules{listsOnly: true})
	if err != nil || len(lists.files) != 1 || lists.files[0].rel != "rules.yaml" {
		t.Errorf("lists only: %v, %v", lists, err)
	}
	if none, err := readTree(filepath.Join(dir, "none"), treeRules{}); err != nil || !none.absent {
		t.Errorf("a missing folder: %v, %v", none, err)
	}
}

// A mounted ConfigMap: real files in ..data, which is a link that gets swapped.
func TestReadTreeConfigMap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy.d")
	write(t, dir, map[string]string{"..2026_1/a.rego": "one", "..2026_1/sub/b.rego": "two"})
	for name, to := range map[string]string{"..data": "..2026_1", "a.rego": "..data/a.rego", "sub": "..data/sub"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readTree(dir, treeRules{owners: self()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.rego=one", "sub/b.rego=two"}, names(got)); diff != "" {
		t.Error(diff)
	}
}

func TestReadTreeRefuses(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		at   string
		want string
	}{
		{"folder that everybody can write", func(t *testing.T, dir string) { chmod(t, dir, 0o777) }, "", "can be written by everybody"},
		{"folder that everybody can write, sticky", func(t *testing.T, dir string) { chmod(t, dir, 0o777|os.ModeSticky) }, "", "can be written by everybody"},
		{"folder that its group can write", func(t *testing.T, dir string) { chmod(t, dir, 0o775) }, "", "can be written by its group"},
		{"parent that everybody can write", func(t *testing.T, dir string) { chmod(t, filepath.Dir(dir), 0o777) }, "..", "can be written by everybody"},
		{"file that everybody can write", func(t *testing.T, dir string) { chmod(t, filepath.Join(dir, "a.rego"), 0o666) }, "a.rego", "can be written by everybody"},
		{"link to the outside", func(t *testing.T, dir string) {
			write(t, filepath.Dir(dir), map[string]string{"out.rego": "x"})
			link(t, "../out.rego", filepath.Join(dir, "b.rego"))
		}, "b.rego", "leads out of the folder"},
		{"absolute link to the outside", func(t *testing.T, dir string) { link(t, "/etc/passwd", filepath.Join(dir, "b.rego")) }, "b.rego", "leads out of the folder"},
		{"broken link", func(t *testing.T, dir string) { link(t, "none", filepath.Join(dir, "b.rego")) }, "b.rego", "broken"},
		{"link to a folder", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"sub/x.rego": "x"})
			link(t, "sub", filepath.Join(dir, "other"))
		}, "other", "links to a folder"},
		{"link to itself", func(t *testing.T, dir string) { link(t, ".", filepath.Join(dir, "loop")) }, "loop", "links to a folder"},
		{"large file", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"b.rego": strings.Repeat("#", maxFileSize+1)})
		}, "b.rego", "larger than 1 MiB"},
		{"too many files", func(t *testing.T, dir string) {
			for i := range maxFiles + 1 {
				write(t, dir, map[string]string{fmt.Sprintf("f%d.rego", i): ""})
			}
		}, "", "more than 4096 files"},
		{"too deep", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{strings.Repeat("d/", maxDepth+1) + "x.rego": "x"})
		}, strings.TrimSuffix(strings.Repeat("d/", maxDepth+1), "/"), "nested more than"},
		{"FIFO", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "b.rego"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "b.rego", "not a regular file"},
		{"other name of the list", func(t *testing.T, dir string) { write(t, dir, map[string]string{"rules.yml": "x"}) }, "rules.yml", "is not read"},
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
			write(t, filepath.Dir(dir), map[string]string{"policy.d": "x"})
		}, "", "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "permd", "policy.d")
			write(t, dir, map[string]string{"a.rego": "a"})
			tt.make(t, dir)
			_, err := readTree(dir, treeRules{owners: self()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), filepath.Join(dir, tt.at)) {
				t.Errorf("error %v, want one of %s with %q", err, filepath.Join(dir, tt.at), tt.want)
			}
		})
	}
	t.Run("foreign owner", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "policy.d")
		write(t, dir, map[string]string{"a.rego": "a"})
		if _, err := readTree(dir, treeRules{owners: []uint32{4242}}); err == nil || !strings.Contains(err.Error(), "belongs to uid") {
			t.Errorf("error %v", err)
		}
	})
}

// What only the owner's private group may write besides is as good as theirs;
// not so for the rules of an organisation.
func TestReadTreePrivateGroup(t *testing.T) {
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
				write(t, dir, map[string]string{"sub/a.rego": "a"})
				name := filepath.Join(dir, at)
				chmod(t, name, tt.mode|0o100)
				_, err := readTree(dir, treeRules{owners: self(), private: tt.private})
				if tt.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				pe, ok := errors.AsType[*problemError](err)
				want := strings.Replace(tt.want, "0664", "0764", 1)
				if !ok || pe.p.File != name || !strings.Contains(pe.p.Text, want) || !strings.HasPrefix(pe.p.Hint, "chmod g") || !strings.HasSuffix(pe.p.Hint, " "+name) {
					t.Errorf("error %+v, want %q of %s", err, want, name)
				}
			})
		}
	}
	w := newWorld(t)
	w.opts.PrivateGroup = func(uint32, uint32) bool { return true }
	write(t, w.user, map[string]string{"a.rego": rulesFor("user", "deny", "rm", "user")})
	chmod(t, filepath.Join(w.user, "a.rego"), 0o664)
	s := w.open(t)
	if l := userLayer(s); l.State != StateOK || l.Deny != 1 {
		t.Errorf("status of user: %+v", l)
	}
	chmod(t, w.org, 0o775)
	if _, err := Open(t.Context(), w.opts); err == nil || !strings.Contains(err.Error(), "can be written by its group") {
		t.Errorf("a folder of the organisation that a group may write: %v", err)
	}
}

func TestDigest(t *testing.T) {
	f := func(name, data string) source { return source{name: name, data: []byte(data)} }
	all := map[string]string{}
	for name, d := range map[string]string{
		"none": digestOf(nil, nil), "extra": digestOf([]string{"a"}, nil), "two extras": digestOf([]string{"a", ""}, nil),
		"one": digestOf(nil, []source{f("a", "b")}), "moved": digestOf(nil, []source{f("ab", "")}),
		"two": digestOf(nil, []source{f("a", "b"), f("", "")}),
	} {
		if other, ok := all[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		all[d] = name
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
