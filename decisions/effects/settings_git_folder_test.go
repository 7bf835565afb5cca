package effects

import (
	"testing"

	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestForeignStores begins with the rule that would have let each pass: the
// shipped one, which allows git log and git status because they only look.
func TestForeignStores(t *testing.T) {
	table := shippedTable(t)
	const other = "/home/u/private/.git"
	for name, c := range map[string]struct {
		set  func(*fsfake.FS)
		want bool // whether git log is read-only
	}{
		"a plain repository": {func(*fsfake.FS) {}, true},
		"shared hooks":       {func(f *fsfake.FS) { f.Link(testCwd+"/.git/hooks", "../githooks") }, true},
		"another common folder": {func(f *fsfake.FS) {
			f.File(testCwd+"/.git/commondir", "../evil\n").File(testCwd+"/evil/config", "[core]\n\tfsmonitor = ./x\n")
		}, false},
		"objects of another":       {func(f *fsfake.FS) { f.File(testCwd+"/.git/objects/info/alternates", other+"/objects\n") }, false},
		"a link to its objects":    {func(f *fsfake.FS) { f.Link(testCwd+"/.git/objects", other+"/objects") }, false},
		"a link to its packs":      {func(f *fsfake.FS) { f.Link(testCwd+"/.git/objects/pack", other+"/objects/pack") }, false},
		"a link to its references": {func(f *fsfake.FS) { f.Link(testCwd+"/.git/packed-refs", "/home/u/.netrc") }, false},
		"a file that names another": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: "+other+"\n")
		}, false},
		"one in the project": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: data\n").File(testCwd+"/data/config", "")
		}, true},
		"a linked working tree": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: "+other+"/worktrees/w\n")
			f.File(other+"/worktrees/w/gitdir", testCwd+"/.git\n").File(other+"/worktrees/w/commondir", "../..\n")
		}, true},
		"the linked tree of another": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: "+other+"/worktrees/w\n")
			f.File(other+"/worktrees/w/gitdir", "/home/u/w/.git\n").File(other+"/worktrees/w/commondir", "../..\n")
		}, false},
		"a common folder that is a link": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: data\n").File(testCwd+"/data/config", "")
			f.File(testCwd+"/x", "../evil\n").Link(testCwd+"/data/commondir", "../x")
		}, false},
		"a common folder that is not above": {func(f *fsfake.FS) {
			f.Remove(testCwd + "/.git")
			f.File(testCwd+"/.git", "gitdir: data\n").File(testCwd+"/data/config", "")
			f.File(testCwd+"/data/commondir", other+"\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := shellFiles()
			fs.File(other+"/config", "").File(other+"/objects/info/packs", "")
			c.set(fs)
			b := shellBuilder(table, fs)
			shellText(b, "git log -p", testCwd, "command")
			if got := b.effects[0].Run.Readonly; got != c.want {
				t.Errorf("git log -p: read-only: %v, %v", got, b.effects)
			}
		})
	}
}
