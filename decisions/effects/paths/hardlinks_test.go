package paths

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/filetest"
)

// hardLinked makes a home with a project on the real file system, in which some
// files have a second name.
func hardLinked(t *testing.T, links map[string]string) (root string, r func() *Resolver) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		filetest.Write(t, filepath.Join(root, name), "canary of "+name)
	}
	for _, name := range []string{
		"home/.ssh/id_ed25519", "home/.config/gh/hosts.yml", "home/.aws/sso/cache/a.json", "home/.bashrc", "home/notes.txt",
		"home/proj/.env", "home/proj/deep/er/.env", "home/proj/.git/hooks/pre-commit", "home/proj/.claude/settings.json", "home/proj/main.go",
		"home/.local/share/permd/decisions.db", "home/.local/share/permd/http.token", "home/.config/permd/policy.d/a/rules.yaml", "opt/permd",
		"store/v3/files/00/1",
	} {
		write(name)
	}
	for link, to := range links {
		link = filepath.Join(root, "home/proj", link)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(root, to), link); err != nil {
			t.Fatal(err)
		}
	}
	return root, hardLinkedIn(root, OSFS{})
}

// hardLinkedIn makes resolvers for what hardLinked made.
func hardLinkedIn(root string, files effects.FS) func() *Resolver {
	own := OwnFiles(root+"/home/.config/permd", root+"/home/.local/share/permd").WithProgram([]string{root + "/opt/permd"}, nil)
	index := NewIndex(files, time.Now)
	index.Background = func(task func()) { task() }
	return func() *Resolver {
		return NewResolver(Environment{FS: index, Own: &own}, &effects.Call{Cwd: root + "/home/proj", User: effects.User{Home: root + "/home"}})
	}
}

// TestHardLinks: a file of the project that is another name of a guarded file is
// guarded too, and writing a file with several names is a write outside the
// project.
func TestHardLinks(t *testing.T) {
	type wants struct{ read, write effects.Tags }
	tag := effects.TagsOf
	secret, permd := effects.Secret, effects.Permd
	cases := map[string]struct {
		to    string
		wants wants
	}{
		"a.txt":              {"home/.ssh/id_ed25519", wants{tag(secret), tag(secret)}},
		"b.txt":              {"home/.config/gh/hosts.yml", wants{tag(secret), tag(secret)}},
		"c.txt":              {"home/.aws/sso/cache/a.json", wants{tag(secret), tag(secret)}},
		"src/d.txt":          {"home/.bashrc", wants{0, tag(effects.Startup)}},
		"e.txt":              {"home/proj/.env", wants{tag(secret), tag(secret)}},
		"f.txt":              {"home/proj/deep/er/.env", wants{tag(secret), tag(secret)}},
		"g.txt":              {"home/proj/.git/hooks/pre-commit", wants{0, tag(effects.VCS, effects.Startup)}},
		"h.txt":              {"home/proj/.claude/settings.json", wants{0, tag(effects.AgentConfig)}},
		"i.txt":              {"home/.local/share/permd/decisions.db", wants{tag(permd), tag(permd)}},
		"j.txt":              {"home/.local/share/permd/http.token", wants{tag(permd), tag(permd)}},
		"k.txt":              {"home/.config/permd/policy.d/a/rules.yaml", wants{tag(permd), tag(permd)}},
		"tool":               {"opt/permd", wants{0, tag(permd)}},
		"n.txt":              {"home/notes.txt", wants{0, 0}},
		"packages/dep/index": {"store/v3/files/00/1", wants{0, 0}},
	}
	links := map[string]string{}
	for link, c := range cases {
		links[link] = c.to
	}
	root, resolver := hardLinked(t, links)
	guarded := effects.TagsOf(effects.Secret, effects.Startup, effects.VCS, effects.AgentConfig, effects.Permd, effects.CI)
	for link, c := range cases {
		r := resolver()
		read, write, remove := r.File(effects.KindRead, link, root+"/home/proj", ""), r.File(effects.KindWrite, link, root+"/home/proj", ""), r.File(effects.KindDelete, link, root+"/home/proj", "")
		if got := read.Tags & guarded; got != c.wants.read || !read.Tags.Has(effects.InProject) {
			t.Errorf("read %s, which is %s: %v", link, c.to, read.Tags)
		}
		if got := write.Tags & guarded; got != c.wants.write || write.Tags.Has(effects.InProject) || !write.Tags.Has(effects.Outside) {
			t.Errorf("write %s, which is %s: %v", link, c.to, write.Tags)
		}
		if remove.Tags&guarded != 0 || !remove.Tags.Has(effects.InProject) {
			t.Errorf("delete %s, which is %s: %v", link, c.to, remove.Tags)
		}
	}
	// A file with one name has only the tags of its name.
	r := resolver()
	for _, kind := range []effects.Kind{effects.KindRead, effects.KindWrite} {
		if e := r.File(kind, "main.go", root+"/home/proj", ""); e.Tags&guarded != 0 || !e.Tags.Has(effects.InProject) || e.Text != string(kind)+" ./main.go" {
			t.Errorf("%s main.go: %q %v", kind, e.Text, e.Tags)
		}
	}
	if r.guardedFiles != nil {
		t.Error("other names were looked for where no file has any")
	}
}

// TestHardLinksBound: of a home with many guarded files, only the nearest are
// compared, up to a bound.
func TestHardLinksBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it makes thousands of files; TestHardLinks is the quick one")
	}
	root, _ := hardLinked(t, map[string]string{"a.txt": "home/.ssh/id_ed25519", "b.txt": "home/.bashrc"})
	for i := range 3 {
		dir := fmt.Sprintf("%s/home/.mozilla/p%d", root, i)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range maxNamed / 2 {
			if err := os.WriteFile(fmt.Sprintf("%s/%d", dir, n), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := countingFS{below: root + "/home/.mozilla/", looks: new(int)}
	if e := hardLinkedIn(root, files)().File(effects.KindRead, "a.txt", root+"/home/proj", ""); !e.Tags.Has(effects.Secret) {
		t.Errorf("%v", e.Tags)
	}
	if *files.looks < maxNamed/2 || *files.looks > maxNamed {
		t.Errorf("%d of %d files were looked at, want at most %d", *files.looks, 3*maxNamed/2, maxNamed)
	}
}

// countingFS counts how often a file below a folder is looked at.
type countingFS struct {
	OSFS
	below string
	looks *int
}

func (c countingFS) Lstat(path string) (fs.FileMode, error) {
	if strings.HasPrefix(path, c.below) && strings.Count(path[len(c.below):], "/") > 0 {
		*c.looks++
	}
	return c.OSFS.Lstat(path)
}
