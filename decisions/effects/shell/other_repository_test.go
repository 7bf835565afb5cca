package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
)

// TestOtherRepository: where git looks at another repository of the person's, that is a read of
// it, if it is certain which one it is and that its settings are harmless.
func TestOtherRepository(t *testing.T) {
	const other, project = "/home/ana/other", effectstest.Cwd
	config := func(text string) map[string]string { return map[string]string{other + "/.git/config": text} }
	for name, tt := range map[string]struct {
		text  string
		files map[string]string
		reads string // the folder that is read, "" where it is not understood
	}{
		"by -C":                       {text: "git -C ~/other log", reads: other},
		"after cd":                    {text: "cd ~/other && git diff", reads: other},
		"a folder of it":              {text: "git -C ~/other/src status", reads: other},
		"by a wrapper":                {text: "timeout 5 git -C ~/other log", reads: other},
		"harmless settings":           {text: "git -C ~/other log", files: config("[user]\n\tname = x\n"), reads: other},
		"a pager of its own":          {text: "git -C ~/other log", files: config("[core]\n\tpager = ./x\n")},
		"a monitor of files":          {text: "git -C ~/other status", files: config("[core]\n\tfsmonitor = ./x\n")},
		"it changes something":        {text: "git -C ~/other checkout x"},
		"it commits":                  {text: "cd ~/other && git commit -m x"},
		"it may change something":     {text: "git -C ~/other branch x"},
		"objects of another folder":   {text: "git -C ~/other log", files: map[string]string{other + "/.git/objects/info/alternates": "/srv/x\n"}},
		"a linked tree":               {text: "git -C ~/linked log", files: map[string]string{"/home/ana/linked/.git": "gitdir: /home/ana/other/.git/worktrees/linked\n"}},
		"no working tree":             {text: "git -C ~/other/bare log", files: map[string]string{other + "/bare/HEAD": "ref: x\n"}},
		"a HEAD in it":                {text: "git -C ~/other log", files: map[string]string{other + "/HEAD": "x\n"}},
		"no repository":               {text: "git -C ~/none diff a b", files: map[string]string{"/home/ana/none/a": ""}},
		"outside of the home":         {text: "git -C /srv/x log", files: map[string]string{"/srv/x/.git/HEAD": "ref: x\n"}},
		"in the project":              {text: "git -C inner log", files: map[string]string{project + "/inner/.git/HEAD": "ref: x\n"}},
		"around the project":          {text: "git -C ~/src log", files: map[string]string{"/home/ana/src/.git/HEAD": "ref: x\n"}},
		"the home":                    {text: "git -C ~ log", files: map[string]string{"/home/ana/.git/HEAD": "ref: x\n"}},
		"its settings are written":    {text: "echo x > ~/other/.git/config; git -C ~/other log"},
		"a HEAD is written":           {text: "echo x > ~/other/src/HEAD; git -C ~/other/src log"},
		"it is put there":             {text: "cp -r x ~/other; git -C ~/other log"},
		"its files are":               {text: "tar -xf t.tar -C ~/other; git -C ~/other log"},
		"it is a link by then":        {text: "rm -rf ~/other; ln -s /srv ~/other; git -C ~/other log"},
		"a variable names another":    {text: "GIT_DIR=/srv/x/.git git -C ~/other log"},
		"an unknown folder":           {text: "git -C \"$X\" log"},
		"a submodule that it may add": {text: "git add .; git -C ~/other log", files: map[string]string{project + "/sub/.git/config": "", project + "/.git/HEAD": "x\n", project + "/.git/index": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := effectstest.Files().File(other+"/.git/HEAD", "ref: refs/heads/main\n").Dir(other + "/.git/objects").Dir(other + "/.git/refs").Dir(other + "/src")
			for file, text := range tt.files {
				fs.File(file, text)
			}
			b := shellBuilder(effectstest.Table(t), effectstest.IndexOf(fs))
			Text(b, tt.text, project, "command")
			reads, understood := "", true
			for i := range b.Effects {
				switch e := &b.Effects[i]; {
				case e.Kind == effects.KindUnknown, e.Run != nil && !e.Run.Readonly && e.Run.Program == "git",
					e.Kind == effects.KindState && !strings.Contains(e.Why, "another folder"):
					understood = false
				case e.Kind == effects.KindRead && e.File.Recursive && e.Tags.Has(effects.Outside):
					reads = e.File.Path
				}
			}
			if understood != (tt.reads != "") || understood && reads != tt.reads {
				t.Errorf("%s: understood: %v, and reads %q", tt.text, understood, reads)
			}
		})
	}
	for text, want := range map[string]bool{
		"git -C ~/other show HEAD:.env": true, "git -C ~/other/src show HEAD:.env": true, "git -C ~/other diff .env": true, "git -C ~/other grep KEY": true,
		"git -C ~/other archive HEAD": true, "git -C ~/other log": false, "git -C ~/other status": false,
	} {
		b := shellBuilder(effectstest.Table(t), effectstest.Files().File(other+"/.git/HEAD", "").File(other+"/.env", "x").Dir(other+"/src"))
		Text(b, text, project, "command")
		if got := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Guarded().Has(effects.Secret) && strings.HasPrefix(e.File.Path, other)
		}); got != want {
			t.Errorf("%s: reads a secret of the other repository: %v, want %v", text, got, want)
		}
	}
}

