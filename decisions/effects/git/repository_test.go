package git_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/git"
)

const dotGit = cwd + "/.git"

// watched counts how often the files of the project's repository are looked at.
type watched struct {
	effects.FS
	looks, reads map[string]int
}

func (w *watched) count(counts map[string]int, p string) {
	if path.Dir(p) == dotGit {
		counts[path.Base(p)]++
	}
}

func (w *watched) Lstat(p string) (mode fs.FileMode, err error) {
	w.count(w.looks, p)
	return w.FS.Lstat(p)
}

func (w *watched) ReadFile(p string, limit int64) ([]byte, error) {
	w.count(w.reads, p)
	return w.FS.ReadFile(p, limit)
}

// runOf returns a run of git in the project.
func runOf(t testing.TB, fsys effects.FS, into *sink, sub string, words, flags []string) *git.Run {
	r := &git.Run{Call: effectstest.Collector(t, fsys), Sub: sub, Flags: flags, Dashes: -1, Cwd: cwd, Into: into, Args: []effects.Word{{Text: sub}}}
	for i, w := range words {
		r.Args = append(r.Args, effects.Word{Text: w})
		if w[0] != '-' {
			r.Operands = append(r.Operands, i+1)
		}
	}
	return r
}

// indexOf is git's list of tracked files of these names (gitformat-index(5)).
func indexOf(names ...string) string {
	out := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(names)))
	for _, name := range names {
		out = binary.BigEndian.AppendUint32(append(out, make([]byte, 24)...), 0o100644)
		out = binary.BigEndian.AppendUint16(append(out, make([]byte, 32)...), uint16(len(name)))
		out = append(append(out, name...), make([]byte, 8-(62+len(name))%8)...)
	}
	return string(append(out, make([]byte, 20)...))
}

// TestRepositoryReads: the repository of a run is looked for once, its packed references are read
// once, and neither is for a run that shows no content.
func TestRepositoryReads(t *testing.T) {
	files := func() *watched {
		f := effectstest.Files().File(dotGit+"/HEAD", "ref: refs/heads/main\n").File(dotGit+"/packed-refs", strings.Repeat("1", 40)+" refs/tags/v1\n")
		return &watched{f, map[string]int{}, map[string]int{}}
	}
	for _, tt := range []struct {
		sub, words, flags string
		want              int
	}{
		{"show", "v1 v2 v3..v4 HEAD:src/main.go", "", 1},
		{"show", "v1 v2", "--tags", 1},
		{"diff", "v1 v2", "", 1},
		{"log", "", "--patch", 1},
		{"diff", "", "--stat", 0},
		{"log", "", "--oneline", 0},
	} {
		t.Run(tt.sub+" "+tt.words+" "+tt.flags, func(t *testing.T) {
			files := files()
			before := files.looks["commondir"]
			runOf(t, files, &sink{}, tt.sub, strings.Fields(tt.words), strings.Fields(tt.flags)).Secrets()
			if found, reads := files.looks["commondir"]-before, files.reads["packed-refs"]; found > 2*tt.want || reads != tt.want {
				t.Errorf("commondir is looked at %d times, packed-refs is read %d times, want %d", found, reads, tt.want)
			}
		})
	}
}

// TestUnknownRepository: a repository whose references are not known may have others in the place of
// objects.
func TestUnknownRepository(t *testing.T) {
	for name, set := range map[string]func(*fsfake.FS){
		"a link for the common folder": func(f *fsfake.FS) { f.Link(dotGit+"/commondir", "/home/ana/x") },
		"an unreadable one":            func(f *fsfake.FS) { f.Deny(dotGit + "/commondir") },
		"an unreadable repository":     func(f *fsfake.FS) { f.Deny(dotGit) },
		"a repository around":          func(f *fsfake.FS) { f.Remove(dotGit); f.File("/home/ana/.git/HEAD", "ref: refs/heads/main\n") },
		"a reftable":                   func(f *fsfake.FS) { f.Dir(dotGit + "/reftable") },
		"large references":             func(f *fsfake.FS) { f.File(dotGit+"/packed-refs", strings.Repeat("x", 16<<20+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			files := effectstest.Files().File(dotGit+"/HEAD", "ref: refs/heads/main\n")
			var plain, got sink
			runOf(t, files, &plain, "log", nil, []string{"--patch"}).Secrets()
			set(files)
			runOf(t, files, &got, "log", nil, []string{"--patch"}).Secrets()
			if len(plain.added) > 0 || len(got.added) == 0 || !strings.Contains(got.added[0], "other objects") {
				t.Errorf("adds %q, and %q before", got.added, plain.added)
			}
		})
	}
}

// TestStagedPlaces: a file by name is git's own data in a large repository too, and not where it
// takes the place of a tracked file, also of one that a file system may take for the same.
func TestStagedPlaces(t *testing.T) {
	var many []string
	for i := range 200_000 {
		many = append(many, fmt.Sprintf("src/package%d/folder/of/some/depth/file%d.go", i/100, i))
	}
	for _, tt := range []struct {
		name, add string
		tracked   []string
		want      bool
	}{
		{"none", "a.txt", nil, true},
		{"the file", "a.txt", []string{"a.txt"}, true},
		{"many", "a.txt", many, true},
		{"one of many", "a.txt", append(many, "a.txt/b"), false},
		{"a folder of the name", "a.txt", []string{"a.txt/CLAUDE.md"}, false},
		{"deeper", "a.txt", []string{"a.txt/x/y/z"}, false},
		{"in another case", "a.txt", []string{"A.TXT/CLAUDE.md"}, false},
		{"in another form", "src/e\u0301", []string{"src/\u00c9/x"}, false},
		{"a folder above", "src/main.go", []string{"src"}, false},
		{"a folder above in another case", "src/main.go", []string{"SRC"}, false},
		{"a longer name", "a.txt", []string{"a.txt2/x", "a.tx/x", "x/a.txt/y"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := effectstest.Files().File(cwd+"/"+tt.add, "x\n").File(dotGit+"/HEAD", "ref: refs/heads/main\n").File(dotGit+"/index", indexOf(tt.tracked...))
			r := runOf(t, files, &sink{}, "add", []string{tt.add}, nil)
			if _, ok := r.OwnChange(); ok != tt.want {
				t.Errorf("own data: %v, want %v", ok, tt.want)
			}
		})
	}
	linked := effectstest.Files().Link(dotGit+"/index", "/home/ana/index")
	if _, ok := runOf(t, linked, &sink{}, "add", []string{"a.txt"}, nil).OwnChange(); ok {
		t.Error("own data with a list of tracked files that is not read")
	}
}

func BenchmarkStagedFile(b *testing.B) {
	var many []string
	for i := range 200_000 {
		many = append(many, fmt.Sprintf("src/package%d/folder/of/some/depth/file%d.go", i/100, i))
	}
	files := effectstest.Files().File(dotGit+"/index", indexOf(many...))
	for b.Loop() {
		if _, ok := runOf(b, files, &sink{}, "add", []string{"a.txt"}, nil).OwnChange(); !ok {
			b.Fatal("not own data")
		}
	}
}
