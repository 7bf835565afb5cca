package decisions

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/eventually"
)

// TestAbsentIsNew: what is missing in a repository is known by the names of its folder,
// which are kept between calls. It begins with the rule that would let each call pass, one that
// allows git log while it is read-only: a file or link that was put there a moment
// ago is seen, by the same call and by another one, and so is one that is gone.
func TestAbsentIsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, link string }{
		"a common folder":                {file: ".git/commondir", text: "../evil\n"},
		"a configuration":                {file: ".git/config", text: "[core]\n\tfsmonitor = ./x\n"},
		"one of the tree":                {file: ".git/config.worktree", text: "[core]\n\tpager = ./x\n"},
		"a configuration in other case":  {file: ".git/CONFIG", link: "../x"},
		"a hook":                         {file: ".git/hooks/post-index-change", text: "x"},
		"objects of another":             {file: ".git/objects/info/alternates", text: "/x\n"},
		"objects of a server":            {file: ".git/objects/info/http-alternates", text: "x\n"},
		"a link to packs":                {file: ".git/objects/pack", link: "/x"},
		"a link to one pack":             {file: ".git/objects/pack/pack-1.pack", link: "/x"},
		"a link to all objects":          {file: ".git/objects", link: "/x"},
		"a link to attributes":           {file: ".git/info/attributes", link: "/x"},
		"a link to a log":                {file: ".git/logs/HEAD", link: "/x"},
		"a link to what a rebase left":   {file: ".git/rebase-merge/git-rebase-todo", link: "/x"},
		"a link to references":           {file: ".git/packed-refs", link: "/x"},
		"a link to why a tree is locked": {file: ".git/worktrees/w/locked", link: "/x"},
		"a link to worktrees":            {file: ".git/worktrees", link: "/x"},
		"a part of the index":            {file: ".git/sharedindex.1", text: "x"},
		"an index that nobody can read":  {file: ".git/index", text: "DIRC sdir\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, _, e := newCached(t)
			e.policy = &readonlyPolicy{p}
			index := paths.NewIndex(paths.OSFS{}, time.Now)
			e.fs = index
			dir := repository(t)
			git := filepath.Join(dir, ".git")
			if err := os.WriteFile(filepath.Join(git, "HEAD"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			allowed := func(command string) bool { return e.Decide(t.Context(), bashIn(dir, command))[0].Verdict == Allow }
			file := filepath.Join(dir, c.file)
			for round := range 3 {
				if round > 0 {
					// Its stamps are trusted from now on.
					eventually.Holds(t, "an old stamp", func() bool { _, old := index.OldStamp(git); return old })
				}
				for range 2 {
					for _, command := range []string{"git log -n 1", "git log -n " + string(rune('2'+round))} {
						if !allowed(command) {
							t.Fatalf("round %d: %s is not allowed without it", round, command)
						}
					}
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				put := func() error { return os.WriteFile(file, []byte(c.text), 0o600) }
				if c.link != "" {
					put = func() error { return os.Symlink(c.link, file) }
				}
				if err := put(); err != nil {
					t.Fatal(err)
				}
				for _, command := range []string{"git log -n 1", "git log -n 2", "git log -n 7" + string(rune('0'+round))} {
					if allowed(command) {
						t.Errorf("round %d: %s is allowed with it", round, command)
					}
				}
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// readonlyPolicy allows what is read-only.
type readonlyPolicy struct{ *countingPolicy }

func (p *readonlyPolicy) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *readonlyPolicy) Evaluate(_ context.Context, in *Input) (Findings, error) {
	if in.Effect.Run == nil || !in.Effect.Run.Readonly {
		return Findings{}, nil
	}
	return Findings{Fired: []Finding{finding(User, SetAllow)}}, nil
}
