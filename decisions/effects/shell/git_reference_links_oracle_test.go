package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/filetest"
)

// TestReferenceLinksOracle puts links to a secret that begins with a hash, and to a folder, wherever
// git reads references: what the real git prints of them asks. Without links thousands of
// references ask nothing.
func TestReferenceLinksOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares with git in many repositories; TestNamedReferencesOracle is the quick one")
	}
	o := newContentsOracle(t)
	const hash = "abababababababababababababababababababab"
	filetest.Write(t, filepath.Join(o.top, "keys/CANARY"), hash+"\n")
	filetest.Write(t, filepath.Join(o.top, "log"), hash+" "+hash+" a <a@b.c> 1700000000 +0000\tCANARY\n")
	commands := []string{
		"git rev-parse x", "git rev-parse --all", "git rev-parse --branches", "git rev-parse --remotes", "git rev-parse --tags", "git show-ref", "git for-each-ref", "git tag", "git branch -a", "git log --all --oneline", "git status",
		"git rev-parse d/CANARY", "git rev-parse deep/er/x", "git rev-parse origin/main", "git reflog show main", "git rev-parse worktrees/w/refs/bisect/x", "git log -1 --oneline", "git rev-parse HEAD",
	}
	if o.run(o.project, "git worktree add -q ../w && mkdir -p .git/refs/heads/many/{1..40} && read hash < .git/refs/heads/main && for i in {1..40}; do echo $hash > .git/refs/heads/many/$i/x; done && for i in {1..3000}; do echo $hash > .git/refs/tags/t$i; done && echo done") != "done\n" {
		t.Fatal("git fails")
	}
	for _, text := range commands {
		if b := onDisk(effectstest.Table(t), o.top, o.project, text); notUnderstood(b) {
			t.Errorf("%s asks without a link: %s", text, b.Effects[len(b.Effects)-1].Text)
		}
	}
	o.run(o.project, "rm .git/refs/tags/t*; rm -r .git/refs/heads/many")
	printed := 0
	for place, to := range map[string]string{
		"refs/heads/x": "keys/CANARY", "refs/heads/deep/er/x": "keys/CANARY", "refs/tags/d": "keys", "refs/remotes/origin/main": "keys/CANARY", "refs/x": "keys/CANARY", "refs/heads/main": "keys/CANARY", "refs/deep": "keys", "x": "keys/CANARY",
		"logs/refs/heads/main": "log", "worktrees/w/refs/bisect/x": "keys/CANARY", "packed-refs": "keys/CANARY", "HEAD": "keys/CANARY", "refs": "keys",
	} {
		link, kept := filepath.Join(o.project, ".git", place), filepath.Join(o.top, "kept")
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		was := os.Rename(link, kept)
		if err := os.Symlink(filepath.Join(o.top, to), link); err != nil {
			t.Fatal(err)
		}
		for _, text := range commands {
			out := o.run(o.project, text)
			if !strings.Contains(out, hash) && !strings.Contains(out, "CANARY") {
				continue
			}
			printed++
			if b := onDisk(effectstest.Table(t), o.top, o.project, text); !notUnderstood(b) {
				t.Errorf("%s prints what a link at .git/%s leads to, and does not ask", text, place)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if was == nil {
			if err := os.Rename(kept, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	if printed < 20 {
		t.Errorf("%d commands print something", printed)
	}
}
