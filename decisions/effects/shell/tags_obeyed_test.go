package shell

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// unguardedObeyed are files of a project that a program of the table obeys but
// whose writes are not guarded, with the reason.
var unguardedObeyed = map[string]string{
	"package.json":                 "agents edit it all day; what it can name is looked for before each run",
	"global.json":                  "data files have that name; what it can name is looked for before each run",
	".python-version":              "tools write it with every environment; a path in it is looked for before each run",
	".go-version":                  "tools write it; a path in it is looked for before each run",
	".java-version":                "tools write it; a path in it is looked for before each run",
	".lua-version":                 "tools write it; a path in it is looked for before each run",
	".node-version":                "tools write it; a path in it is looked for before each run",
	".nvmrc":                       "tools write it; a path in it is looked for before each run",
	"Cargo.toml":                   "agents edit it all day; where it is there, the one run that obeys it asks",
	".perl-version":                "tools write it; a path in it is looked for before each run",
	".php-version":                 "tools write it; a path in it is looked for before each run",
	".ruby-version":                "tools write it; a path in it is looked for before each run",
	"go.mod":                       "agents edit it all day; what it can name is looked for before each run",
	"go.work":                      "source: where it is there, each run that obeys it asks",
	"package.json5":                "source, as package.json: what it can name is looked for before each run",
	"package.yaml":                 "source, as package.json: what it can name is looked for before each run",
	"pnpm-workspace.yaml":          "source: what it can name is looked for before each run",
	"~/.config/shellcheckrc":       "it names files to read and runs nothing",
	"~/.shellcheckrc":              "it names files to read and runs nothing",
	".shellcheckrc":                "it names files to read and runs nothing",
	".editorconfig":                "it says how files are laid out; what else it may say is looked for before each run",
	"shellcheckrc":                 "it names files to read and runs nothing",
	"compose.yaml":                 "source: what is in it runs only by a command that asks",
	"compose.yml":                  "source: what is in it runs only by a command that asks",
	"docker-compose.yaml":          "source: what is in it runs only by a command that asks",
	"docker-compose.yml":           "source: what is in it runs only by a command that asks",
	"compose.override.yaml":        "source: what is in it runs only by a command that asks",
	"compose.override.yml":         "source: what is in it runs only by a command that asks",
	"docker-compose.override.yaml": "source: what is in it runs only by a command that asks",
	"docker-compose.override.yml":  "source: what is in it runs only by a command that asks",
}

// obeyedNames returns the files that the programs of a table obey.
func obeyedNames(table *programs.Table) []string {
	names := map[string]bool{}
	seen := map[*programs.Program]bool{}
	var all func(p *programs.Program)
	all = func(p *programs.Program) {
		if p == nil || seen[p] {
			return
		}
		seen[p] = true
		for _, o := range p.Obeys {
			switch {
			case o.Project, o.Variable:
			case o.Home:
				names["~/"+o.Name] = true
			default:
				names[o.Name] = true
			}
		}
		for _, sub := range p.Subs {
			all(sub)
		}
	}
	for _, name := range table.Names() {
		all(table.Program(name))
	}
	return slices.Sorted(maps.Keys(names))
}

// TestObeyedFilesAreGuarded: writes of files that make a later harmless command
// dangerous are guarded, or unguardedObeyed says why not.
func TestObeyedFilesAreGuarded(t *testing.T) {
	names := obeyedNames(effectstest.Table(t))
	if len(names) < 15 {
		t.Fatalf("programs obey %q", names)
	}
	r := obeyedResolver(obeyedTree(obeyedProject + "/.git/HEAD"))
	for _, name := range names {
		dir, file := obeyedProject, name
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			dir, file = "/home/ana", rest
		}
		e := r.File(effects.KindWrite, file, dir, "")
		why, listed := unguardedObeyed[name]
		switch {
		case e.Guarded() == 0 && !listed:
			t.Errorf("%s is obeyed by a program, and neither guarded nor an exception", name)
		case e.Guarded() != 0 && listed:
			t.Errorf("%s is guarded and an exception (%s)", name, why)
		}
	}
	for name := range unguardedObeyed {
		if !slices.Contains(names, name) {
			t.Errorf("no program obeys %s", name)
		}
	}
}

// TestShimFilesAreGuarded: so are writes of files that choose the programs of a
// version manager, except those that have only a version: permd reads these before
// each run, and asks if they have more.
func TestShimFilesAreGuarded(t *testing.T) {
	table := effectstest.Table(t)
	r := obeyedResolver(obeyedTree(obeyedProject + "/.git/HEAD"))
	for _, f := range table.Shims.Files {
		name := strings.ReplaceAll(strings.Join(f.Path, "/"), "*", "x")
		if f.Settings != nil && (strings.HasSuffix(name, "-version") || name == ".python-versions" || name == ".nvmrc") {
			continue
		}
		if e := r.File(effects.KindWrite, name, obeyedProject, ""); e.Guarded() == 0 {
			t.Errorf("%s chooses programs and is not guarded", name)
		}
	}
	for _, name := range []string{".rbenv-vars", ".pyenv-vars", ".nodenv-vars"} {
		if e := r.File(effects.KindWrite, name, obeyedProject, ""); e.Guarded() == 0 {
			t.Errorf("%s sets variables of programs and is not guarded", name)
		}
	}
	if e := r.File(effects.KindWrite, "mise/main.go", obeyedProject, ""); e.Guarded() != 0 {
		t.Error("a folder called mise is guarded")
	}
}

