package shell

import (
	"fmt"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestForeignStores begins with the rule that would have let each pass: the shipped
// one, which allows git log and git status because they are read-only.
func TestForeignStores(t *testing.T) {
	table := effectstest.Table(t)
	const other = "/home/u/private/.git"
	for name, c := range map[string]struct {
		set  func(*fsfake.FS)
		want bool // whether git log is read-only
	}{
		"a plain repository": {func(*fsfake.FS) {}, true},
		"shared hooks":       {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/hooks", "../githooks") }, true},
		"another common folder": {func(f *fsfake.FS) {
			f.File(effectstest.Cwd+"/.git/commondir", "../evil\n").File(effectstest.Cwd+"/evil/config", "[core]\n\tfsmonitor = ./x\n")
		}, false},
		"objects of another":                 {func(f *fsfake.FS) { f.File(effectstest.Cwd+"/.git/objects/info/alternates", other+"/objects\n") }, false},
		"a link to its objects":              {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/objects", other+"/objects") }, false},
		"a link to its packs":                {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/objects/pack", other+"/objects/pack") }, false},
		"a link to its references":           {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/packed-refs", "/home/u/.netrc") }, false},
		"a link to what is left of a rebase": {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/rebase-merge/git-rebase-todo", "/home/u/.netrc") }, false},
		"a rebase that was stopped":          {func(f *fsfake.FS) { f.File(effectstest.Cwd+"/.git/rebase-merge/git-rebase-todo", "pick 1\n") }, true},
		"a link to attributes":               {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/info/attributes", "/home/u/.netrc") }, false},
		"a link to a log":                    {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/logs/HEAD", "/home/u/.netrc") }, false},
		"a link to one pack": {func(f *fsfake.FS) {
			f.Link(effectstest.Cwd+"/.git/objects/pack/pack-1.pack", other+"/objects/pack/pack-1.pack")
		}, false},
		"a link to why a tree is locked": {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/worktrees/w/locked", "/home/u/.netrc") }, false},
		"a tree that is locked":          {func(f *fsfake.FS) { f.File(effectstest.Cwd+"/.git/worktrees/w/locked", "on a disk\n") }, true},
		"too many trees": {func(f *fsfake.FS) {
			for i := range 257 {
				f.File(fmt.Sprintf("%s/.git/worktrees/%d/gitdir", effectstest.Cwd, i), "")
			}
		}, false},
		"a link of another program": {func(f *fsfake.FS) { f.Link(effectstest.Cwd+"/.git/annex/objects/x", "y") }, true},
		"a file that names another": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: "+other+"\n")
		}, false},
		"one in the project": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: data\n").File(effectstest.Cwd+"/data/config", "")
		}, true},
		"a linked working tree": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: "+other+"/worktrees/w\n")
			f.File(other+"/worktrees/w/gitdir", effectstest.Cwd+"/.git\n").File(other+"/worktrees/w/commondir", "../..\n")
		}, true},
		"the linked tree of another": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: "+other+"/worktrees/w\n")
			f.File(other+"/worktrees/w/gitdir", "/home/u/w/.git\n").File(other+"/worktrees/w/commondir", "../..\n")
		}, false},
		"a common folder that is a link": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: data\n").File(effectstest.Cwd+"/data/config", "")
			f.File(effectstest.Cwd+"/x", "../evil\n").Link(effectstest.Cwd+"/data/commondir", "../x")
		}, false},
		"a common folder that is not above": {func(f *fsfake.FS) {
			f.Remove(effectstest.Cwd + "/.git")
			f.File(effectstest.Cwd+"/.git", "gitdir: data\n").File(effectstest.Cwd+"/data/config", "")
			f.File(effectstest.Cwd+"/data/commondir", other+"\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := effectstest.Files()
			fs.File(other+"/config", "").File(other+"/objects/info/packs", "")
			c.set(fs)
			b := shellBuilder(table, fs)
			Text(b, "git log -p", effectstest.Cwd, "command")
			if got := b.Effects[0].Run.Readonly; got != c.want {
				t.Errorf("git log -p: read-only: %v, %v", got, b.Effects)
			}
		})
	}
}
