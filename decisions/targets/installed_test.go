package targets

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestInstallsLocal: an answer about an installer whose words name a folder, an archive or a
// manifest is not remembered; one about packages of a registry is.
func TestInstallsLocal(t *testing.T) {
	files := map[string]string{"reqs": "x\n", "r.txt": "x\n", "local/setup.py": "x\n", "package.json": "{}\n", "pyproject.toml": "[project]\n", "env.yml": "x\n", "x.whl": "x\n"}
	registry := map[string][]string{
		"pip install": {"", "-U", "--target ./lib", "--target=./lib"}, "pip3.12 install": {""}, "pip download": {"-d ./dist"}, "uv pip install": {""}, "uv add": {""}, "uv tool install": {""}, "pipx install": {""}, "poetry add": {""}, "pdm add": {""},
		"conda install": {""}, "cargo install": {"--root ./x"}, "gem install": {""}, "apt install": {""}, "dnf install": {""}, "brew install": {""}, "helm install x": {""}, "dotnet tool install": {""}, "frob install": {""},
	}
	local := []string{"./local", ".", "local/", "../x", "/tmp/x", "~/x", "x.whl", "evil.ZIP", "x.tar.gz", "file:local", "x @ file:///tmp/x", ".[dev]", "local/sub", "x.whl[a]", "-r reqs", "--requirements=reqs", "-e local", "-e.", "--editable local", "--with-requirements reqs", "--path local"}
	tried := 0
	for command, options := range registry {
		for _, option := range options {
			for _, name := range []string{"flask", "zope.interface", "flask>=3"} {
				tried++
				checkRemembered(t, files, command+" "+option+" "+name, "")
			}
		}
		for _, word := range local {
			if strings.Contains(command, "pip") && !strings.HasPrefix(command, "pipx") && word[len(word)-1] == 's' || command == "brew install" && word == "local/sub" {
				continue // bound to the file, and a tap
			}
			if program, _, _ := strings.Cut(command, " "); word[0] == '-' && (command == "frob install" || word[1] != '-' && !letters.Has(unversioned(program))) {
				continue
			}
			tried++
			checkRemembered(t, files, command+" "+word, "lie in the project")
			checkRemembered(t, files, command+" flask "+word+" x", "lie in the project")
		}
	}
	for _, command := range []string{"python3 -m pip install -e .", "python3 -m pip install ./local", "uv run --with-requirements r.txt flask", "uv add -r reqs", "rpm -i x.rpm", "dpkg -i ./x.deb", "uvx --from ./local x", "uv run --with ./local x", "npm exec --package=./local x", "npm exec tsc -p ./local", "npx -y -p ./local x", "conda env create -f env.yml", "code --install-extension x.vsix", "cmake --install ./build"} {
		checkRemembered(t, files, command, "lie in the project")
	}
	for _, command := range []string{"npm install ./local", "npm i file:local", "pnpm add ./local", "yarn add file:./local", "bun add ./local"} {
		checkRemembered(t, files, command, "lie in the project")
	}
	for _, command := range []string{"uv run pytest tests/x.py", "npx tsc --noEmit -p web/tsconfig.json", "npm exec -- tsc -p ./web", "npm install lodash.merge @a/b", "pip list ./x", "uv run ruff check .", "git add ./x", "install ./x /tmp/y", "frob add ./x", "npm install -f left-pad"} {
		if s := (&plainRun{command: command, files: files}).of(&effects.Disturbance{}, nil); s != nil && strings.Contains(s.Unbound, "what its words install") {
			t.Errorf("%s: %s", command, s.Unbound)
		}
	}
	if tried == 0 {
		t.Error("none tried")
	}
}

// checkRemembered compares why an answer about a command is not remembered; "?" is for any reason.
func checkRemembered(t *testing.T, files map[string]string, command, why string) {
	t.Helper()
	s := (&plainRun{name: command, files: files, command: command}).of(&effects.Disturbance{}, nil)
	unbound := ""
	if s != nil {
		unbound = s.Unbound
	}
	if (unbound != "") != (why != "") || why != "?" && !strings.Contains(unbound, why) {
		t.Errorf("%s: have %q, want %q", command, unbound, why)
	}
}
