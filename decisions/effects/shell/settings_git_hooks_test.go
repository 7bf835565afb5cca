package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestOwnData: what git add, git commit and git checkout -b change is git's own data only
// while no hook and no setting makes them do more, and no link leads elsewhere.
func TestOwnData(t *testing.T) {
	table := effectstest.Table(t)
	const git = effectstest.Cwd + "/.git/"
	commands := []string{"git add a", "git commit -m x", "git checkout -b x", "git switch -c x"}
	check := func(t *testing.T, set func(*fsfake.FS), text string, want bool) {
		t.Helper()
		fs := effectstest.Files()
		fs.File(git+"HEAD", "ref: refs/heads/main\n").File(git+"hooks/pre-commit.sample", "x\n").File(git+"refs/heads/main", "x\n")
		if set != nil {
			set(fs)
		}
		b := shellBuilder(table, fs)
		Text(b, text, effectstest.Cwd, "command")
		last := b.Effects[0].Run
		for _, e := range b.Effects {
			if e.Run != nil && e.Run.Program == "git" {
				last = e.Run
			}
		}
		if last.OwnData != want || last.Readonly {
			t.Errorf("%s: only its own data: %v, read-only: %v", text, last.OwnData, last.Readonly)
		}
	}
	for name, c := range map[string]struct {
		set  func(*fsfake.FS)
		want bool
	}{
		"a plain repository": {nil, true},
		"at a commit":        {func(f *fsfake.FS) { f.File(git+"HEAD", "0123456789012345678901234567890123456789\n") }, true},
		"no hooks":           {func(f *fsfake.FS) { f.Remove(git + "hooks/pre-commit.sample") }, true},
		"a hook":             {func(f *fsfake.FS) { f.File(git+"hooks/post-checkout", "x\n") }, false},
		"a hook of refs":     {func(f *fsfake.FS) { f.File(git+"hooks/reference-transaction", "x\n") }, false},
		"a link to hooks": {func(f *fsfake.FS) {
			f.Remove(git + "hooks/pre-commit.sample")
			f.Remove(git + "hooks")
			f.Link(git+"hooks", "../githooks").File(effectstest.Cwd+"/githooks/pre-commit", "x\n")
		}, false},
		"other hooks":     {func(f *fsfake.FS) { f.File(git+"config", "[core]\n\thooksPath = .husky\n") }, false},
		"hooks of all":    {func(f *fsfake.FS) { f.File("/home/ana/.gitconfig", "[core]\n\thooksPath = .husky\n") }, false},
		"hooks of a file": {func(f *fsfake.FS) { f.File("/home/ana/.config/git/config", "[include]\n\tpath = x\n") }, false},
		"an own name": {func(f *fsfake.FS) {
			f.File("/home/ana/.gitconfig", "[user]\n\tname = \"u\"\n[alias]\n\tl = !git log\n")
		}, true},
		"a filter":          {func(f *fsfake.FS) { f.File(git+"config", "[filter \"x\"]\n\tclean = ./x\n") }, false},
		"a signature":       {func(f *fsfake.FS) { f.File(git+"config", "[commit]\n\tgpgsign = true\n") }, false},
		"what tidies up":    {func(f *fsfake.FS) { f.File(git+"config", "[gc]\n\trecentObjectsHook = ./x\n") }, false},
		"other references":  {func(f *fsfake.FS) { f.File(git+"config", "[extensions]\n\trefStorage = reftable\n") }, false},
		"a remote":          {func(f *fsfake.FS) { f.File(git+"config", "[remote \"origin\"]\n\turl = ext::x\n") }, true},
		"linked branches":   {func(f *fsfake.FS) { f.Link(git+"refs/heads/feature", "/home/u/.ssh") }, false},
		"a linked log":      {func(f *fsfake.FS) { f.Link(git+"logs/refs/heads/a/b", "/home/u/.ssh/x") }, false},
		"a linked message":  {func(f *fsfake.FS) { f.Link(git+"COMMIT_EDITMSG", "/home/u/.bashrc") }, false},
		"a linked index":    {func(f *fsfake.FS) { f.Link(git+"index", "/home/u/x") }, false},
		"linked objects":    {func(f *fsfake.FS) { f.Link(git+"objects/0a", "/home/u/x") }, false},
		"another reference": {func(f *fsfake.FS) { f.File(git+"HEAD", "ref: refs/notes/x\n") }, false},
		"a path":            {func(f *fsfake.FS) { f.File(git+"HEAD", "ref: refs/heads/../../config\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range commands {
				check(t, c.set, text, c.want)
			}
		})
	}
	for _, text := range []string{
		"git commit", "git commit -am x", "git commit --amend -m x", "git commit -n -m x", "git commit -S -m x", "git add -f a", "git add -p",
		"git checkout x", "git checkout -b x y", "git checkout -B x", "git switch x", "git switch -C x", "git -c core.hooksPath=x commit -m x",
		"git -C /home/u/other add a", "echo x > .git/hooks/pre-commit; git commit -m x", "cp x .git/config; git commit -m x",
		"cp -r x .git; git add a", "git add $x",
	} {
		check(t, nil, text, false)
	}
}

// TestNewSubmodule: git add makes submodules of the repositories that it finds, into which
// later commands of git go.
func TestNewSubmodule(t *testing.T) {
	table := effectstest.Table(t)
	const project = effectstest.Cwd
	for text, want := range map[string]bool{
		"git add sub; git status":     true,
		"git add .; git diff":         true,
		"git add -A; git status":      true,
		"git add '*'; git status":     true,
		"git add .; git commit -m x":  true,
		"git add src; git status":     false,
		"git add b.txt; git status":   false,
		"git add none; git status":    false,
		"git add sub":                 false,
		"git commit -m x; git status": false,
		"git status; git add .":       false,
	} {
		fs := effectstest.Files()
		fs.File(project+"/.git/HEAD", "ref: refs/heads/main\n").File(project+"/.git/index", "").File(project+"/.gitignore", "ignored/\n").
			File(project+"/sub/.git/config", "").File(project+"/ignored/x/.git/config", "").File(project+"/src/main.go", "")
		b := shellBuilder(table, effectstest.IndexOf(fs))
		Text(b, text, effectstest.Cwd, "command")
		if got := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return strings.Contains(e.Text, "changes what git obeys") }); got != want {
			t.Errorf("%s: not understood: %v, want %v", text, got, want)
		}
	}
}
