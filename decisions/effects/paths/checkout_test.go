package paths

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/filetest"
)

// checkout makes a main repository at main and a worktree of it at tree, as git
// does, below a folder that it returns.
func checkout(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	admin := top + "/main/.git/worktrees/tree"
	for name, text := range map[string]string{
		"main/.git/HEAD":           "ref: refs/heads/main\n",
		"main/.git/objects/x":      "",
		"tree/.git":                "gitdir: " + admin + "\n",
		"tree/sub/x":               "",
		"main/.git/modules/m/HEAD": "ref: refs/heads/main\n",
		"sub/.git":                 "gitdir: ../main/.git/modules/m\n",
		"plain/x":                  "",
	} {
		put(t, top, name, text)
	}
	put(t, admin, "gitdir", top+"/tree/.git\n")
	put(t, admin, "commondir", "../..\n")
	return top
}

func put(t *testing.T, top, name, text string) {
	t.Helper()
	filetest.Write(t, filepath.Join(top, name), text)
}

// TestProjectKey: worktrees share their repository's key, and a folder that only
// claims to be a worktree does not.
func TestProjectKey(t *testing.T) {
	tests := []struct {
		name, root, want string
		before           func(t *testing.T, top string)
	}{
		{"main repository", "main", "main", nil},
		{"worktree", "tree", "main", nil},
		{"submodule", "sub", "sub", nil},
		{"no repository", "plain", "plain", nil},
		{"worktree named by a relative path", "tree", "main", func(t *testing.T, top string) {
			put(t, top, "tree/.git", "gitdir: ../main/.git/worktrees/tree\n")
		}},
		{"forged .git file", "plain", "plain", func(t *testing.T, top string) {
			put(t, top, "plain/.git", "gitdir: "+top+"/main/.git/worktrees/tree\n")
		}},
		{"forged .git file that names the repository itself", "plain", "plain", func(t *testing.T, top string) {
			put(t, top, "plain/.git", "gitdir: "+top+"/main/.git\n")
		}},
		{"forged folder that names the repository", "plain", "plain", func(t *testing.T, top string) {
			put(t, top, "plain/.git", "gitdir: "+top+"/plain/worktrees/x\n")
			put(t, top, "plain/worktrees/x/gitdir", top+"/plain/.git\n")
			put(t, top, "plain/worktrees/x/commondir", top+"/main/.git\n")
		}},
		{"forged link in a worktrees folder", "plain", "plain", func(t *testing.T, top string) {
			put(t, top, "plain/fake/gitdir", top+"/plain/.git\n")
			put(t, top, "plain/fake/commondir", top+"/main/.git\n")
			if err := os.Symlink(top+"/main/.git", top+"/plain/common"); err != nil {
				t.Fatal(err)
			}
			put(t, top, "plain/.git", "gitdir: "+top+"/plain/common/worktrees/tree\n")
		}},
		{"the .git of a worktree by a link", "plain", "plain", func(t *testing.T, top string) {
			if err := os.Symlink(top+"/tree/.git", top+"/plain/.git"); err != nil {
				t.Fatal(err)
			}
		}},
		{"the .git of the repository by a link", "plain", "plain", func(t *testing.T, top string) {
			if err := os.Symlink(top+"/main/.git", top+"/plain/.git"); err != nil {
				t.Fatal(err)
			}
		}},
		{"worktree that was removed", "tree", "tree", func(t *testing.T, top string) {
			if err := os.Remove(top + "/main/.git/worktrees/tree/gitdir"); err != nil {
				t.Fatal(err)
			}
		}},
		{"worktree that was moved", "tree", "tree", func(t *testing.T, top string) {
			put(t, top, "main/.git/worktrees/tree/gitdir", top+"/elsewhere/.git\n")
		}},
		{"repository that is none", "tree", "tree", func(t *testing.T, top string) {
			if err := os.Remove(top + "/main/.git/HEAD"); err != nil {
				t.Fatal(err)
			}
		}},
		{"two lines", "tree", "tree", func(t *testing.T, top string) {
			put(t, top, "tree/.git", "gitdir: "+top+"/main/.git/worktrees/tree\nx\n")
		}},
		{"a long file", "tree", "tree", func(t *testing.T, top string) {
			put(t, top, "tree/.git", "gitdir: "+top+"/main/.git/worktrees/tree\n"+string(make([]byte, 2*maxGitFile)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := checkout(t)
			if tt.before != nil {
				tt.before(t, top)
			}
			if got := ProjectKey(OSFS{}, top+"/"+tt.root); got != top+"/"+tt.want {
				t.Errorf("have %s, want %s", got, top+"/"+tt.want)
			}
		})
	}
	if got := ProjectKey(OSFS{}, ""); got != "" {
		t.Errorf("no project: have %q", got)
	}
}
