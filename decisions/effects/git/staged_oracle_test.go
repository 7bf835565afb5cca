package git_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/git"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

var (
	stagedNames = strings.Fields(`a.txt b.txt A.txt a b d d/e d/e/f d/a.txt d/b.txt d/e/a.txt d/e/b.log x.log d/x.log build/x build/keep/y d/build/z .env d/.env .github/workflows/ci.yml CLAUDE.md d/CLAUDE.md
		.vscode/settings.json c/d/e/f/g.txt é.txt dé/x sp/x.tmp [x] d/ab d/abd e/HEAD`)
	stagedLines = []string{
		"*.log", "build/", "/build", "!keep", "!build/keep/", "d/", "/d", "d/e", "d/*", "!d/a.txt", "*", "!*/", "!*.txt", "**/e", "d/**", "!d/**", "a", "/a", "a/", "!a", "*.t?t", "*.[tl]*", "!*.[tl]*", "!a[b/c]d", "d/a[b/c]d",
		`\a.txt`, `!\a.txt`, "a.txt ", "a.txt\\ ", "a.txt\t", "!a.txt\r", "a.txt\r", "#a.txt", `\#a`, "A.TXT", "!A.TXT", "?.txt", "é.txt", "?*.txt", "!é*", "**", "**/", "/**", "/", "//", "d//e", "d/./e", "./d", "../d", "**/**/a.txt", "d**", "**d", "!**d/", "c/**/g.txt", "!c/**/g.txt", "/*", "!/d", "!/c", ".env", "!.env",
		".*", "!.g*", "\ufeffa", "*.tmp", "sp", "!sp/x.tmp", "[x]", `\[x\]`, "!d", "e/f", "!e/f", " a.txt", "a.txt#", "!", "!/", "HEAD", "d/e/", "!d/e/", "!a\x00x", "b.txt\x00x", "**/d/**/e/**/**/a.txt", "/**/d/**/e/**/b*",
	}
)

// stagedOracle is a repository of random files, lines of ignored names and states.
type stagedOracle struct {
	top, project string
	draw         *rand.Rand
	env          []string
}

func (o *stagedOracle) git(cwd string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = cwd, o.env
	out, err := cmd.Output()
	return string(out), err
}

// one is true once in n times.
func (o *stagedOracle) one(n int) bool { return o.draw.IntN(n) == 0 }

func (o *stagedOracle) some(n int, list []string) []string {
	some := make([]string, 0, n)
	for range o.draw.IntN(n + 1) {
		some = append(some, list[o.draw.IntN(len(list))])
	}
	return some
}

// write writes a file, if there may be one.
func (o *stagedOracle) write(name, text string) {
	file := filepath.Join(o.project, name)
	if os.MkdirAll(filepath.Dir(file), 0o755) == nil {
		_ = os.WriteFile(file, []byte(text), 0o644)
	}
}

func (o *stagedOracle) ignores(name string, n int) {
	if lines := o.some(n, stagedLines); len(lines) > 0 {
		o.write(name, strings.Join(lines, "\n")+"\n")
	}
}

// make makes the repository anew.
func (o *stagedOracle) make(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(o.project); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(o.project, "README"), "x\n")
	filetest.Write(t, filepath.Join(o.top, ".gitconfig"), "[user]\n\tname = a\n\temail = a@b.c\n[core]\n\texcludesFile = ~/excluded\n")
	filetest.Write(t, filepath.Join(o.top, "excluded"), strings.Join(o.some(3, stagedLines), "\n")+"\n")
	if _, err := o.git(o.project, "init", "-q", "-b", "main"); err != nil {
		t.Fatal(err)
	}
	for _, name := range o.some(12, stagedNames) {
		o.write(name, "one\n")
	}
	o.ignores(".gitignore", 5)
	o.ignores("d/.gitignore", 2)
	if o.one(2) {
		_, _ = o.git(o.project, "add", "-A", "-f")
	} else {
		_, _ = o.git(o.project, "add", "-A")
	}
	if !o.one(8) {
		_, _ = o.git(o.project, "commit", "-q", "-m", "x")
	}
	// What has changed since.
	for _, name := range o.some(6, stagedNames) {
		switch o.draw.IntN(12) {
		case 0, 1:
			_ = os.Remove(filepath.Join(o.project, name))
		case 2:
			_ = os.RemoveAll(filepath.Join(o.project, name))
		case 3:
			_ = os.Chmod(filepath.Join(o.project, name), 0o755)
		case 4:
			o.write(name, "one\n") // as it was, at another time
		default:
			o.write(name, "two\n")
		}
	}
	if o.one(2) {
		o.ignores(".gitignore", 5)
	}
	if o.one(3) {
		o.ignores([]string{"d/.gitignore", "c/.gitignore", "d/e/.gitignore", "build/.gitignore"}[o.draw.IntN(4)], 3)
	}
	if o.one(3) {
		o.ignores(".git/info/exclude", 3)
	}
	if o.one(12) {
		_ = os.Remove(filepath.Join(o.project, ".gitignore"))
	}
	o.spoil()
}

