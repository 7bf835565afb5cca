package shell

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestSearchLinksOracle runs searches that follow links in projects with links of any kind to
// hidden and ignored files and folders: one that prints a secret reads one, or is not known.
// PERMD_TEST_SEARCH_LINKS is the number of projects.
func TestSearchLinksOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs searches in many projects; TestSecretsThroughLinks is the quick one")
	}
	table := effectstest.Table(t)
	rounds, seed := testload.Rounds(t, "PERMD_TEST_SEARCH_LINKS", 20, 600), testload.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	secrets := []string{".env", "ign/k.pem", ".h/x.pem", "ign/.env", "lib/deep/.env", ".h/in/id_rsa", "ign/.g/y.pem"}
	links := []string{"e.txt", "lib/e.txt", "lib/d", "lib/deep/z.md", ".m", "lib/.p", ".h/n", "ign/m", "ign/.n", "lib/.env", "lib/l.pem"}
	targets := append([]string{".", "lib", "lib/deep", "lib/p.txt", "ign", ".h", ".h/in", "ign/.g", "none"}, append(secrets, links...)...)
	printed, needless, quiet := 0, 0, 0
	for range rounds {
		top := t.TempDir()
		root, home := filepath.Join(top, "p"), filepath.Join(top, "home")
		filetest.Write(t, filepath.Join(root, "lib/p.txt"), "KEY=public\n")
		filetest.Write(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/main\n")
		filetest.Write(t, filepath.Join(root, ".gitignore"), pick("ign\n", "/ign/\n.env\n", "ign/*\n", "*.pem\n", "ign\n!lib/.p\n", "ign\n!.m/\n"))
		for _, dir := range []string{"lib/deep", "ign/.g", ".h/in"} {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range secrets {
			if r.IntN(3) == 0 {
				filetest.Write(t, filepath.Join(root, file), "KEY=SECRET\n")
			}
		}
		var made []string
		for range 1 + r.IntN(3) {
			link, to := pick(links...), pick(targets...)
			rel, err := filepath.Rel(filepath.Dir(link), to)
			if err == nil {
				err = os.Symlink(rel, filepath.Join(root, link))
			}
			if err != nil && !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
			made = append(made, link+" -> "+rel)
		}
		for _, text := range []string{
			"rg -L KEY", "rg -L KEY .", "rg -L KEY lib", "rg -L --no-ignore KEY", "rg -L --hidden KEY", "rg -L -g '*.txt' KEY", "rg -L -tmd KEY .", "rg -L KEY lib .h", "ag -f KEY", "ag -f KEY lib",
			"ag -f -G txt KEY", "grep -R KEY", "grep -R KEY lib", "grep -R --include='*.txt' KEY .", "grep -R --exclude='.env' KEY", "grep -R --exclude-dir='.*' KEY .",
			"find -L . -name '*.txt' -exec cat {} +", "find . -name 'e*' -exec cat {} +", "find -L lib -name '*.md' -exec grep KEY {} +", "find . -type l -exec cat {} +", "find -L . -name 'e*' -exec cat {} +",
		} {
			if _, err := exec.LookPath(strings.Fields(text)[0]); err != nil {
				continue
			}
			c := exec.CommandContext(t.Context(), "sh", "-c", text) // with /dev/null as its input
			c.Dir, c.Env = root, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
			out, _ := c.Output() // it fails for links to nothing
			x := paths.NewIndex(paths.OSFS{}, time.Now)
			x.Background = func(task func()) { task() }
			env := paths.Environment{FS: x}
			call := &effects.Call{Cwd: root, User: effects.User{UID: uint32(os.Getuid()), Home: home, Env: map[string]string{"HOME": home}}}
			b := NewBuilder(env, table, call, paths.NewResolver(env, call))
			Text(b, text, root, "command")
			says := false
			for i := range b.Effects {
				e := &b.Effects[i]
				says = says || e.Kind == effects.KindUnknown || e.Tags.Has(effects.Secret)
			}
			switch prints := strings.Contains(string(out), "SECRET"); {
			case prints && !says:
				t.Errorf("%s with the links %q prints a secret:\n%s", text, made, out)
			case prints:
				printed++
			case says:
				needless++
			default:
				quiet++
			}
		}
	}
	t.Logf("%d printed a secret, %d might have for permd, %d did not", printed, needless, quiet)
	if printed < rounds || quiet < rounds {
		t.Errorf("%d searches printed a secret, %d did not, in %d projects", printed, quiet, rounds)
	}
}
