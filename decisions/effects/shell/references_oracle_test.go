package shell

import (
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestNamedReferencesOracle: references that lead to a file by way of others, that a folder of
// branches holds, or that only a log has are reads of it, in the repository and in a linked
// working tree; those that lead to commits are none.
func TestNamedReferencesOracle(t *testing.T) {
	o := newContentsOracle(t)
	linked := *o
	linked.project = filepath.Join(o.top, "linked")
	for _, text := range []string{
		"git tag blob HEAD:locked/x && git tag v1 HEAD && git tag -m x note HEAD:locked/x && git update-ref refs/remotes/origin/main HEAD~1 && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main",
		"git -c core.logAllRefUpdates=always tag logged HEAD:locked/x && git update-ref refs/remotes/origin/file HEAD:locked/x && git symbolic-ref refs/remotes/file/HEAD refs/tags/blob",
		"git symbolic-ref refs/heads/toblob refs/tags/blob && git symbolic-ref refs/heads/totwo refs/heads/toblob && git symbolic-ref refs/tags/tomain refs/heads/main && git rev-parse HEAD:locked/x > .git/refs/heads/byhand",
		"echo 'ref: refs/tags/blob' > .git/NEAR && echo 'ref: refs/heads/main' > .git/MAIN && git tag $(git rev-parse --short=5 HEAD) HEAD:locked/x",
		"echo more > c && git stash -q && git worktree add -q ../linked other && git -C ../linked update-ref refs/worktree/own HEAD:locked/x",
	} {
		if o.run(o.project, text+" && echo done") != "done\n" {
			t.Fatalf("%s fails", text)
		}
	}
	short := o.run(o.project, "git rev-parse --short=5 HEAD | tr -d '\n'")
	files := []string{"blob", "tags/blob", "refs/tags/blob", "note", "note^{}", "logged@{0}", "logged@{now}", "origin/file", "remotes/origin/file", "file", "file/HEAD", "toblob", "heads/toblob", "refs/heads/totwo", "totwo", "byhand", short, "x-1-g" + short}
	commits := []string{"HEAD", "main", "main@{0}", "@{0}", "heads/main", "refs/heads/main", "v1", "refs/tags/v1", "v1^{}", "tomain", "origin/main", "origin", "origin/HEAD", "refs/remotes/origin/main", "stash", "stash@{0}", "other", "nonexist", "main/x"}
	for _, state := range testload.WithShort(t, 1, []string{"true", "git pack-refs --all", "git gc -q"}) {
		o.run(o.project, state)
		for _, at := range []*contentsOracle{o, &linked} {
			own := append([]string{}, files...)
			if at == o {
				own = append(own, "NEAR", "worktrees/linked/refs/worktree/own")
			} else {
				own = append(own, "refs/worktree/own", "worktrees/linked/refs/worktree/own")
			}
			printed := 0
			for _, name := range own {
				printed += at.check(t, 0, "git show '"+name+"'", at.project) + at.check(t, 0, "git cat-file -p '"+name+"'", at.project)
			}
			if printed < len(own) {
				t.Errorf("after %s: %d of %d references are printed in %s", state, printed, 2*len(own), at.project)
			}
			for _, name := range commits {
				if reads := readsOf(t, at, "git show '"+name+"'"); len(reads) > 0 {
					t.Errorf("after %s: git show %s reads %s in %s", state, name, reads, at.project)
				}
			}
		}
	}
}

// TestClonedReferencesOracle: references of a remote that lead to files are reads of them also
// where permd cannot read the object, and the branches of an ordinary clone are none, however
// large its packs are.
func TestClonedReferencesOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it clones repositories; TestNamedReferencesOracle is the quick one")
	}
	o := newContentsOracle(t)
	branches := []string{"origin/main", "origin/other", "origin", "origin/main~1", "main..origin/other"}
	large := "git update-ref refs/remotes/origin/large $(head -c 100000 /dev/urandom | git hash-object -w --stdin) && git update-ref refs/stash origin/large"
	for _, clone := range testload.WithShort(t, 1, [][2]string{
		{"small", "git clone -q file://$PWD ../small"},
		{"references", "git clone -q file://$PWD ../references && git -C ../references -c repack.useDeltaBaseOffset=false repack -adfq"},
		{"large", "head -c 9000000 /dev/urandom > big && git add big && git commit -qm big && git clone -q file://$PWD ../large"},
	}) {
		name, text := clone[0], clone[1]
		if o.run(o.project, text+" && cd ../"+name+" && "+large+" && echo done") != "done\n" {
			t.Fatalf("%s fails", text)
		}
		clone := *o
		clone.project = filepath.Join(o.top, name)
		for _, state := range []string{"true", "git pack-refs --all"} {
			o.run(clone.project, state)
			for _, ref := range branches {
				if reads := readsOf(t, &clone, "git show "+ref); len(reads) > 0 {
					t.Errorf("%s, after %s: git show %s reads %s", name, state, ref, reads)
				}
			}
			for _, ref := range []string{"origin/large", "stash"} {
				if reads := readsOf(t, &clone, "git show "+ref); len(reads) == 0 {
					t.Errorf("%s, after %s: git show %s reads nothing", name, state, ref)
				}
			}
		}
	}
}
