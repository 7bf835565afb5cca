package targets

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestRequirements: an answer about pip is bound to its files of requirements, to those that they
// name, and to pip's settings; it is not remembered where these name what lies in the project.
func TestRequirements(t *testing.T) {
	files := map[string]string{
		"r.txt": "-r more/b.txt\nflask==3.0 # x\n", "more/b.txt": "-cc.txt\nrequests[socks]>=2 ; python_version < '4' \\\n  --hash=sha256:ab\n", "more/c.txt": "urllib3<2\n",
		"e.txt": "-e .\n", "path.txt": "./x\n", "wheel.txt": "x-1-py3-none-any.whl\n", "url.txt": "x @ file:///tmp/x\n", "env.txt": "x==${V}\n", "remote.txt": "-r https://x.example/r.txt\n", "find.txt": "-f d\n",
		"git.txt": "x @ git+https://x.example/x@v1\nhttps://x.example/y.tar.gz\n--index-url https://x.example/simple\n", "none.txt": "-r gone.txt\n", "long.txt": "--req more/c.txt\n",
	}
	in := func(command, why string) plainRun {
		return plainRun{name: command, files: files, command: command, why: why}
	}
	checkPlain(t, []plainRun{
		in("pip install -r r.txt", ""), in("pip3.12 install -U -rr.txt", ""), in("pip install --requirement=r.txt", ""), in("python3 -m pip install -r r.txt", ""), in("uv pip install -r r.txt", ""), in("uv pip sync r.txt", ""),
		in("pip install -r git.txt", ""), in("pip install -qr r.txt", "not certain"), in("pip install --req r.txt", "not certain"), in("pip install -r e.txt", "lies in the project"), in("pip install -r path.txt", "lies in the project"),
		in("pip install -r wheel.txt", "lies in the project"), in("pip install -r url.txt", "lies in the project"), in("pip install -r env.txt", "variables"), in("pip install -r remote.txt", "not certain"),
		in("pip install -r find.txt", "lies in the project"), in("pip install -r none.txt", "does not exist"), in("pip install -r long.txt", "not certain"), in("pip install x -c r.txt", ""),
	})
	for _, command := range []string{"pip install -r r.txt", "python3 -m pip install -r r.txt", "uv pip sync r.txt"} {
		of := func(more map[string]string) *effects.Script {
			return (&plainRun{files: files, command: command}).of(&effects.Disturbance{}, more)
		}
		before := of(nil)
		for _, name := range []string{"r.txt", "more/b.txt", "more/c.txt", ".venv/pip.conf", "../.config/pip/pip.conf"} {
			if after := of(map[string]string{name: files[name] + "evil\n"}); after.Unbound == "" && after.SHA256 == before.SHA256 {
				t.Errorf("%s: an answer still counts after a change of %s", command, name)
			}
		}
		if after := of(map[string]string{"README.md": "x"}); after.SHA256 != before.SHA256 {
			t.Errorf("%s: an answer no longer counts after a change of another file", command)
		}
	}
	outer := func(text string) *effects.Script {
		return (&plainRun{files: map[string]string{"package.json": text, "packages/a/package.json": `{"name":"a"}`}, command: "npm install", cwd: "packages/a"}).of(&effects.Disturbance{}, nil)
	}
	if outer(`{"name":"x"}`).Unbound != "" || !strings.Contains(outer(`{"workspaces":["packages/*"]}`).Unbound, "workspaces") {
		t.Error("npm install in a workspace is not told from one elsewhere")
	}
}

// TestRequirementsOracle compares the files that pip reads, as pip's own reader says, with those
// that an answer is bound to.
func TestRequirementsOracle(t *testing.T) {
	const script = `import os, sys
from pip._internal.req.req_file import parse_requirements
from pip._internal.network.session import PipSession
session = PipSession()
for line in sys.stdin:
    try:
        found = [r.requirement for r in parse_requirements(os.path.join(line.rstrip("\n"), "r.txt"), session=session)]
    except BaseException:
        found = []
    print(" ".join(found), flush=True)
`
	if err := exec.Command("python3", "-c", "import pip._internal.req.req_file").Run(); err != nil {
		t.Skip("pip is missing")
	}
	pip := exec.Command("python3", "-c", script)
	in, err := pip.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := pip.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := pip.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = pip.Wait()
	}()
	answers := bufio.NewScanner(out)
	seed := testload.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 3))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	known := 0
	rounds := testload.Rounds(t, "PERMD_TEST_REQUIREMENTS", 50, 1000)
	for round := range rounds {
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"r.txt", "a.txt", "d/b.txt", "d/c.txt", "base"}
		texts := map[string]string{}
		for n, name := range names {
			text := fmt.Sprintf("mark%d\n", n)
			for range rnd.IntN(3) {
				if n+1 == len(names) {
					break
				}
				to, err := filepath.Rel(filepath.Dir(name), names[n+1+rnd.IntN(len(names)-n-1)])
				if err != nil {
					t.Fatal(err)
				}
				text += pick("-r %s\n", "-r%s\n", "--requirement %s\n", "--requirement=%s\n", "-c %s\n", "  -r   %s # x\n", "-r \\\n %s\n", "#-r %s\n", "x==1 # -r %s\n", "-r '%s'\n", "--req %s\n", "-r %s --pre\n", "-r ./%s\n", "\t-r\t%s\n", "-r %s\r\n", "--pre -r %s\n", "-r %s#x\n", "--pre --requirement %s\n", "x==1 -r %s\n", "--pre -qr %s\n")
				text = strings.ReplaceAll(text, "%s", to)
			}
			texts[name] = text
			filetest.Write(t, filepath.Join(top, name), text)
		}
		filetest.Write(t, filepath.Join(top, ".git/HEAD"), "")
		if _, err := fmt.Fprintln(in, top); err != nil || !answers.Scan() {
			t.Fatal("pip's reader has ended: ", err, answers.Err())
		}
		found := strings.Fields(answers.Text())
		run := &effects.Run{Program: "pip", Args: []string{"install", "-r", "r.txt"}, Known: true, Cwd: top}
		s := Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{})
		if s.Unbound != "" {
			continue
		}
		known++
		files := Files(paths.OSFS{}, run, &effects.User{})
		for n, name := range names {
			if slices.Contains(found, fmt.Sprintf("mark%d", n)) && !slices.Contains(files, filepath.Join(top, name)) {
				t.Errorf("seed %d, round %d: pip reads %s, which the answer is not bound to: %q", seed, round, name, slices.Collect(maps.Values(texts)))
			}
		}
	}
	if known*5 < rounds {
		t.Errorf("only %d answers of %d are bound", known, rounds)
	}
}
