package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

func TestSurvey(t *testing.T) {
	fs := surveyedFiles()
	x := indexAtOnce(fs)
	for _, tt := range []struct {
		name, dir string
		want      Survey
	}{
		{"everything", indexRoot, Survey{Incomplete: true, Secrets: []string{
			indexRoot + "/config/.env", indexRoot + "/deploy/server.key", indexRoot + "/infra/secrets.yml",
		}, Nested: []string{indexRoot + "/node_modules"}}},
		{"a folder", indexRoot + "/infra", Survey{Secrets: []string{indexRoot + "/infra/secrets.yml"}}},
		{"none", indexRoot + "/src", Survey{}},
		{"keys of tests", indexRoot + "/deploy/tests", Survey{}},
		{"sometimes a secret", indexRoot + "/web", Survey{Incomplete: true}},
		{"dependencies", indexRoot + "/node_modules/x", Survey{Nested: []string{indexRoot + "/node_modules/x"}}},
		{"no folder", indexRoot + "/none/at/all", Survey{Nested: []string{indexRoot + "/none/at/all"}}},
		{"a file", indexRoot + "/src/main.go", Survey{Nested: []string{indexRoot + "/src/main.go"}}},
		{"elsewhere", "/etc", Survey{Incomplete: true, Nested: []string{"/etc"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, x.Survey(indexRoot, tt.dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLikely(t *testing.T) {
	for p, want := range map[string]likelihood{
		"/.env": certain, "/a/.env.production": certain, "/.env.example": none, "/.env.test": possible, "/.npmrc": possible, "/.envrc": possible,
		"/a/prod.env": certain, "/server.key": certain, "/tls/key.pem": certain, "/tls/PrivKey.PEM": certain, "/cert.pem": none, "/cert-key.pem": certain,
		"/ca.pem": none, "/tests/server.key": none, "/tests/.env": certain, "/a/testdata/b/id_rsa": none, "/id_rsa": certain, "/id_rsa.pub": none,
		"/.aws/credentials": certain, "/main.go": none, "/contest/server.key": certain,
	} {
		if got := likelihoodOf(filepath.Dir(p), filepath.Base(p)); got != want {
			t.Errorf("%s: %d, want %d", p, got, want)
		}
	}
}

// TestSurveyOfTests: keys of a project are secret even if the project itself is in
// a folder of tests.
func TestSurveyOfTests(t *testing.T) {
	x := indexAtOnce(fsfake.New("/home/ana/tests/shop/server.key"))
	if s := x.Survey("/home/ana/tests/shop", "/home/ana/tests/shop"); len(s.Secrets) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestSurveyFresh checks on a real file system that no answer is older than its
// question.
func TestSurveyFresh(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(root, name) }
	write := func(name string) {
		if err := os.WriteFile(file(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(file("a/b/c"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := NewIndex(OSFS{}, time.Now)
	x.Background = func(task func()) { task() }
	expect := func(step string, want ...string) {
		t.Helper()
		s := x.Survey(root, root)
		if diff := cmp.Diff(want, s.Secrets); diff != "" || s.Incomplete {
			t.Fatalf("%s: doubtful %v (-want +got)\n%s", step, s.Incomplete, diff)
		}
	}
	expect("empty")
	write("a/b/c/.env")
	expect("a new file", file("a/b/c/.env"))
	if err := os.Rename(file("a/b/c/.env"), file("a/b/c/x")); err != nil {
		t.Fatal(err)
	}
	expect("another name")
	if err := os.Rename(file("a/b/c/x"), file("a/.env")); err != nil {
		t.Fatal(err)
	}
	expect("another folder", file("a/.env"))
	if err := os.MkdirAll(file("new/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("new/deep/prod.env")
	expect("a new folder", file("a/.env"), file("new/deep/prod.env"))
	if err := os.Rename(file("new"), file("newer")); err != nil {
		t.Fatal(err)
	}
	expect("a moved folder", file("a/.env"), file("newer/deep/prod.env"))
	if err := os.Remove(file("a/.env")); err != nil {
		t.Fatal(err)
	}
	expect("gone", file("newer/deep/prod.env"))
}

// stampedFS gives folders of a file system in memory stamps, and counts how often
// they are read.
type stampedFS struct {
	*fsfake.FS
	stamp   Stamp
	changed map[string]uint64 // by folder, how often it has changed
	names   int
}

func (s *stampedFS) Stamp(p string) (Stamp, error) {
	stamp := s.stamp
	stamp.File += s.changed[p]
	return stamp, nil
}

func (s *stampedFS) Names(path string, limit int) ([]fs.DirEntry, error) {
	s.names++
	return s.FS.Names(path, limit)
}

// TestSurveyStamps: a folder is read again if its stamp has changed, and only then.
func TestSurveyStamps(t *testing.T) {
	f := &stampedFS{FS: fsfake.New("/p/a/b/c", "/p/d/e"), stamp: Stamp{File: 1}, changed: map[string]uint64{}}
	x := NewIndex(f, func() time.Time { return time.Unix(1e9, 0) })
	survey := func(step string, read int, want ...string) {
		t.Helper()
		before := f.names
		s := x.Survey("/p", "/p")
		if diff := cmp.Diff(want, s.Secrets); diff != "" || s.Incomplete || f.names-before != read {
			t.Errorf("%s: read %d folders, want %d; doubtful %v (-want +got)\n%s", step, f.names-before, read, s.Incomplete, diff)
		}
	}
	survey("first", 4)
	survey("again", 0)
	f.File("/p/a/b/.env", "")
	f.changed["/p/a/b"]++
	survey("a new file", 1, "/p/a/b/.env")
	f.File("/p/d/new/prod.env", "")
	f.changed["/p/d"]++
	survey("a new folder", 2, "/p/a/b/.env", "/p/d/new/prod.env")
	f.Remove("/p/a")
	f.changed["/p"]++
	f.changed["/p/a"]++
	f.changed["/p/a/b"]++
	survey("a folder is gone", 3, "/p/d/new/prod.env")
	survey("again", 0, "/p/d/new/prod.env")
}

// TestSurveyUnstable: a folder whose stamp is almost as new as its reading is read
// again, since a change a moment later may have the same stamp.
func TestSurveyUnstable(t *testing.T) {
	now := time.Unix(1e9, 5)
	for _, tt := range []struct {
		name  string
		age   time.Duration
		again int
	}{
		{"old", time.Second, 0},
		{"just now", time.Millisecond, 1},
		{"in the future", -time.Hour, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &stampedFS{FS: fsfake.New("/p/a"), stamp: Stamp{File: 1, Changed: now.Add(-tt.age).UnixNano()}}
			x := NewIndex(f, func() time.Time { return now })
			x.Survey("/p", "/p")
			before := f.names
			x.Survey("/p", "/p")
			if got := f.names - before; got != tt.again {
				t.Errorf("read %d folders again, want %d", got, tt.again)
			}
		})
	}
}

// TestSurveyBounds: what is over a bound is uncertain, and never counts as no
// secret.
func TestSurveyBounds(t *testing.T) {
	many := func(n int, name func(i int) string) *fsfake.FS {
		f := fsfake.New()
		for i := range n {
			f.File(name(i), "")
		}
		return f
	}
	deep := ""
	for range maxDepth + 2 {
		deep += "/d"
	}
	for _, tt := range []struct {
		name string
		fs   effects.FS
	}{
		{"names", many(maxEntries+1, func(i int) string { return fmt.Sprintf("/p/%d", i) })},
		{"folders", many(maxFolders+1, func(i int) string { return fmt.Sprintf("/p/%d/%d/a", i/64, i) })},
		{"depth", fsfake.New("/p" + deep + "/.env")},
		{"secrets", many(maxSecrets+1, func(i int) string { return fmt.Sprintf("/p/%d.env", i) })},
		{"unreadable", fsfake.New("/p/a").Deny("/p/b")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := indexAtOnce(tt.fs)
			var s Survey
			for range 3 {
				s = x.Survey("/p", "/p")
			}
			if !s.Incomplete || len(s.Secrets) > maxSecrets {
				t.Errorf("%d secrets, doubtful %v", len(s.Secrets), s.Incomplete)
			}
			if n := x.projects[0].folders; n > maxFolders {
				t.Errorf("%d folders kept", n)
			}
		})
	}
	t.Run("projects", func(t *testing.T) {
		x := indexAtOnce(fsfake.New())
		for i := range 3 * maxSurveyed {
			x.Survey(fmt.Sprintf("/%d", i), fmt.Sprintf("/%d", i))
		}
		if len(x.projects) != maxSurveyed || x.projects[maxSurveyed-1].root.path != fmt.Sprintf("/%d", 3*maxSurveyed-1) {
			t.Errorf("%d projects kept, the last one %s", len(x.projects), x.projects[len(x.projects)-1].root.path)
		}
	})
}

// TestSurveyBackground: what one survey has no time to read is read in the background,
// and the next one has it.
func TestSurveyBackground(t *testing.T) {
	f := &stampedFS{FS: fsfake.New("/p/z/z/.env"), stamp: Stamp{File: 1}}
	for i := range 2 * maxListed {
		f.Dir(fmt.Sprintf("/p/%03d", i))
	}
	x := NewIndex(f, func() time.Time { return time.Unix(1e9, 0) })
	var tasks []func()
	x.Background = func(task func()) { tasks = append(tasks, task) }
	for range 2 {
		if s := x.Survey("/p", "/p"); !s.Incomplete || f.names > 2*maxListed || len(s.Secrets) > 0 {
			t.Fatalf("doubtful %v after %d folders: %v", s.Incomplete, f.names, s.Secrets)
		}
		if len(tasks) != 1 {
			t.Fatalf("%d tasks at the same time", len(tasks))
		}
	}
	tasks[0]()
	if diff := cmp.Diff(Survey{Secrets: []string{"/p/z/z/.env"}}, x.Survey("/p", "/p")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSurveyForgets: folders that were deleted do not count towards the bound.
func TestSurveyForgets(t *testing.T) {
	f := fsfake.New("/p/a")
	x := indexAtOnce(f)
	for i := range 40 {
		for n := range 60 {
			f.Dir(fmt.Sprintf("/p/%d/%d", i, n))
		}
		x.Survey("/p", "/p")
		f.Remove(fmt.Sprintf("/p/%d", i))
	}
	if s := x.Survey("/p", "/p"); s.Incomplete || x.projects[0].folders != 1 {
		t.Errorf("%d folders, doubtful %v", x.projects[0].folders, s.Incomplete)
	}
}

func TestTracked(t *testing.T) {
	index := func(version byte, names string) string { return "DIRC\x00\x00\x00" + string(version) + names }
	for _, tt := range []struct {
		name string
		fs   *fsfake.FS
		want bool
	}{
		{"nothing was ever added", fsfake.New("/p/.git/HEAD"), false},
		{"tracked", fsfake.New().File("/p/.git/index", index(2, "…a/.env\x00")), true},
		{"another", fsfake.New().File("/p/.git/index", index(2, "…a/.env.example\x00")), false},
		{"names in pieces", fsfake.New().File("/p/.git/index", index(4, "…")), true},
		{"not a list", fsfake.New().File("/p/.git/index", "x"), true},
		{"worktree", fsfake.New().File("/p/.git", "gitdir: /r/.git/worktrees/p\n").File("/r/.git/worktrees/p/index", index(2, "…")), false},
		{"worktree, tracked", fsfake.New().File("/p/.git", "gitdir: ../r/.git/worktrees/p\n").File("/r/.git/worktrees/p/index", index(3, "a/.env\x00")), true},
		{"no repository", fsfake.New().File("/p/.git", "x"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewResolver(Environment{FS: tt.fs}, &effects.Call{})
			if got := r.tracked("/p", "/p/a/.env"); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// BenchmarkSurvey measures what the index adds to a search of a project of 500
// folders.
func BenchmarkSurvey(b *testing.B) {
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		dir := filepath.Join(root, fmt.Sprintf("%d/%d", i%20, i))
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	late := func() time.Time { return time.Now().Add(time.Hour) }
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			x := NewIndex(OSFS{}, late)
			x.Background = func(func()) {}
			x.Survey(root, root)
		}
	})
	for _, dir := range []string{".", "7"} {
		b.Run("again/"+dir, func(b *testing.B) {
			x := NewIndex(OSFS{}, late)
			x.Background = func(task func()) { task() }
			x.Survey(root, root)
			b.ReportAllocs()
			for b.Loop() {
				if s := x.Survey(root, filepath.Join(root, dir)); s.Incomplete {
					b.Fatal("doubtful")
				}
			}
		})
	}
}

const indexRoot = "/home/ana/src/shop"

func surveyedFiles() *fsfake.FS {
	return fsfake.New(
		indexRoot+"/config/", indexRoot+"/src/main.go", indexRoot+"/infra/secrets.yml", indexRoot+"/deploy/server.key",
		indexRoot+"/deploy/tests/server.key", indexRoot+"/web/.npmrc", indexRoot+"/docs/a.md", indexRoot+"/node_modules/x/key.pem", "/etc/hosts", "/tmp/",
		"/usr/bin/git",
	).File(indexRoot+"/config/.env", "").File(indexRoot+"/.gitignore", "*.key\n").
		File(indexRoot+"/.git/index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x01…\x0bconfig/.env\x00").File(indexRoot+"/.git/HEAD", "x")
}

// indexAtOnce returns an index whose background tasks run at once.
func indexAtOnce(fs effects.FS) *Index {
	x := NewIndex(fs, func() time.Time { return time.Unix(2e9, 0) })
	x.Background = func(task func()) { task() }
	return x
}
