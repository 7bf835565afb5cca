package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/testload"
)

// TestOwnGitSettingsOracle gives each setting that git knows, in a person's own file, a
// program of the project for its value, and runs the commands that are read-only for all
// that: none may start the program. Commands that ask are not run.
func TestOwnGitSettingsOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs git some hundred times")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, log := filepath.Join(home, "p"), filepath.Join(home, "log")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	run := func(words ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), git, words...)
		cmd.Dir = project
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
		return cmd.CombinedOutput()
	}
	setUp := func(words ...string) {
		t.Helper()
		if out, err := run(words...); err != nil {
			t.Fatalf("git %v: %v: %s", words, err, out)
		}
	}
	write(filepath.Join(project, "a.txt"), "a\nb\n", 0o600)
	write(filepath.Join(project, "x"), "#!/bin/sh\necho ran >> '"+log+"'\ncat\n", 0o700)
	write(filepath.Join(project, ".gitattributes"), "a.txt diff=x filter=x merge=x\n", 0o600)
	setUp("init", "-q")
	setUp("add", ".")
	setUp("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "1")
	write(filepath.Join(project, "a.txt"), "a\nc\n", 0o600)
	setUp("add", ".")
	write(filepath.Join(project, "a.txt"), "a\nd\n", 0o600)

	names, err := run("help", "-c")
	if err != nil {
		t.Skip("git does not list its settings")
	}
	placeholder := regexp.MustCompile(`<[^>]*>|\*`)
	var keys []string
	for key := range strings.FieldsSeq(string(names)) {
		if key = placeholder.ReplaceAllString(key, "x"); strings.Count(key, ".") > 0 && !strings.ContainsAny(key, "\"'") {
			keys = append(keys, key)
		}
	}
	keys = append(keys, "hook.x.command", "hook.x.event", "alias.log", "alias.whatchanged", "new.key", "new.x.key")
	commands := []string{
		"git status", "git status -v", "git diff", "git diff --cached", "git log -p", "git show", "git blame a.txt", "git ls-files -m", "git grep a", "git archive HEAD",
		"git describe --always --dirty", "git branch -v", "git tag -l", "git stash list", "git remote -v", "git interpret-trailers a.txt", "git submodule status", "git hash-object a.txt",
		"git check-attr -a a.txt", "git for-each-ref", "git config --list", "git rev-parse HEAD", "git whatchanged -p", "git shortlog HEAD", "git worktree list", "git diff-files -p",
	}
	table := effectstest.Table(t)
	readonly := func(text string) bool {
		return onDisk(table, home, project, text).Effects[0].Run.Readonly
	}
	own := filepath.Join(home, ".gitconfig")
	for _, text := range commands {
		if !readonly(text) {
			t.Fatalf("%s: asks without any setting", text)
		}
	}
	type attempt struct{ key, value, text string }
	var all []attempt
	for _, key := range keys {
		for _, value := range []string{"./x", "x", "!./x", "sh x", "less | ./x", "cat x | sh"} {
			for _, text := range commands {
				all = append(all, attempt{key, value, text})
			}
		}
	}
	allowed, ran, caught := 0, 0, 0
	for _, a := range testload.Sample(t, 60, all) {
		section, name := a.key[:strings.LastIndexByte(a.key, '.')], a.key[strings.LastIndexByte(a.key, '.')+1:]
		if head, sub, ok := strings.Cut(section, "."); ok {
			section = head + ` "` + sub + `"`
		}
		write(own, "["+section+"]\n\t"+name+" = "+a.value+"\n[user]\n\tname = a\n\temail = a@example.com\n", 0o600)
		if !readonly(a.text) {
			caught++
			continue
		}
		allowed++
		if _, err := run(strings.Fields(a.text)[1:]...); err == nil {
			ran++
		}
		if _, err := os.Lstat(log); err == nil {
			t.Errorf("%s = %s: %s is read-only, and starts a program of the project", a.key, a.value, a.text)
			_ = os.Remove(log)
		}
	}
	t.Logf("%d settings: %d allowed, of which %d succeeded, %d asked", len(keys), allowed, ran, caught)
	if allowed == 0 || caught == 0 {
		t.Error("nothing was compared")
	}
}
