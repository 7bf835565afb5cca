package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestObjectFormats: in repositories of git's with either format of checksums, its index is
// read, and a submodule in it is looked into, however its list is written.
func TestObjectFormats(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	table := effectstest.Table(t)
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "4"} {
			t.Run(format+", version "+version, func(t *testing.T) {
				home, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				project := filepath.Join(home, "p")
				sub := filepath.Join(project, "lib")
				if err := os.MkdirAll(sub, 0o700); err != nil {
					t.Fatal(err)
				}
				run := func(dir string, words ...string) {
					t.Helper()
					cmd := exec.CommandContext(t.Context(), git, words...)
					cmd.Dir = dir
					cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("git %v: %v: %s", words, err, out)
					}
				}
				check := func(what string, want bool) {
					t.Helper()
					b := onDisk(table, home, project, "git status")
					if got := b.Effects[0].Run.Readonly; got != want {
						t.Errorf("%s: read-only: %v, %s", what, got, b.Effects[len(b.Effects)-1].Text)
					}
				}
				write := func(name, text string) {
					t.Helper()
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				run(project, "init", "-q", "--object-format="+format)
				check("nothing added", true)
				write(filepath.Join(project, "a.txt"), "a\n")
				run(project, "add", "a.txt")
				check("a file", true)
				run(sub, "init", "-q", "--object-format="+format)
				run(sub, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "1")
				run(project, "add", "lib")
				run(project, "update-index", "--index-version", version)
				check("a submodule", true)
				run(sub, "config", "core.fsmonitor", "./x")
				check("a submodule with a monitor", false)
				run(sub, "config", "--unset", "core.fsmonitor")
				check("without it again", true)
				run(project, "config", "core.repositoryformatversion", "1")
				run(project, "config", "extensions.objectformat", "md5")
				check("another format", false)
			})
		}
	}
}
