package paths

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/lexpath"
)

// TestGitLineOracle compares which folders the real git takes from .git files and commondir, whose
// paths begin and end with blanks and other characters, with what GitLine returns.
func TestGitLineOracle(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("missing: git")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	asks := func(dir string, args ...string) (string, bool) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + top, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + top}
		out, err := cmd.Output()
		return strings.TrimSuffix(string(out), "\n"), err == nil
	}
	tree := filepath.Join(top, "tree")
	for _, dir := range []string{filepath.Join(top, "g"), tree} {
		if _, ok := asks(top, "init", "-q", dir); !ok {
			t.Fatal("git init failed")
		}
	}
	if err := os.RemoveAll(filepath.Join(tree, ".git")); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, odd := range []string{"", " ", "  ", "\t", "\v", "\f", "\r", "\n", "\u00a0", "\u0085", "\u2028", "\r\n", " \r\n", "x\ny", "\"", "\\", "/", "/."} {
		for _, begin := range []string{GitFile, "gitdir:", "gitdir:  ", " gitdir: ", "Gitdir: ", ""} {
			name := filepath.Join(top, "r"+strings.Trim(odd, "/.\r\n"))
			if _, err := os.Lstat(name); err != nil {
				if err := os.CopyFS(name, os.DirFS(filepath.Join(top, "g", ".git"))); err != nil {
					t.Fatal(err)
				}
			}
			text := begin + filepath.Join(top, "r") + odd + "\n"
			put(t, top, "tree/.git", text)
			got, ok := GitLine(OSFS{}, filepath.Join(tree, ".git"), GitFile)
			want, has := asks(tree, "rev-parse", "--absolute-git-dir")
			if has != ok && has || ok && has && lexpath.Abs(tree, got) != filepath.Clean(want) {
				t.Errorf(".git has %q: git takes %q (%v), permd %q (%v)", text, want, has, got, ok)
			}
			if tried++; begin != GitFile {
				continue
			}
			admin := filepath.Join(top, "admin")
			if err := os.RemoveAll(admin); err != nil {
				t.Fatal(err)
			}
			put(t, admin, "HEAD", "ref: refs/heads/main\n")
			put(t, admin, "gitdir", filepath.Join(tree, ".git")+"\n")
			put(t, admin, "commondir", filepath.Join(top, "r")+odd+"\n")
			put(t, top, "tree/.git", GitFile+admin+"\n")
			got, ok = GitLine(OSFS{}, filepath.Join(admin, "commondir"), "")
			want, has = asks(tree, "rev-parse", "--path-format=absolute", "--git-common-dir")
			if has != ok && has || ok && has && lexpath.Abs(admin, got) != filepath.Clean(want) {
				t.Errorf("commondir has %q: git takes %q (%v), permd %q (%v)", odd, want, has, got, ok)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d files were tried", tried)
	}
}
