package shell

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// trackedFile is a file in git's list of tracked files, with the text that it was staged with.
type trackedFile struct {
	name, text string
	mode       uint32
	flags      uint16
}

// indexOf is git's list of these files, as gitformat-index(5) has it.
func indexOf(files ...trackedFile) string {
	out := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(files)))
	slices.SortFunc(files, func(a, b trackedFile) int { return slices.Compare([]byte(a.name), []byte(b.name)) })
	for _, f := range files {
		from := len(out)
		out = binary.BigEndian.AppendUint32(append(out, make([]byte, 24)...), max(f.mode, 0o100644))
		out = append(out, make([]byte, 12)...)
		hash := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(f.text), f.text))
		out = binary.BigEndian.AppendUint16(append(out, hash[:]...), f.flags|uint16(len(f.name)))
		out = append(out, f.name...)
		out = append(out, make([]byte, 8-(len(out)-from)%8)...)
	}
	return string(append(out, make([]byte, 20)...))
}

// TestOwnDataFolders: git add of folders changes only git's own data where all that it would
// stage is known, and is nothing that a person should see.
func TestOwnDataFolders(t *testing.T) {
	const cwd = effectstest.Cwd + "/"
	file := func(name, text string) func(*fsfake.FS) { return func(f *fsfake.FS) { f.File(cwd+name, text) } }
	tracks := func(name, text string) func(*fsfake.FS) {
		return func(f *fsfake.FS) { f.File(ownGit+"index", indexOf(trackedFile{name: name, text: text})) }
	}
	both := func(sets ...func(*fsfake.FS)) func(*fsfake.FS) {
		return func(f *fsfake.FS) {
			for _, set := range sets {
				set(f)
			}
		}
	}
	const workflow = ".github/workflows/ci.yml"
	lfs := func(f *fsfake.FS) {
		f.File("/home/ana/.gitconfig", "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n")
	}
	for name, tt := range map[string]struct {
		set         func(*fsfake.FS)
		all, update bool
	}{
		"plain":                        {nil, true, true},
		"a new file":                   {file("src/new.go", "x\n"), true, true},
		"a secret":                     {file("src/.env", "x\n"), false, true},
		"an ignored secret":            {both(file("src/.env", "x\n"), file(".gitignore", ".env\n")), true, true},
		"a secret, taken back":         {both(file("src/.env", "x\n"), file(".gitignore", ".env\n"), file("src/.gitignore", "!.e*\n")), false, true},
		"a secret, perhaps taken back": {both(file("src/.env", "x\n"), file(".gitignore", ".env\n!.[ef]nv\n")), false, true},
		"a secret, ignored elsewhere":  {both(file("src/.env", "x\n"), file(".git/info/exclude", ".env\n")), false, true},
		"a new workflow":               {file(workflow, "x\n"), false, true},
		"a workflow as it was":         {both(file(workflow, "x\n"), tracks(workflow, "x\n")), true, true},
		"a workflow that has changed":  {both(file(workflow, "y\n"), tracks(workflow, "x\n")), false, false},
		"a workflow that is gone":      {tracks(workflow, "x\n"), false, false},
		"a workflow with returns":      {both(file(workflow, "x\r\n"), tracks(workflow, "x\r\n")), false, false},
		"a workflow, encoded":          {both(file(workflow, "x\n"), tracks(workflow, "x\n"), file(".gitattributes", "* working-tree-encoding=UTF-7\n")), false, false},
		"a tracked secret":             {both(file("src/.env", "x\n"), tracks("src/.env", "x\n")), false, false},
		"a tracked secret, ignored":    {both(file("src/.env", "x\n"), tracks("src/.env", "x\n"), file(".gitignore", ".env\n")), false, false},
		"a file that is gone":          {tracks("gone.txt", "x\n"), true, true},
		"a file that has changed":      {tracks("a.txt", "other\n"), true, true},
		"a file that is a folder":      {tracks("docs", "x\n"), false, false},
		"a file in what is a file":     {tracks("a.txt/b", "x\n"), false, false},
		"a file behind a link":         {both(tracks("l/passwd", "x\n"), func(f *fsfake.FS) { f.Link(cwd+"l", "/etc") }), false, false},
		"a new link":                   {func(f *fsfake.FS) { f.Link(cwd+"l", "a.txt") }, false, true},
		"a tracked link": {func(f *fsfake.FS) {
			f.Link(cwd+"l", "a.txt").File(ownGit+"index", indexOf(trackedFile{name: "l", text: "a.txt", mode: 0o120000}))
		}, true, true},
		"a tracked link elsewhere": {func(f *fsfake.FS) {
			f.Link(cwd+"l", "/etc/passwd").File(ownGit+"index", indexOf(trackedFile{name: "l", text: "a.txt", mode: 0o120000}))
		}, false, false},
		"a tracked link of ignored names": {func(f *fsfake.FS) {
			f.Link(cwd+".gitignore", "a.txt").File(ownGit+"index", indexOf(trackedFile{name: ".gitignore", text: "a.txt", mode: 0o120000}))
		}, false, false},
		"a file with other names":   {func(f *fsfake.FS) { f.Linked(cwd+"src/two", "x\n") }, false, true},
		"a device":                  {func(f *fsfake.FS) { f.Device(cwd + "src/tty") }, false, true},
		"a repository":              {file("docs/r/.git/HEAD", "x\n"), false, true},
		"a repository, ignored":     {both(file("docs/r/.git/HEAD", "x\n"), file(".gitignore", "/docs/r\n")), true, true},
		"a repository with a file":  {both(file("r/.git/HEAD", "x\n"), file("r/a", "x\n"), tracks("r/a", "x\n")), false, false},
		"a bare repository":         {file("docs/r/HEAD", "x\n"), false, true},
		"another case":              {tracks("A.txt", "x\n"), false, true},
		"two cases":                 {func(f *fsfake.FS) { f.File(ownGit+"index", indexOf(trackedFile{name: "q"}, trackedFile{name: "Q"})) }, false, false},
		"a merge":                   {func(f *fsfake.FS) { f.File(ownGit+"index", indexOf(trackedFile{name: "a.txt", flags: 1 << 12})) }, false, false},
		"a submodule":               {func(f *fsfake.FS) { f.File(ownGit+"index", indexOf(trackedFile{name: "m", mode: 0o160000})) }, false, false},
		"a broken index":            {func(f *fsfake.FS) { f.File(ownGit+"index", "DIRC") }, false, false},
		"a folder that is closed":   {func(f *fsfake.FS) { f.Dir(cwd + "src/closed").Deny(cwd + "src/closed") }, false, true},
		"ignored names are a link":  {func(f *fsfake.FS) { f.Link(cwd+"src/.gitignore", "a") }, false, true},
		"filters, unused":           {lfs, true, true},
		"filters, used":             {both(lfs, file("src/.gitattributes", "*.go filter=lfs\n"), tracks("src/main.go", "x")), false, false},
		"too many names":            {func(f *fsfake.FS) { manyFiles(f, cwd+"src/n", 1<<13) }, false, true},
		"too many names, ignored":   {both(func(f *fsfake.FS) { manyFiles(f, cwd+"src/n", 1<<13) }, file(".gitignore", "n/\n")), true, true},
		"too deep":                  {file("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33/34", "x"), false, true},
		"names that are not plain":  {both(file("sp ace/.env", "x\n"), file(".gitignore", "sp*\n")), false, true},
		"a file of its other names": {file("src/.GIT", "x\n"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := plainRepository()
			for _, other := range []string{"other/.git", "other", "bare", "out", ".env"} {
				files.Remove(cwd + other)
			}
			if tt.set != nil {
				tt.set(files)
			}
			for text, want := range map[string]bool{"git add .": tt.all, "git add -A": tt.all, "git add -A .": tt.all, "git add -u": tt.update, "cd src && git add -A": tt.all} {
				if got := changesOwnData(t, files, text); got != want {
					t.Errorf("%s: only its own data: %v, want %v", text, got, want)
				}
			}
		})
	}
}

