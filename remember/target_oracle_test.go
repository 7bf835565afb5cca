//go:build cgo

package remember_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// boundRuns are what the person allows for always, other forms of it, and the files that
// say what it does.
var boundRuns = []struct {
	allowed      string
	forms, files []string
}{
	{"make lint", []string{"make lint", "make -s lint", "make lint 2>&1", "cd here && make lint"}, []string{"Makefile", "GNUmakefile", "makefile", "rules.mk"}},
	{"./tool.sh", []string{"./tool.sh", "here/tool.sh", "cd sub && ../tool.sh", "$PWD/tool.sh"}, []string{"tool.sh"}},
	{"sh tool.sh", []string{"sh tool.sh", "sh ./tool.sh", "cd here && sh tool.sh"}, []string{"tool.sh"}},
	{"./link.sh", []string{"./link.sh", "real/tool.sh", "here/link.sh"}, []string{"link.sh", "real/tool.sh"}},
}

// boundWrites put the evil file of the same name, EVIL, in the place of NAME.
var boundWrites = []string{
	"cp EVIL NAME", "cat EVIL > NAME", "cat EVIL | tee NAME", "tee NAME < EVIL", "mv EVIL NAME", "ln -sf $PWD/EVIL NAME", "ln -f EVIL NAME", "install EVIL NAME",
	"cp -r evil/. .", "cp evil/* .", "cp -t . EVIL", "tar xf evil.tar", "tar -C here -xf evil.tar", "dd if=EVIL of=NAME status=none", "sort -o NAME EVIL",
	"cd here && cp EVIL NAME; cd ..", "cp EVIL here/NAME", "cp EVIL sub/../NAME", "rm -r real; ln -s evil real", "mv EVIL x && mv x NAME", "for f in NAME; do cp EVIL $f; done",
	"find evil -type f -exec cp {} . ';'", "(cp EVIL NAME)", "cp EVIL NAME &", "if cp EVIL NAME; then true; fi", "awk 1 EVIL > NAME", "uniq EVIL NAME", "touch other",
}

// TestBoundToContent: with a choice for always, and a rule for writing files of the
// project, real shells run what is allowed. None may run other text than the person
// allowed. PERMD_TEST_BOUND_ROUNDS and PERMD_TEST_BOUND_SEED try more calls.
func TestBoundToContent(t *testing.T) {
	for _, program := range []string{"bash", "make", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	rounds, seed := testload.Rounds(t, "PERMD_TEST_BOUND_ROUNDS", 20, 60), uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("PERMD_TEST_BOUND_SEED"), 10, 64); err == nil {
		seed = n
	}
	r := rand.New(rand.NewPCG(seed, 0))
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, allow := rejecting(t, nil)
	a.config.FS = paths.OSFS{}
	ran, asked := 0, 0
	for i := range rounds {
		dir := filepath.Join(top, strconv.Itoa(i))
		project, pwned := boundProject(t, dir), filepath.Join(dir, "pwned")
		c := boundRuns[r.IntN(len(boundRuns))]
		name := c.files[r.IntN(len(c.files))]
		evil := "evil/tool.sh"
		if c.allowed == "make lint" {
			evil = "evil/" + name
		}
		command := strings.NewReplacer("EVIL", evil, "NAME", name).Replace(boundWrites[r.IntN(len(boundWrites))]) +
			[]string{" && ", "; ", "\n", " || true; "}[r.IntN(4)] + c.forms[r.IntN(len(c.forms))]
		cwd := []string{project, filepath.Join(dir, "link")}[r.IntN(2)]
		allow(nil)
		a.allowNarrowest(t, a.inReal(t, cwd, c.allowed))
		allow(func(e *effects.Effect) bool {
			return e.File != nil || e.Run != nil && e.Run.Known && e.Run.Script == nil && !targets.Runs(e.Run.Program) && e.Run.Program != "sh"
		})
		if d := a.inReal(t, cwd, command); d.Verdict != decisions.Allow {
			asked++
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
		cmd.Dir, cmd.Env = cwd, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PWNED=" + pwned}
		output, _ := cmd.CombinedOutput() // whether it succeeds does not matter
		if _, err := os.Lstat(pwned); err == nil {
			t.Errorf("seed %d, round %d: %s is allowed, and in %s this ran something else: %s\n%s", seed, i, c.allowed, cwd, command, output)
		}
	}
	if ran == 0 || asked == 0 {
		t.Errorf("nothing was tested: %d calls ran, %d asked", ran, asked)
	}
}

// boundProject makes a project with files to run, and evil ones to put in their place.
func boundProject(t *testing.T, dir string) string {
	t.Helper()
	p := filepath.Join(dir, "p")
	const evil = "echo x > \"$PWNED\"\n"
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/refs/x": "", ".git/objects/x": "", "sub/x": "",
		"Makefile": "include rules.mk\nlint:\n\t@true\n", "rules.mk": "# none\n", "tool.sh": "#!/bin/sh\ntrue\n", "real/tool.sh": "#!/bin/sh\ntrue\n",
		"evil/Makefile": "lint:\n\techo x > \"$$PWNED\"\n", "evil/tool.sh": "#!/bin/sh\n" + evil,
	} {
		filetest.Write(t, filepath.Join(p, name), text)
	}
	for _, name := range []string{"GNUmakefile", "makefile", "rules.mk"} {
		filetest.Write(t, filepath.Join(p, "evil", name), "lint:\n\techo x > \"$$PWNED\"\n")
	}
	for _, name := range []string{"tool.sh", "real/tool.sh", "evil/tool.sh"} {
		if err := os.Chmod(filepath.Join(p, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"p/here": ".", "p/link.sh": "real/tool.sh", "link": p} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tar := exec.CommandContext(t.Context(), "tar", "-C", "evil", "-cf", "evil.tar", ".")
	tar.Dir = p
	if err := tar.Run(); err != nil {
		t.Fatal(err)
	}
	return p
}

// inReal decides a command in a folder that exists.
func (a *asked) inReal(t testing.TB, cwd, command string) *decisions.Decision {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return a.call(t, effects.Call{Tool: effects.Tool{Name: "Bash"}, Input: input, Cwd: cwd})
}
