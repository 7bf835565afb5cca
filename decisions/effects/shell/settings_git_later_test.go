package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/testload"
)

// laterSettings are settings that git has after version 2.39, where they may start a program, or
// say where attributes, objects or working trees are, for git status, git add or git commit; and
// those that no version has. The git on the machine may not know them, so that
// TestOwnGitSettingsOracle does not try them.
var laterSettings = strings.Fields(`
	attr.tree hook.x.command hook.x.event hook.pre-commit.jobs hook.jobs promisor.acceptFromServer promisor.acceptFromServerUrl transfer.bundleURI
	extensions.compatObjectFormat extensions.submodulePathConfig submodule.x.gitdir new.key new.x.key
`)

// laterUpkeep are those for what git does by itself after a commit, and for how it keeps a
// repository's data.
var laterUpkeep = strings.Fields(`
	gc.recentObjectsHook gc.repackFilterTo maintenance.strategy maintenance.geometric-repack.auto extensions.refStorage extensions.relativeWorktrees
`)

// TestLaterGitSettings: a setting that permd does not know asks in the project's own file, and
// in the person's where git add and git commit would otherwise be allowed. There it asks for what
// only looks if its value may be a program, or a file, of the project.
func TestLaterGitSettings(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "p")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, ".git/HEAD"), "ref: refs/heads/main\n")
	write(filepath.Join(project, ".git/refs/heads/main"), "0123456789012345678901234567890123456789\n")
	write(filepath.Join(project, ".git/objects/info/packs"), "")
	write(filepath.Join(project, "x"), "")
	write(filepath.Join(project, "a.txt"), "")
	table := effectstest.Table(t)
	run := func(text string) *effects.Run {
		return onDisk(table, home, project, text).Effects[0].Run
	}
	const plain = "[core]\n\trepositoryformatversion = 0\n"
	own, theirs := filepath.Join(home, ".gitconfig"), filepath.Join(project, ".git/config")
	write(theirs, plain)
	write(own, "[user]\n\tname = a\n")
	if !run("git status").Readonly || !run("git commit -m x").OwnData || !run("git add a.txt").OwnData {
		t.Fatal("asks without any setting")
	}
	for _, key := range testload.WithShort(t, 12, slices.Concat(laterSettings, laterUpkeep)) {
		looks := slices.Contains(laterSettings, key)
		section, name := key[:strings.LastIndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
		if head, sub, ok := strings.Cut(section, "."); ok {
			section = head + ` "` + sub + `"`
		}
		for _, value := range []string{"./x", "!./x", "sh x", "npm test", "make", "less | ./x", "true", "HEAD", "100", "https://example.com/x", "post-index-change"} {
			text := "[" + section + "]\n\t" + name + " = " + value + "\n"
			write(own, "[user]\n\tname = a\n")
			write(theirs, plain+text)
			if looks && (run("git status").Readonly || run("git log -p").Readonly) || run("git commit -m x").OwnData || run("git add a.txt").OwnData {
				t.Errorf("%s = %s in .git/config does not ask", key, value)
			}
			write(theirs, plain)
			write(own, text)
			if run("git commit -m x").OwnData || run("git add a.txt").OwnData {
				t.Errorf("%s = %s in ~/.gitconfig: git add or git commit changes only its own data", key, value)
			}
			if runs := looks && (strings.Contains(value, "./x") || value == "sh x" || value == "npm test" || value == "make"); runs && run("git status").Readonly {
				t.Errorf("%s = %s in ~/.gitconfig: git status is read-only", key, value)
			}
		}
	}
	write(own, "[alias \"whatchanged\"]\n\tcommand = !./x\n")
	if run("git whatchanged").Readonly || !run("git status").Readonly {
		t.Error("an alias in the form of git 2.54 is not taken for one, or for one of another command")
	}
}
