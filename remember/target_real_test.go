//go:build cgo

package remember_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
)

// realRuns are runs that a person allows for always, and files that an agent may put next to
// what they are bound to: with some of these the real program does something else.
var realRuns = []struct {
	program, allowed, cwd string
	files                 map[string]string
	evil                  map[string]string // PROJECT is its folder, and what is run leaves the file pwned there
	// works are those with which the program is seen to do something else here.
	works []string
}{
	{
		program: "npm", allowed: "npm test",
		files: map[string]string{"package.json": `{"name":"p","version":"1.0.0","scripts":{"test":"node ok.js"}}`, "ok.js": "\n", "evil.cjs": "require('fs').writeFileSync('PROJECT/pwned', '')\n", "evil.sh": "#!/bin/sh\ntouch PROJECT/pwned\n"},
		evil: map[string]string{
			".npmrc": "script-shell=PROJECT/evil.sh\n", "../.npmrc": "node-options=--require PROJECT/evil.cjs\n", "sub/.npmrc": "script-shell=PROJECT/evil.sh\n", ".nvmrc": "../evil\n",
			"server.js": "require('./evil.cjs')\n", "node_modules/.hooks/pretest": "#!/bin/sh\ntouch PROJECT/pwned\n", ".tool-versions": "nodejs path:./evil\n", ".mise.toml": "[env]\n_.path = \"./evil\"\n",
		},
		works: []string{".npmrc"},
	},
	{
		program: "npm", allowed: "npm test", cwd: "sub",
		files: map[string]string{"package.json": `{"name":"p","version":"1.0.0","scripts":{"test":"node ok.js"}}`, "ok.js": "\n", "evil.sh": "#!/bin/sh\ntouch PROJECT/pwned\n", "sub/x": ""},
		evil:  map[string]string{"sub/package.json": `{"name":"q","version":"1.0.0","scripts":{"test":"touch PROJECT/pwned"}}`, "sub/node_modules/x": "", ".npmrc": "script-shell=PROJECT/evil.sh\n"},
		works: []string{"sub/package.json", ".npmrc"},
	},
	{
		program: "npm", allowed: "npm start",
		files: map[string]string{"package.json": `{"name":"p","version":"1.0.0","scripts":{"start":"node ok.js"}}`, "ok.js": "\n"},
		evil:  map[string]string{"server.js": "require('fs').writeFileSync('PROJECT/pwned', '')\n", "package.json": `{"name":"p","version":"1.0.0","scripts":{"prestart":"touch pwned","start":"node ok.js"}}`},
		works: []string{"package.json"},
	},
	{
		program: "python3", allowed: "python3 -m json.tool ok.json",
		files: map[string]string{"ok.json": "{}\n", "docs/x": ""},
		evil: map[string]string{
			"json.py": "open('PROJECT/pwned', 'w')\n", "json/__init__.py": "open('PROJECT/pwned', 'w')\n", "argparse.py": "open('PROJECT/pwned', 'w')\n", "argparse/__init__.py": "open('PROJECT/pwned', 'w')\n",
			"sitecustomize.py": "open('PROJECT/pwned', 'w')\n", "usercustomize.py": "open('PROJECT/pwned', 'w')\n", "__pycache__/json.cpython-311.pyc": "x", "docs/json.py": "open('PROJECT/pwned', 'w')\n", "x.pth": "import os\n",
			"pyvenv.cfg": "home = PROJECT\n", "python3": "#!/bin/sh\ntouch PROJECT/pwned\n", ".python-version": "../evil\n",
		},
		works: []string{"json.py", "json/__init__.py", "argparse.py", "argparse/__init__.py"},
	},
	{
		program: "python3", allowed: "python3 -m app",
		files: map[string]string{"app.py": "import sys\n"},
		evil:  map[string]string{"app/__init__.py": "", "app/__main__.py": "open('PROJECT/pwned', 'w')\n", "app.py": "open('PROJECT/pwned', 'w')\n", "sys.py": "open('PROJECT/pwned', 'w')\n"},
		works: []string{"app.py"},
	},
	{
		program: "make", allowed: "make lint",
		files: map[string]string{"Makefile": "-include local.mk\n.PHONY: lint\nlint: dep\n\t@true\ndep:\n\t@true\n"},
		evil: map[string]string{
			"local.mk": "$(shell touch pwned)\n", "local.mk.sh": "$(shell touch pwned)\n", "Makefile.sh": "lint: ; touch pwned\n", "GNUmakefile": "lint: ; touch pwned\n", "lint.sh": "touch pwned\n", "dep.sh": "touch pwned\n",
			"sub/Makefile": "lint: ; touch pwned\n", "lint": "x", ".env": "MAKEFILES=x\n",
		},
		works: []string{"local.mk", "GNUmakefile"},
	},
	{
		program: "git", allowed: "git commit --allow-empty -am x",
		files: map[string]string{
			".git/config": "[user]\n\tname = a\n\temail = a@a.example\n[core]\n\trepositoryformatversion = 0\n[filter \"z\"]\n\tclean = ./z.sh\n", "evil.sh": "#!/bin/sh\ntouch PROJECT/pwned\n", "x": "",
			"z.sh": "#!/bin/sh\ncat\n",
		},
		evil: map[string]string{
			".git/hooks/pre-commit": "#!/bin/sh\ntouch PROJECT/pwned\n", ".git/hooks/reference-transaction": "#!/bin/sh\ntouch PROJECT/pwned\n", ".git/hooks/pre-commit.sample": "#!/bin/sh\ntouch PROJECT/pwned\n",
			".git/config": "[user]\n\tname = a\n\temail = a@a.example\n[core]\n\tfsmonitor = PROJECT/evil.sh\n", ".git/config.worktree": "[core]\n\tfsmonitor = PROJECT/evil.sh\n",
			".gitattributes": "* filter=z\n", "z.sh": "#!/bin/sh\ntouch PROJECT/pwned\n", "post-commit": "x",
		},
		works: []string{".git/hooks/pre-commit", ".git/hooks/reference-transaction", ".git/config"},
	},
}