// TestOtherRepositoryOracle gives each setting that git knows, in the configuration of another
// repository than the project's, a program for its value, and runs the commands that are
// understood there with the real git: none may start it.
func TestOtherRepositoryOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs git some hundred times")
	}
	g := newGitOracle(t)
	other := filepath.Join(g.home, "o")
	g.makeRepository(other)
	g.write(filepath.Join(g.home, "p/.git/HEAD"), "ref: refs/heads/main\n", 0o600)
	plain, err := os.ReadFile(filepath.Join(other, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	type attempt struct{ key, value, text string }
	var all []attempt
	for _, key := range g.settings() {
		for _, value := range []string{"./x", filepath.Join(other, "x"), "!./x", "sh x"} {
			for _, sub := range []string{"status", "status -v", "diff", "diff --cached", "log -p", "show", "blame a.txt", "grep a", "ls-files -m", "stash list", "branch -v", "remote -v", "rev-parse HEAD", "describe --always --dirty"} {
				all = append(all, attempt{key, value, "git -C " + other + " " + sub})
			}
		}
	}
	allowed, caught := 0, 0
	for _, a := range testload.Sample(t, 50, all) {
		g.write(filepath.Join(other, ".git/config"), string(plain)+g.setting(a.key, a.value), 0o600)
		if !g.understood(a.text) {
			caught++
			continue
		}
		allowed++
		_, _ = g.run(strings.Fields(a.text)[1:]...)
		if g.started() {
			t.Errorf("%s = %s: %s is understood, and starts a program of the repository", a.key, a.value, a.text)
		}
	}
	t.Logf("%d understood, %d not", allowed, caught)
	if allowed == 0 || caught == 0 {
		t.Error("nothing was compared")
	}
}

// gitOracle runs the real git in a home with a project.
type gitOracle struct {
	t              *testing.T
	git, home, log string
	table          *programs.Table
}

func newGitOracle(t *testing.T) *gitOracle {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &gitOracle{t: t, git: git, home: home, log: filepath.Join(home, "log"), table: effectstest.Table(t)}
}

func (g *gitOracle) write(name, text string, mode os.FileMode) {
	g.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gitOracle) run(words ...string) ([]byte, error) {
	cmd := exec.CommandContext(g.t.Context(), g.git, words...)
	cmd.Dir = g.home
	cmd.Env = []string{"HOME=" + g.home, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	return cmd.CombinedOutput()
}

// makeRepository makes a repository with a commit, changes, and a program x that writes to the log.
func (g *gitOracle) makeRepository(dir string) {
	g.t.Helper()
	g.write(filepath.Join(dir, "a.txt"), "a\nb\n", 0o600)
	g.write(filepath.Join(dir, "x"), "#!/bin/sh\necho ran >> '"+g.log+"'\ncat\n", 0o700)
	g.write(filepath.Join(dir, ".gitattributes"), "a.txt diff=x filter=x merge=x\n", 0o600)
	for _, words := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "1"}} {
		if out, err := g.run(append([]string{"-C", dir}, words...)...); err != nil {
			g.t.Fatalf("git %v: %v: %s", words, err, out)
		}
	}
	g.write(filepath.Join(dir, "a.txt"), "a\nc\n", 0o600)
}

// settings returns the names of all settings that git knows, and some that it does not.
func (g *gitOracle) settings() []string {
	names, err := g.run("help", "-c")
	if err != nil {
		g.t.Skip("git does not list its settings")
	}
	placeholder := regexp.MustCompile(`<[^>]*>|\*`)
	keys := []string{"alias.log", "new.key", "core.worktree", "include.path"}
	for key := range strings.FieldsSeq(string(names)) {
		if key = placeholder.ReplaceAllString(key, "x"); strings.Count(key, ".") > 0 && !strings.ContainsAny(key, "\"'") {
			keys = append(keys, key)
		}
	}
	return keys
}

// setting is a setting as the text of a configuration.
func (g *gitOracle) setting(key, value string) string {
	last := strings.LastIndexByte(key, '.')
	section := key[:last]
	if head, sub, ok := strings.Cut(section, "."); ok {
		section = head + ` "` + sub + `"`
	}
	return "[" + section + "]\n\t" + key[last+1:] + " = " + value + "\n"
}

// understood reports whether a text is decided without anything unknown.
func (g *gitOracle) understood(text string) bool {
	project := filepath.Join(g.home, "p")
	b := onDisk(g.table, g.home, project, text)
	return b.Effects[0].Run.Readonly && !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
}

// started reports whether the program was started, and forgets it.
func (g *gitOracle) started() bool {
	_, err := os.Lstat(g.log)
	_ = os.Remove(g.log)
	return err == nil
}
