package targets

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
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
		"git.txt": "x @ git+https://x.example/x@v1\nhttps://x.example/y.tar.gz\n--index-url https://x.example/simple\n", "none.txt": "-r gone.txt\n", "long.txt": "--req more/c.txt\n", "-": "x\n",
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
	for _, pip := range []string{"pip", "pip3.12", "python3 -m pip", "uv pip"} {
		for words, why := range map[string]string{
			"-r r.txt vendor/pkg": "lie in the project", "-r r.txt evil.whl": "lie in the project", "-r r.txt .": "lie in the project", "-r r.txt ./local": "lie in the project", "evil.ZIP -r r.txt": "lie in the project",
			"-r r.txt -e .": "code of its own", "-r r.txt -f wheels": "code of its own", "-r r.txt --find-links=wheels": "code of its own", "-r r.txt --editable x": "code of its own",
			"-r r.txt -i ./simple": "an index", "-r r.txt --index-url=file:./simple": "an index", "--extra-index-url simple -r r.txt": "an index",
			"-r r.txt --group dev": "not certain", "-r r.txt --python ./python": "not certain", "-r r.txt --cache-dir=.cache": "not certain", "-r r.txt --config-settings x=y": "not certain", "-r r.txt -- x": "not certain",
			"-r r.txt -i": "not certain", "-r r.txt -t -e": "not certain", "-r=r.txt": "not certain", "-r pyproject.toml": "of a project", "-r setup.py": "of a project",
			"-r r.txt flask>=3 requests[socks]": "", "-U -r r.txt -i https://x.example/simple": "", "-qq -r r.txt --no-deps --timeout=5 --target lib": "", "-r r.txt x.py": "", "-r more/../r.txt": "",
		} {
			checkPlain(t, []plainRun{in(pip+" install "+words, why)})
		}
	}
	for _, option := range []string{"--requirements", "--requirement", "--constraints", "--constraint", "--build-constraints", "--build-constraint", "-b", "--overrides", "--override"} {
		checkPlain(t, []plainRun{in("uv pip install flask "+option+" r.txt", ""), in("uv pip install flask "+option+" e.txt", "code of its own")})
	}
	checkPlain(t, []plainRun{
		in("uv -q pip install -r r.txt", ""), in("uv --directory d pip install -r r.txt", "not certain"), in("python3 -I -m pip install -r r.txt", "options of Python"), in("python3 -mpip install -r r.txt", "options of Python"),
		in("pip -q install -r r.txt", ""), in("uv pip sync r.txt e.txt", "code of its own"),
	})
	for _, text := range []string{
		"evil.zip;python_version>'3'", "evil.zip[x]", "evil.ZIP", "evil.tlz", "evil.tar.lzma", "evil.tar.lz", "x>=1.zip", "x[a] @ file:x", "-i ./simple", "--index-url=file:./simple", "--extra-index-url ./simple", "-i simple", "-f d",
		"--no-index --find-links d", "# x \\\n-e ./evil", "x # y \\\n-e ./evil", "-\\\ne ./evil", "x #\r-e ./evil", "x #\f-e ./evil", "x #\u2028-e ./evil", "# coding: utf-7\nx", "x==1 --global-option=build_ext", "x==1 -e y", "--pre 'a b'", "--trusted-host x", "dir/x", "x @ git+https://x.example/x#subdirectory=/home/ana/shop/evil", "https://x.example/x.zip#egg=x&subdirectory=../evil", "https://x.example/x.zip?a&subdirectory=%2e%2e/evil", "-r -", "--no-binary -e", "-e git+https://x.example/x",
	} {
		if s := (&plainRun{files: map[string]string{"r.txt": text + "\n"}, command: "pip install -r r.txt"}).of(&effects.Disturbance{}, nil); s.Unbound == "" {
			t.Errorf("%q is bound to the file alone", text)
		}
	}
	for _, text := range []string{
		"zope.interface~=5.0 , !=5.1", "x (>=1,<2)", "x == 1.* # y", "x===1+local.1", "x @ git+https://x.example/x@v1#subdirectory=python/x&egg=x", "a[b,c]>=1;python_version<'4' and sys_platform == 'linux'", "x \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n    # via y", "-i https://x.example/simple/\n--extra-index-url=https://y.example/simple\n--pre\n--no-binary :all:", "x @ https://x.example/x.zip ; python_version<'4'",
	} {
		if s := (&plainRun{files: map[string]string{"r.txt": text + "\n"}, command: "pip install -r r.txt"}).of(&effects.Disturbance{}, nil); s.Unbound != "" {
			t.Errorf("%q: not bound: %s", text, s.Unbound)
		}
	}
	for name, settings := range map[string]map[string]bool{
		".venv/pip.conf": {
			"[global]\nindex-url = https://x.example/simple\nextra-index-url =\n    https://y.example/simple\n    https://z.example/simple\n[install]\ntimeout = 5\n": true,
			"[global]\nindex-url = file:./simple\n": false, "[install]\nfind-links = wheels\n": false, "[global]\nextra-index-url = https://x.example/\n  ./simple\n": false, "[install]\nrequirement = e.txt\n": false, "[global]\nindex_url: ./simple\n": false,
			"[global]\ntimeout = 5\n find-links = x\n": false, "[global]\rfind-links = x": false,
		},
		"uv.toml": {
			"index-url = 'https://x.example/simple'\n[pip]\nextra-index-url = ['https://y.example']\n[[index]]\nname = 'a'\nurl = 'https://x.example'\n": true,
			"find-links = ['wheels']": false, "index-url = './simple'": false, "[pip]\nfind-links = ['x']": false, "[[index]]\nurl = 'simple'\n": false, "[[index]]\nurl = 'https://x.example'\nformat = 'flat'\n": false, "override-dependencies = ['x @ file:x']": false, "x": false,
			"[pip]\nextra-index-url = ['https://y.example', 'x']": false,
		},
		"pyproject.toml": {"[project]\nname = 'x'\n[tool.uv]\ndev-dependencies = ['x']\n[tool.black]\nx = 1\n": true, "[tool.uv]\nfind-links = ['x']\n": false, "[tool.uv.sources]\nx = {path = 'x'}\n": false, "tool = 1": false},
	} {
		command := "uv pip install -r r.txt"
		if strings.HasSuffix(name, ".conf") {
			command = "pip install -r r.txt"
		}
		for text, bound := range settings {
			if s := (&plainRun{files: map[string]string{"r.txt": "x\n", name: text}, command: command}).of(&effects.Disturbance{}, nil); (s.Unbound == "") != bound {
				t.Errorf("%s %q: %+v", name, text, s)
			}
		}
	}
	for folder, url := range map[string]string{"x @ https:": "x @ https://x.example/y.zip", "x @ git+https:": "x @ git+https://x.example/y"} {
		if s := (&plainRun{files: map[string]string{"r.txt": url + "\n", folder + "/x": ""}, command: "pip install -r r.txt"}).of(&effects.Disturbance{}, nil); s.Unbound == "" {
			t.Errorf("%s: a folder of the project is taken for what is on the network", url)
		}
	}
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
	if testing.Short() {
		t.Skip("long: it starts pip; TestRequirements is the quick one")
	}
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
	ask := startPip(t, "pip._internal.req.req_file", script)
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
		found := strings.Fields(ask(top))
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

// TestRequirementsLinks: ".." after a link is the parent of the link's target.
func TestRequirementsLinks(t *testing.T) {
	for name, linked := range map[string]bool{"folder": false, "link": true} {
		fs := fsfake.New(targetsRoot+"/.git/HEAD").File(targetsRoot+"/r.txt", "x\n").File(targetsRoot+"/a/r.txt", "-e .\n").File(targetsRoot+"/a/b/x", "").File(targetsRoot+"/folder/x", "")
		fs.Link(targetsRoot+"/link", targetsRoot+"/a/b")
		run := &effects.Run{Program: "pip", Args: []string{"install", "-r", name + "/../r.txt"}, Known: true, Cwd: targetsRoot}
		if s := Of(fs, run, &effects.Disturbance{}, &effects.User{}); (s.Unbound != "") != linked {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