// TestTripwiresAreGuarded: writing a file that takes effect when the project is
// opened needs a rule that names it; a rule for all writes does not cover it.
func TestTripwiresAreGuarded(t *testing.T) {
	r := obeyedResolver(obeyedTree(obeyedProject + "/.git/HEAD"))
	for _, name := range []string{
		".nvim.lua", ".exrc", ".helix/languages.toml", ".gitpod.yml", ".idx/dev.nix", ".replit", "devenv.nix", ".lintstagedrc", ".lintstagedrc.json", "lint-staged.config.mjs",
		"simple-git-hooks.json", ".simple-git-hooks.cjs", "renovate.json", ".renovaterc", ".dir-locals.el", ".dir-locals-2.el", ".venv/bin/python", "venv/bin/activate",
		"sub/.venv/bin/pytest", ".venv/lib/python3.11/site-packages/pip/__init__.py", "lib/python3/dist-packages/_distutils_hack/__init__.py", "node_modules/a/cli.js", "node_modules/.bin/tsc", "packages/a/node_modules/.bin/tsc", "-rf", "src/--exec", "-", "-n/x", "./-delete", ".tool-versions", "rust-toolchain.toml", ".mvn/jvm.config",
		".bazelrc", "bunfig.toml", "pip.conf", "gradle/wrapper/gradle-wrapper.properties", "mise.local.toml", "lefthook-local.yml", ".pnpmfile.cjs", ".vscode/tasks.json", ".zed/settings.json",
		".idea/runConfigurations/x.xml", ".devcontainer/devcontainer.json", ".envrc", ".npmrc", "sitecustomize.py", ".gdbinit", ".Rprofile", ".irbrc", ".commitlintrc.js",
		".opencode.json", ".run/x.run.xml", "conf/Tests.run.xml", ".vs/tasks.vs.json", "src/launch.vs.json", "Properties/launchSettings.json", ".serena/project.yml", ".bsp/sbt.json", "buildServer.json",
		".sourcekit-lsp/config.json", ".externalToolBuilders/x.launch", ".kateproject", ".codebuddy/settings.json", ".iflow/settings.json", ".specify/scripts/bash/x.sh", "conductor.json", ".luacheckrc", ".theia/tasks.json",
	} {
		e := r.File(effects.KindWrite, name, obeyedProject, "")
		if guarded := e.Guarded() != 0; guarded == (name == "-") && e.File != nil {
			t.Errorf("%s: guarded is %v", name, guarded)
		}
	}
	r = obeyedResolver(obeyedTree(obeyedProject+"/.git/HEAD", "/tmp/agent/-home-ana-x/", obeyedProject+"/-there/"))
	for _, name := range []string{
		"/tmp/agent/-home-ana-x/notes.md", "-there/a.txt",
		"package.json", "Makefile", "pyproject.toml", "conftest.py", "go.mod", "Cargo.toml", "tsconfig.json", "src/main.go", "src/a-b.go", "a-", "eslint.config.js", "vite.config.ts",
		"docker-compose.yml", "Dockerfile", "flake.nix", "requirements.txt", "tox.ini", "pytest.ini", ".eslintrc.json", ".prettierrc", ".editorconfig", "turbo.json", "nx.json", "Vagrantfile",
		"bin/run.sh", "scripts/build.sh", "src/venv/x.py", "docs/renovate.md", ".venv/lib/python3/x.py", "src/node_modules.go", "jest.config.js", "justfile", "build.gradle", "gradle.properties",
		".github/CODEOWNERS", "codecov.yml", "deno.json", "WORKSPACE", "model.pth", "run/main.go", "src/run.xml", "vs/a.go", "opencode.go", "src/serena.py",
	} {
		if e := r.File(effects.KindWrite, name, obeyedProject, ""); e.File == nil || e.Guarded() != 0 {
			t.Errorf("%s is guarded: %v %s", name, e.Guarded().Names(), e.Why)
		}
	}
}

const obeyedProject = "/home/dev/proj"

func obeyedTree(more ...string) *fsfake.FS {
	return fsfake.New(append([]string{obeyedProject + "/.git/config", obeyedProject + "/src/a.go", "/home/dev/.bashrc", "/etc/passwd", "/tmp/"}, more...)...)
}

func obeyedResolver(fs effects.FS) *paths.Resolver {
	return paths.NewResolver(paths.Environment{FS: fs}, &effects.Call{Cwd: obeyedProject, User: effects.User{Home: "/home/dev", Env: map[string]string{"HOME": "/home/dev"}}})
}