func manyFiles(f *fsfake.FS, folder string, n int) {
	for i := range n {
		f.File(fmt.Sprintf("%s/%d", folder, i), "x")
	}
}

// TestOwnDataFoldersCommit: what is staged of folders counts for what git tidies up after a commit.
func TestOwnDataFoldersCommit(t *testing.T) {
	for n, want := range map[int]bool{3: true, 30: false} {
		files := plainRepository()
		manyFiles(files, effectstest.Cwd+"/docs/n", n)
		if got := changesOwnData(t, files, "git add docs && git commit -m x"); got != want {
			t.Errorf("a commit of %d new files: only its own data: %v, want %v", n, got, want)
		}
	}
}

// TestOwnDataReplaced: a file that is named and takes the place of tracked files takes them out of
// the index.
func TestOwnDataReplaced(t *testing.T) {
	for name, want := range map[string]bool{"docs/new": true, "docs/new/CLAUDE.md": false, "docs/newer/CLAUDE.md": true, "docs": false} {
		files := plainRepository()
		files.File(effectstest.Cwd+"/docs/new", "x\n")
		files.File(ownGit+"index", indexOf(trackedFile{name: name}))
		if got := changesOwnData(t, files, "git add docs/new"); got != want {
			t.Errorf("%s is tracked: only its own data: %v, want %v", name, got, want)
		}
	}
}

// TestPatternNames: a program that shows the names that a pattern stands for reads the folders that
// have them, for denies.
func TestPatternNames(t *testing.T) {
	for text, want := range map[string]string{
		"echo src/*":                         effectstest.Cwd + "/src",
		"printf '%s' src/*.go":               effectstest.Cwd + "/src",
		"echo s*c/*":                         effectstest.Cwd + "/src",
		`for f in src/*; do echo "$f"; done`: effectstest.Cwd + "/src",
		"x=$(echo -n src/*)":                 effectstest.Cwd + "/src",
		"echo *":                             effectstest.Cwd,
		"echo src/main.go":                   "",
		"echo 'src/*'":                       "",
	} {
		b := shellBuilder(effectstest.Table(t), effectstest.Files())
		Text(b, text, effectstest.Cwd, "command")
		var reads []string
		for _, e := range b.Asides {
			if e.Kind == effects.KindRead {
				reads = append(reads, e.File.Path)
			}
		}
		if slices.Contains(reads, want) != (want != "") || want == "" && len(reads) > 0 {
			t.Errorf("%s: reads of %v are set aside, want %q", text, reads, want)
		}
	}
}
