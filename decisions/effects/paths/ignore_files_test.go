package paths

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestSkips has ignore files in a repository at /p, and a search of all of it or
// of a folder.
func TestSkips(t *testing.T) {
	for _, tt := range []struct {
		name   string
		text   map[string]string // the ignore files
		dir    string            // below /p
		file   string
		hidden bool // hidden names are left out
		want   bool
	}{
		{"none", nil, "", "a.env", false, false},
		{"name", map[string]string{".gitignore": ".env\n"}, "", ".env", false, true},
		{"name below", map[string]string{".gitignore": ".env\n"}, "", "a/b/.env", false, true},
		{"rooted", map[string]string{".gitignore": "/.env\n"}, "", "a/.env", false, false},
		{"rooted, there", map[string]string{".gitignore": "/a/.env\n"}, "", "a/.env", false, true},
		{"pattern", map[string]string{".gitignore": "*.env\n# .pem\n"}, "", "a/x.env", false, true},
		{"comment", map[string]string{".gitignore": "#.env\n"}, "", "#.env", false, false},
		{"folder", map[string]string{".gitignore": "conf/\n"}, "", "a/conf/.env", false, true},
		{"the folder that is searched", map[string]string{".gitignore": "conf/\n"}, "conf", "conf/key.pem", false, false},
		{"a file in the folder that is searched", map[string]string{".gitignore": "conf/*.pem\n"}, "conf", "conf/key.pem", false, false},
		{"file of a folder's name", map[string]string{".gitignore": "conf/\n"}, "", "a/conf", false, false},
		{"a path above the folder that is searched", map[string]string{".gitignore": "/conf/key.pem\nconf/*.pem\n"}, "conf", "conf/key.pem", false, false},
		{"a name above the folder that is searched", map[string]string{".gitignore": "*.pem\n"}, "conf", "conf/key.pem", false, true},
		{"taken back", map[string]string{".gitignore": ".env\n!.env\n"}, "", ".env", false, false},
		{"taken back by a set with a slash", map[string]string{".gitignore": ".env\n!.en[v/x]\n"}, "", ".env", false, false},
		{"taken back below", map[string]string{".gitignore": ".env\n", "a/.gitignore": "!.env\n"}, "", "a/.env", false, false},
		{"not taken back in a folder that is left out", map[string]string{".gitignore": "a/\n!a/.env\n"}, "", "a/.env", false, true},
		{"below", map[string]string{"a/.gitignore": "*\n"}, "", "a/b/.env", false, true},
		{"beside", map[string]string{"b/.gitignore": "*\n"}, "", "a/.env", false, false},
		{"any depth", map[string]string{".gitignore": "**/conf/**\n"}, "", "a/b/conf/x/.env", false, true},
		{"any depth between", map[string]string{".gitignore": "a/**/.env\n"}, "", "a/.env", false, true},
		{"any depth often", map[string]string{".gitignore": "**/a/**/b/**/c/**/d\n"}, "", "a/b/a/b/x/c/d", false, true},
		{"any depth often, but one", map[string]string{".gitignore": "**/a/**/b/**/c/**/d\n"}, "", "a/b/a/d/x/c/b", false, false},
		{"wrong pattern", map[string]string{".gitignore": "[\n"}, "", "[", false, false},
		{"set, which programs read otherwise", map[string]string{".gitignore": "[!.]env\n"}, "", ".env", false, false},
		{"line of another system", map[string]string{".gitignore": "x.env\r\n"}, "", "x.env", false, false},
		{"line that goes on", map[string]string{".gitignore": "x.env\t\n"}, "", "x.env", false, false},
		{"another repository below", map[string]string{".gitignore": "*.env\n", "a/.git/HEAD": ""}, "", "a/x.env", false, false},
		{"hidden", nil, "", ".env", true, true},
		{"hidden folder", nil, "", "a/.conf/key.pem", true, true},
		{"hidden folder that is searched", nil, ".conf", ".conf/key.pem", true, false},
		{"hidden, taken back", map[string]string{".ignore": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back for ripgrep", map[string]string{"a/.rgignore": "!.e*\n"}, "", "a/.env", true, false},
		{"hidden, taken back by git", map[string]string{".gitignore": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back in the repository", map[string]string{".git/info/exclude": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back above", map[string]string{"../.ignore": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back for the user", map[string]string{"../home/ana/.config/git/ignore": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back where the user says", map[string]string{"../home/ana/.gitconfig": "[core]\n\texcludesFile = ~/.gone\n", "../home/ana/.gone": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back where nobody knows", map[string]string{".git/config": "[core]\n\texcludesfile = \"a b\"\n"}, "", "a/.env", true, false},
		{"hidden, taken back in capitals", map[string]string{".ignore": "!.ENV\n"}, "", "a/.env", true, false},
		{"hidden, another taken back", map[string]string{".gitignore": ".env*\n!.env.example\n"}, "", ".env", true, true},
		{"hidden, with a set", map[string]string{".gitignore": "!.en[v]\n"}, "", ".env", true, false},
		{"hidden, a line too long", map[string]string{".ignore": "!" + strings.Repeat("x*", maxIgnoreLine/2) + "\n"}, "", ".env", true, false},
		{"hidden, a line as long as may be", map[string]string{".ignore": "!" + strings.Repeat("*x", maxIgnoreLine/2-1) + "*\n"}, "", ".env", true, true},
		{"hidden, a file too large", map[string]string{".ignore": strings.Repeat("#\n", maxIgnoreFile/2+1)}, "", ".env", true, false},
		{"hidden, a file as large as may be", map[string]string{".ignore": strings.Repeat("#\n", maxIgnoreFile/2)}, "", ".env", true, true},
		{"hidden, a list taken back", map[string]string{".ignore": "!.{env,x}\n"}, "", ".env", true, false},
		{"hidden, a list in a name taken back", map[string]string{".ignore": "!.e{n}v\n"}, "", ".env", true, false},
		{"hidden, another list taken back", map[string]string{".ignore": "!.{env,x}.example\n"}, "", ".env", true, true},
		{"hidden, its folder in a list", map[string]string{".ignore": "!{.aws,x}\n"}, "", ".aws/credentials", true, false},
		{"hidden, a set that may be a slash", map[string]string{".ignore": "!a[!x].env\n"}, "", "a/.env", true, false},
		{"hidden, a zero byte", map[string]string{".ignore": "!.env\x00x\n"}, "", ".env", true, false},
		{"hidden, too many lines", map[string]string{".ignore": strings.Repeat("x\n", maxIgnoreRules+1)}, "", ".env", true, false},
		{"hidden, as many lines as may be", map[string]string{".ignore": strings.Repeat("x\n", maxIgnoreRules)}, "", ".env", true, true},
		{"hidden, an escape", map[string]string{".ignore": "!\\.env\n"}, "", ".env", true, false},
		{"hidden, a blank of Unicode", map[string]string{".ignore": "!.env\u3000\n"}, "", ".env", true, false},
		{"hidden, behind a mark of the order of bytes", map[string]string{".ignore": "\ufeff!.env\n"}, "", ".env", true, false},
		{"hidden, another in a file of another system", map[string]string{".ignore": "!.gitkeep\r\n!.env.example\r\n"}, "", ".env", true, true},
		{"hidden, a name that ends with a blank", map[string]string{".ignore": "!.env\u00a0\n"}, "", ".env\u00a0", true, false},
		{"hidden, taken back in a repository below", map[string]string{"a/.git/info/exclude": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, taken back in a repository above", map[string]string{"../.git/info/exclude": "!.env\n"}, "", "a/.env", true, false},
		{"hidden, in a linked working tree", linkedTree("x\n"), "", "tree/.env", true, true},
		{"hidden, taken back for linked working trees", linkedTree("!.env\n"), "", "tree/.env", true, false},
		{"hidden, in a linked working tree that is searched", linkedTree("x\n"), "tree", "tree/.env", true, true},
		{"hidden, in a tree of no known repository", map[string]string{"tree/.git": "gitdir: \n"}, "", "tree/.env", true, false},
		{"behind what is not UTF-8", map[string]string{".gitignore": "gr\xfcn\nid_rsa\n"}, "", "id_rsa", false, false},
		{"before what is not UTF-8", map[string]string{".gitignore": "id_rsa\n\xff\n"}, "", "id_rsa", false, true},
		{"a list taken back", map[string]string{".gitignore": "id_rsa\n!id_{rsa,x}\n"}, "", "id_rsa", false, false},
		{"a list", map[string]string{".gitignore": "id_{rsa,x}\n"}, "", "id_rsa", false, false},
		{"a single character", map[string]string{".gitignore": "id?rsa\n"}, "", "id_rsa", false, false},
		{"behind a mark of the order of bytes", map[string]string{".gitignore": "\ufeffid_rsa\n"}, "", "id_rsa", false, false},
		{"hidden, its folder taken back alone", map[string]string{".ignore": "!a/\n"}, "", "a/.env", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fsfake.New("/p/.git/HEAD", "/p/"+tt.file)
			for name, text := range tt.text {
				f.File(filepath.Join("/p", name), text)
			}
			r := NewResolver(Environment{FS: f}, &effects.Call{User: effects.User{Home: "/home/ana"}})
			if got := r.skips("/p", filepath.Join("/p", tt.dir), "/p/"+tt.file, tt.hidden, true); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	// The root may be a linked working tree itself.
	for exclude, want := range map[string]bool{"x\n": true, "!.env\n": false} {
		f := fsfake.New("/p/tree/.env")
		for name, text := range linkedTree(exclude) {
			f.File("/p/"+name, text)
		}
		if NewResolver(Environment{FS: f}, &effects.Call{}).skips("/p/tree", "/p/tree", "/p/tree/.env", true, true) != want {
			t.Errorf("in a linked working tree whose repository says %q: want %v", exclude, want)
		}
	}
	// Without a repository, git's ignore files have no effect.
	r := NewResolver(Environment{FS: fsfake.New("/p/x.env").File("/p/.gitignore", "*.env\n")}, &effects.Call{})
	if r.skips("/p", "/p", "/p/x.env", false, true) {
		t.Error("what is no repository has ignore files")
	}
}

// linkedTree is a linked working tree of a repository with an ignore file.
func linkedTree(exclude string) map[string]string {
	return map[string]string{
		"tree/.git": "gitdir: ../.git/worktrees/tree\n", ".git/worktrees/tree/commondir": "../..\n", ".git/worktrees/tree/gitdir": "/p/tree/.git\n", ".git/info/exclude": exclude,
	}
}

// TestRealSearches makes folders with ignore files and runs real searches in them:
// whatever they find, permd must say that they search it. PERMD_TEST_SEARCH_ROUNDS
// is how many folders are made.
func TestRealSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real programs")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	names := []string{".env", "x.env", "server.key", "a/.env", "a/b/prod.env", ".conf/id_rsa", "a/.conf/b/c.key", "ig/key.pem", "ig/.env"}
	lines := []string{
		"*.env", ".env", "!.env", "ig/", "!ig/", "/a", "!a/", "*.key", "!*.key", "a/**", "**/b", "!**/*.env", "!.conf", "!.conf/", ".*", "!.*", "*", "!*", "[.]env", "!.[e]nv", "\\!x", "!server.key ", "x.env ", "x.env\t", "#.env", "/x.env", "!/a/b/prod.env",
		"a/b/", "!.ENV",
	}
	files := []string{".gitignore", ".gitignore", ".ignore", "a/.gitignore", "a/.ignore", ".rgignore", ".git/info/exclude", "../.ignore", "../home/.config/git/ignore", "ig/.gitignore", "a/b/.git/HEAD"}
	searches := []struct {
		words []string
		as    Reach
	}{
		{[]string{"rg", "-l", "CANARY"}, ReachShown},
		{[]string{"rg", "-l", "--no-ignore-vcs", "CANARY"}, ReachVisible},
		{[]string{"rg", "-l", "--no-ignore", "CANARY"}, ReachVisible},
		{[]string{"rg", "-l", "--hidden", "CANARY"}, ReachKept},
		{[]string{"rg", "-l", "-uu", "CANARY"}, ReachAll},
		{[]string{"ag", "-l", "CANARY"}, ReachVisible},
		{[]string{"ack", "-l", "CANARY"}, ReachAll},
		{[]string{"grep", "-rl", "CANARY"}, ReachAll},
	}
	r := rand.New(rand.NewPCG(3, 0))
	rounds := testload.Rounds(t, "PERMD_TEST_SEARCH_ROUNDS", 5, 12)
	for round := range rounds {
		top := t.TempDir()
		root := filepath.Join(top, "p")
		write := func(name, text string) {
			t.Helper()
			filetest.Write(t, filepath.Join(root, name), text)
		}
		for _, name := range names {
			write(name, "CANARY\n")
		}
		if round%4 != 0 {
			if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
		}
		var said strings.Builder
		for range 1 + r.IntN(4) {
			file, text := files[r.IntN(len(files))], ""
			for range 1 + r.IntN(3) {
				text += lines[r.IntN(len(lines))] + "\n"
			}
			write(file, text)
			said.WriteString(file + ": " + strings.ReplaceAll(text, "\n", "; ") + " ")
		}
		dir := []string{"", "", "a", "ig", ".conf"}[r.IntN(5)]
		for _, s := range searches {
			program, err := exec.LookPath(s.words[0])
			if err != nil {
				t.Logf("%s is missing", s.words[0])
				continue
			}
			c := exec.Command(program, append(slices.Clone(s.words[1:]), filepath.Join(root, dir))...)
			c.Env = []string{"HOME=" + top + "/home", "PATH=/usr/bin:/bin"}
			c.Dir = root
			out, _ := c.Output() // the search fails if it finds nothing
			res := NewResolver(Environment{FS: OSFS{}}, &effects.Call{User: effects.User{Home: top + "/home"}})
			for file := range strings.Lines(string(out)) {
				file = strings.TrimSpace(file)
				if !slices.ContainsFunc(names, func(name string) bool { return file == filepath.Join(root, name) }) {
					continue // an ignore file
				}
				if !res.searchEnters(s.as, root, filepath.Join(root, dir), file) {
					t.Errorf("%v of %q finds %s with %s", s.words, dir, strings.TrimPrefix(file, root), &said)
				}
			}
		}
	}
}