// spoil makes links, repositories and settings, seldom.
func (o *stagedOracle) spoil() {
	at := func(name string) string { return filepath.Join(o.project, name) }
	switch o.draw.IntN(40) {
	case 0:
		_ = os.Symlink("a.txt", at("link"))
	case 1:
		_ = os.RemoveAll(at("d"))
		_ = os.Symlink("../outside", at("d"))
	case 2:
		_, _ = o.git(o.project, "init", "-q", "d/sub")
		o.write("d/sub/x", "x\n")
	case 3:
		_, _ = o.git(o.project, "init", "-q", "--bare", "d/bare")
	case 4:
		_, _ = o.git(o.project, "init", "-q", "d")
	case 5:
		_ = os.Symlink("../../outside/ignored", at("d/.gitignore"))
	case 6:
		_ = os.Link(at("README"), at("other"))
	case 7:
		_, _ = o.git(o.project, "config", "core.ignoreCase", "true")
	case 8:
		_, _ = o.git(o.project, "config", "core.fileMode", "false")
	case 9:
		_, _ = o.git(o.project, "update-index", "--skip-worktree", ".gitignore")
		_ = os.Remove(at(".gitignore"))
	case 10:
		_, _ = o.git(o.project, "update-index", "--assume-unchanged", "README")
		o.write("README", "y\n")
	case 11:
		o.write(".gitattributes", "* working-tree-encoding=UTF-7\n")
	case 12:
		_ = os.Symlink("a.txt", at("b.txt"))
		_, _ = o.git(o.project, "add", "-f", "b.txt")
	case 13, 14: // a file where a folder was
		_ = os.RemoveAll(at("d"))
		o.write("d", "x\n")
	case 15: // a folder where a file was
		_ = os.RemoveAll(at("b"))
		o.write("b/CLAUDE.md", "x\n")
	}
}

// change returns what a git add is found to change.
func (o *stagedOracle) change(t *testing.T, cwd string, words []string) ([]string, bool) {
	t.Helper()
	c := &effects.Call{Cwd: cwd, User: effects.User{UID: uint32(os.Getuid()), Name: "ana", Home: o.top, Env: map[string]string{"HOME": o.top}}}
	env := paths.Environment{FS: paths.OSFS{}}
	collector := collect.New(env, effectstest.Table(t), c, paths.NewResolver(env, c))
	run := &git.Run{Call: &collector, Sub: "add", Dashes: -1, Cwd: cwd}
	for _, word := range append([]string{"add"}, words...) {
		run.Args = append(run.Args, effects.Word{Text: word})
	}
	change, ok := run.OwnChange()
	return change.Files, ok
}

// staged returns what is staged, by path.
func (o *stagedOracle) staged(t *testing.T) map[string]string {
	t.Helper()
	out, err := o.git(o.project, "ls-files", "-s", "-z")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if entry, name, ok := strings.Cut(line, "\t"); ok {
			all[name] = entry
		}
	}
	return all
}

// TestStagedOracle: of folders, git add stages no file that is not found before, and nothing that is
// guarded, whatever names are ignored where.
func TestStagedOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs git many times; TestOwnDataFolders of decisions/effects/shell is the quick one")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seed := testload.Seed(t)
	o := &stagedOracle{top: top, project: filepath.Join(top, "p"), draw: rand.New(rand.NewPCG(seed, 0)), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"}}
	filetest.Write(t, filepath.Join(top, "outside/ignored"), "!*\n")
	forms := []string{".", "-A", "-u", "-A .", "-u .", "--all", "d", "d/", "./d/e", "-v -- d a.txt", "-u d", "-A d", "build c", "README d", "d README", "b", "."}
	understood, exact, guarded := 0, 0, 0
	for n := range testload.Rounds(t, "PERMD_TEST_STAGED_ROUNDS", 200, 3000) {
		o.make(t)
		form, cwd := forms[o.draw.IntN(len(forms))], o.project
		if o.one(6) {
			cwd = filepath.Join(o.project, []string{"d", "build", "c/d"}[o.draw.IntN(3)])
			if fi, err := os.Lstat(cwd); err != nil || !fi.IsDir() {
				cwd = o.project
			}
		}
		files, ok := o.change(t, cwd, strings.Fields(form))
		if !ok {
			continue
		}
		understood++
		before := o.staged(t)
		_, _ = o.git(cwd, append([]string{"add"}, strings.Fields(form)...)...) // what it refuses stages less
		after, same := o.staged(t), 0
		for name, entry := range after {
			if before[name] == entry {
				continue
			}
			same++
			if !slices.Contains(files, filepath.Join(o.project, name)) {
				t.Errorf("seed %d, repository %d: git add %s in %s stages %s, which is not found (found %v)", seed, n, form, cwd, name, files)
			}
		}
		for name := range after {
			delete(before, name)
		}
		for _, name := range append(files, fmt.Sprint(before)) {
			for _, part := range []string{".env", "CLAUDE", ".github", ".vscode"} {
				if strings.Contains(name, part) {
					guarded++
					t.Errorf("seed %d, repository %d: git add %s in %s: %s is guarded", seed, n, form, cwd, name)
				}
			}
		}
		if same == len(files) {
			exact++
		}
		if t.Failed() {
			out, _ := exec.Command("sh", "-c", "cd '"+o.project+"' && git status --short --ignored; git ls-files -s; head -50 $(find . -name .gitignore) .git/info/exclude ../excluded").CombinedOutput()
			t.Fatalf("%s", out)
		}
	}
	t.Logf("%d understood, %d of them to the file", understood, exact)
	if understood == 0 || exact == 0 {
		t.Errorf("none understood")
	}
}