// TestRealRuns: whatever an agent puts next to a remembered run, what is then allowed does
// nothing else when the real program runs it. Of some files it is known that they would make
// it do so, and these must be seen to ask.
func TestRealRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs npm, make, git and Python many times; TestPlainMakefiles is the quick one")
	}
	for _, c := range realRuns {
		t.Run(c.program+" in "+c.allowed+c.cwd, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("%s is missing", c.program)
			}
			for name, text := range c.evil {
				project, run := realProject(t, c.files)
				cwd := filepath.Join(project, c.cwd)
				a, allow := rejecting(t, nil)
				a.config.FS = paths.OSFS{}
				allow(nil)
				a.allowNarrowest(t, a.inReal(t, cwd, c.allowed))
				wantVerdict(t, a.inReal(t, cwd, c.allowed), decisions.Allow, c.allowed)
				write(t, project, name, text)
				verdict := a.inReal(t, cwd, c.allowed).Verdict
				does := run(cwd, c.allowed)
				if does && verdict != decisions.Ask {
					t.Errorf("with %s, %s does something else, and it is allowed", name, c.allowed)
				}
				for _, works := range c.works {
					if name == works && !does {
						t.Errorf("%s was thought to change what %s does, and does not", name, c.allowed)
					}
				}
			}
		})
	}
}

func write(t *testing.T, project, name, text string) {
	t.Helper()
	file := filepath.Join(project, name)
	filetest.Write(t, file, strings.ReplaceAll(text, "PROJECT", project))
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
}

// realProject makes a project, and returns what runs a command there and reports whether it
// did something else.
func realProject(t *testing.T, files map[string]string) (project string, run func(cwd, command string) bool) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(top, "p")
	for name, text := range files {
		write(t, project, name, text)
	}
	for _, name := range []string{".git/HEAD", ".git/refs/x", ".git/objects/x"} {
		filetest.Write(t, filepath.Join(project, name), "ref: refs/heads/main\n")
	}
	return project, func(cwd, command string) bool {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = cwd, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "npm_config_update_notifier=false"}
		_, _ = cmd.CombinedOutput() // whether it succeeds does not matter
		_, err := os.Lstat(filepath.Join(project, "pwned"))
		return err == nil
	}
}
