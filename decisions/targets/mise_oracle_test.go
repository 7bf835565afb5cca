package targets

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// tracedPath matches the path in a line of strace about a file.
var tracedPath = regexp.MustCompile(`^[0-9]+ +\w+\((?:(?:AT_FDCWD|[0-9]+), )?"([^"]*)"`)

// TestMiseReads: the real mise looks at no file of the project but those that a run of a task is
// bound to, and where there is one of those that it looks for in vain, the run is bound to
// another text, or to none.
func TestMiseReads(t *testing.T) {
	for _, program := range []string{"mise", "strace"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "p")
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, ".git/HEAD"), "ref: refs/heads/main\n")
	write(filepath.Join(project, "sub/a.txt"), "")
	write(filepath.Join(project, "mise.toml"), "[env]\nA = \"b\"\n[tasks.lint]\nrun = \"echo hi\"\ndepends = [\"fmt\"]\n[tasks]\nfmt = \"echo f\"\n")
	for _, cwd := range []string{project, filepath.Join(project, "sub")} {
		run := &effects.Run{Program: "mise", Args: []string{"run", "lint"}, Known: true, Cwd: cwd}
		of := func() *effects.Script { return Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{}) }
		bound := of()
		if bound.Unbound != "" {
			t.Fatalf("in %s: not bound: %s", cwd, bound.Unbound)
		}
		trace := filepath.Join(home, "trace")
		c := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file", "-o", trace, "mise", "run", "lint")
		c.Dir, c.Env = cwd, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "MISE_OFFLINE=1"}
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "hi") {
			t.Skipf("mise does not run under strace: %v, %s", err, out)
		}
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		var looked []string
		for line := range strings.Lines(string(data)) {
			if m := tracedPath.FindStringSubmatch(line); m != nil {
				if at := filepath.Clean(m[1]); lexpath.Below(project, at) {
					looked = append(looked, at)
				}
			}
		}
		slices.Sort(looked)
		looked = slices.Compact(looked)
		missing := 0
		for _, file := range looked {
			if _, err := os.Lstat(file); err == nil {
				if name, _ := strings.CutPrefix(file, project); name != "/mise.toml" && name != "/sub" && name != "/.git" {
					t.Errorf("in %s: mise looks at %s", cwd, file)
				}
				continue
			}
			missing++
			top := file // what is made for it
			for filepath.Dir(top) != project && filepath.Dir(top) != filepath.Join(project, "sub") {
				top = filepath.Dir(top)
			}
			for _, made := range []string{file, filepath.Join(file, "lint")} {
				write(made, "")
				if now := of(); now.Unbound == "" && now.SHA256 == bound.SHA256 && file != filepath.Join(project, ".config") {
					t.Errorf("in %s: with %s, the run is bound to the same", cwd, made)
				}
				if err := os.RemoveAll(top); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Logf("in %s: %d paths, %d missing", cwd, len(looked), missing)
		if missing == 0 {
			t.Error("nothing was compared")
		}
	}
}
