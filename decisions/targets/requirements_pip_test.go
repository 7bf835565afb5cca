package targets

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
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

// pipReads is a program that says, for words of pip install in a folder, what pip takes from
// folders and files: each that is no file of requirements, and no https address.
const pipReads = `import json, os, sys
from pip._internal.commands.install import InstallCommand
from pip._internal.index.package_finder import PackageFinder
from pip._internal.index.collector import LinkCollector
from pip._internal.models.search_scope import SearchScope
from pip._internal.models.selection_prefs import SelectionPreferences
from pip._internal.network.session import PipSession
from pip._internal.req.req_file import parse_requirements
from pip._internal.req.constructors import install_req_from_line, install_req_from_parsed_requirement
sys.stderr = open(os.devnull, "w")
remote = lambda url: url.startswith(("https://", "git+https://"))
def local(words):
    opts, args = InstallCommand("install", "").parse_args(words)
    found = list(opts.editables) + list(opts.find_links)
    session = PipSession()
    scope = SearchScope.create(find_links=[], index_urls=[opts.index_url] + opts.extra_index_urls, no_index=False)
    finder = PackageFinder.create(link_collector=LinkCollector(session=session, search_scope=scope), selection_prefs=SelectionPreferences(allow_yanked=False))
    reqs = [install_req_from_line(a, isolated=True) for a in args]
    for file in opts.requirements + opts.constraints:
        for r in parse_requirements(file, session=session, finder=finder, options=opts):
            reqs.append(install_req_from_parsed_requirement(r))
    found += finder.find_links + [u for u in finder.index_urls if not remote(u)]
    found += [str(r) for r in reqs if r.editable or r.link and not remote(r.link.url)]
    return found
for line in sys.stdin:
    case = json.loads(line)
    os.chdir(case["Dir"])
    try:
        found = local(case["Words"])
    except BaseException:
        found = None
    print(json.dumps(found), flush=True)
`

// startPip runs a script in Python that answers each line with a line. It imports pip's own
// module, without which the test is skipped.
func startPip(t *testing.T, module, script string) (ask func(line string) (answer string)) {
	t.Helper()
	if err := exec.Command("python3", "-c", "import "+module).Run(); err != nil {
		t.Skip("pip is missing")
	}
	pip := exec.Command("python3", "-c", script)
	pip.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PIP_") })
	pip.Env = append(pip.Env, "PIP_CONFIG_FILE="+os.DevNull)
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
	t.Cleanup(func() {
		_ = in.Close()
		_ = pip.Wait()
	})
	answers := bufio.NewScanner(out)
	return func(line string) string {
		t.Helper()
		if _, err := fmt.Fprintln(in, line); err != nil || !answers.Scan() {
			t.Fatal("pip's reader has ended: ", err, answers.Err())
		}
		return answers.Text()
	}
}

// TestRequirementsLocalOracle: where an answer about pip install is bound, pip takes nothing of folders and files
// besides the files of requirements, as its own readers of words, files and requirements say.
func TestRequirementsLocalOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts pip; TestRequirements is the quick one")
	}
	ask := startPip(t, "pip._internal.commands.install", pipReads)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"evil.zip", "evil.ZIP", "evil.tlz", "evil.tar.lzma", "evil.whl", "evil.tar.gz", "x>=1.zip", "evil/setup.py", "simple/index.html", ".git/HEAD", "x @ https:/x.example/y.zip", "x @ git+https:/x.example/y/setup.py", "a.txt",
	} {
		filetest.Write(t, filepath.Join(top, name), "")
	}
	rnd := rand.New(rand.NewPCG(testload.Seed(t), 5))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	requirement := func() string {
		return pick("flask", "zope.interface", "x>=1", "x==1.*", "evil.zip", "evil.ZIP", "evil.tlz", "evil.tar.lzma", "evil.whl", "evil.tar.gz", "x>=1.zip", "./evil", "evil", ".", "evil/", "https://x.example/y.zip", "x @ https://x.example/y.zip",
			"x @ https://z.example/y.zip", "x @ git+https://x.example/y", "git+https://x.example/y#egg=y", "file:evil.zip", "file:./evil", "x @ file:evil.zip") +
			pick("", "", "", "[x]", " [x]", "[x,y]", ">=2", " (>=1,<2)") + pick("", "", "", ";python_version>'3'", " ; python_version>'3'", "; os_name=='x'")
	}
	option := func() string {
		return pick("-i https://x.example/simple", "-i ./simple", "-i=simple", "-isimple", "--index-url=file:./simple", "--index-url simple", "--extra-index-url ./simple", "--extra-index-url https://y.example", "--index simple", "--extra https://y.example",
			"-f evil", "-fevil", "--find-links=evil", "--find evil", "-e evil", "-eevil", "--editable evil", "--ed=evil", "--pre", "--no-index", "--prefer-binary", "--no-binary x", "--only-binary=:all:", "--require-hashes", "-r a.txt", "-ra.txt", "-c a.txt", "--requirement=a.txt")
	}
	bound, rounds := 0, testload.Rounds(t, "PERMD_TEST_REQUIREMENTS", 60, 2000)
	for range rounds {
		var text strings.Builder
		for range 1 + rnd.IntN(2) {
			switch rnd.IntN(3) {
			case 0:
				text.WriteString(option())
			default:
				text.WriteString(requirement())
			}
			text.WriteString(pick("", "", " # x", "#x", "\t# x", " # x \\", " \\", "\\", "\r", "\f", " --hash=sha256:ab", " --pre", " -e evil", " \\\n --hash=sha256:ab", " -c a.txt") + "\n")
		}
		filetest.Write(t, filepath.Join(top, "r.txt"), text.String())
		words := []string{"-r", "r.txt"}
		switch rnd.IntN(4) {
		case 0:
			words = append(words, strings.Fields(option())...)
		case 1:
			words = append([]string{requirement()}, words...)
		case 2:
			words = append(words, pick("-U", "-qq", "--user", "--timeout=5", "-t", "--target", "--timeout", "--no-deps"), pick("evil", "./evil", "5", "-U"))
		}
		line, err := json.Marshal(map[string]any{"Dir": top, "Words": words})
		if err != nil {
			t.Fatal(err)
		}
		var local []string
		if err := json.Unmarshal([]byte(ask(string(line))), &local); err != nil {
			t.Fatal(err)
		}
		run := &effects.Run{Program: "pip", Args: append([]string{"install"}, words...), Known: true, Cwd: top}
		if s := Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{}); s.Unbound != "" {
			continue
		}
		bound++
		if len(local) > 0 {
			t.Errorf("pip install %q takes %q besides requirements, to which an answer is not bound: %q", words, local, text.String())
		}
	}
	if bound*20 < rounds {
		t.Errorf("only %d answers of %d are bound", bound, rounds)
	}
}
