package shell

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestShims: a version manager runs any program from a folder that a file of the
// project names. A rule that allows read-only programs must not allow that. In
// projects that name released versions nothing changes.
func TestShims(t *testing.T) {
	table := effectstest.Table(t)
	for name, tt := range map[string]struct {
		file, text, command string
		want                bool
	}{
		"asdf: a folder, pip":             {".tool-versions", "python path:/p/evil\n", "pip list", false},
		"asdf: a folder, jq":              {".tool-versions", "python path:/p/evil\n", "jq . a.json", false},
		"asdf: a revision":                {".tool-versions", "nodejs 20.1.0\njq ref:v1\n", "gh pr list", false},
		"asdf: one of several":            {".tool-versions", "python 3.12.0 path:./x system\n", "tree", false},
		"asdf: behind a comment's line":   {".tool-versions", "# ours\n\njq path:x\n", "fd x", false},
		"mise: where it comes from":       {".tool-versions", "npm:evil 1.0\n", "shellcheck a.sh", false},
		"mise.toml, never trusted":        {"mise.toml", "[tools]\nnode = \"path:./x\"\n", "jq . a.json", false},
		".mise.toml, a list":              {".mise.toml", "[tools]\nnode = [\"20\", \"path:./x\"]\n", "yq . a.yaml", false},
		"mise: another name":              {"mise.production.toml", "[tools]\nnode = \"path:./x\"\n", "rg x a.txt", false},
		"mise: a name with a source":      {"mise.toml", "[tools]\n\"npm:evil\" = \"1.0\"\n", "rg x a.txt", false},
		"mise: an option that runs":       {"mise.toml", "[tools.node]\nversion = \"20\"\npostinstall = \"x\"\n", "rg x a.txt", false},
		"mise: a script of variables":     {"mise.toml", "[env]\n_.source = \"a.sh\"\n", "rg x a.txt", false},
		"mise: a template":                {"mise.toml", "[env]\nA = \"{{ exec(command='x') }}\"\n", "rg x a.txt", false},
		"mise: a hook":                    {"mise.toml", "[hooks]\nenter = \"x\"\n", "rg x a.txt", false},
		"mise: in a folder":               {".config/mise/conf.d/a.toml", "", "rg x a.txt", false},
		"mise: in its folder":             {"mise/config.toml", "[tools]\nnode = \"path:./x\"\n", "rg x a.txt", false},
		"mise: other capitals":            {"MISE.toml", "[tools]\nnode = \"path:./x\"\n", "rg x a.txt", false},
		"proto: a plug-in":                {".prototools", "[plugins]\njq = \"file://./x.toml\"\n", "jq . a.json", false},
		"volta: hooks":                    {".volta/hooks.json", "{}", "node -v", false},
		"pyenv: a path":                   {".python-version", "../../x\n", "yamllint a.yaml", false},
		"nodenv: a path":                  {".node-version", "path:/x\n", "rg x a.txt", false},
		"one nobody here knows":           {".erlang-version", "path:/x\n", "helm version", false},
		"above the project":               {"../.tool-versions", "python path:/p/evil\n", "jq . a.json", false},
		"the program of the system":       {".tool-versions", "python path:/p/evil\n", "/usr/bin/jq . a.json", true},
		"a utility of the system":         {".tool-versions", "python path:/p/evil\n", "grep x a.txt", true},
		"released versions":               {".tool-versions", "nodejs 20.1.0\npython 3.12.0 system # ours\ngolang latest\n", "jq . a.json", true},
		"mise: released versions":         {"mise.toml", "min_version = \"2024.1\"\n[tools]\nnode = \"20\"\npython = [\"3.11\", \"3.12\"]\ngo = {version = \"1.22\"}\n[env]\nNODE_ENV = \"x\"\n[tasks.build]\nrun = \"make\"\n", "jq . a.json", true},
		"proto: released versions":        {".prototools", "node = \"20.1.0\"\nnpm = \"bundled\"\n", "jq . a.json", true},
		"pyenv: a version":                {".python-version", "3.12.1\n", "jq . a.json", true},
		"a folder called mise":            {"mise/a.txt", "", "jq . a.json", true},
		"a folder called .config":         {".config/a.txt", "", "jq . a.json", true},
		"a file called .config":           {".config", "", "jq . a.json", true},
		"below":                           {"sub/.tool-versions", "jq path:x\n", "jq . a.json", true},
		"the person's own":                {"../../.tool-versions", "jq path:/x\n", "jq . a.json", true},
		"written before":                  {"a.txt", "", "echo x > .tool-versions; jq . /usr/share/a.json", false},
		"written before, in a folder":     {"a.txt", "", "cp a.txt .config/mise/config.toml; jq . /usr/share/a.json", false},
		"written above before":            {"a.txt", "", "cp a.txt ../mise.toml; jq . /usr/share/a.json", false},
		"written in the home before":      {"a.txt", "", "cp a.txt ../../.tool-versions; jq . /usr/share/a.json", false},
		"something else before":           {"a.txt", "", "cp a.txt b.txt; mkdir .config; touch mise/x; jq . /usr/share/a.json", true},
		"what git checkout brings before": {"a.txt", "", "git checkout x; jq . /usr/share/a.json", false},
		"git after git checkout":          {"a.txt", "", "git checkout x; git status", true},
	} {
		files := effectstest.Files()
		files.File("/home/ana/src/shop/a.json", "{}")
		files.File(filepath.Join(effectstest.Cwd, tt.file), tt.text)
		b := shellBuilder(table, files)
		Text(b, tt.command, effectstest.Cwd, "command")
		last := lastRun(b.Effects)
		if last == nil || last.Readonly != tt.want {
			t.Errorf("%s: %s: %+v, want read-only: %v", name, tt.command, last, tt.want)
		}
		unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Kind == effects.KindUnknown && strings.HasPrefix(e.Why, "obeys ")
		})
		if unknown == tt.want {
			t.Errorf("%s: %s: not understood: %v, want %v", name, tt.command, unknown, !tt.want)
		}
	}
}

// TestShimsUnlisted: in a folder that can be searched but not listed, the files are
// looked up by name.
func TestShimsUnlisted(t *testing.T) {
	table := effectstest.Table(t)
	for file, want := range map[string]bool{".tool-versions": false, "mise.toml": false, "other": true} {
		files := effectstest.Files()
		files.File("/home/"+file, "[tools]\nnode = \"path:/x\"\n")
		b := shellBuilder(table, unlisted{files, "/home"})
		Text(b, "jq -n 1", effectstest.Cwd, "command")
		if r := b.Effects[0].Run; r == nil || r.Readonly != want {
			t.Errorf("/home/%s: %+v, want read-only: %v", file, r, want)
		}
	}
}

// unlisted is a file system with one folder whose names cannot be listed.
type unlisted struct {
	effects.FS
	dir string
}

func (u unlisted) Names(dir string, limit int) ([]fs.DirEntry, error) {
	if dir == u.dir {
		return nil, errors.New("permission denied")
	}
	return u.FS.Names(dir, limit)
}
