package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestHostileForms begins with the shipped rule for read-only programs, which
// allows each command that is read-only and understood.
func TestHostileForms(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		files   map[string]string
		command string
		want    bool
	}{
		// unzip(1): options precede the archive; -l is a name in it there.
		"a list behind the archive":      {nil, "unzip a.zip -l '*'", false},
		"in a bundle":                    {nil, "unzip a.zip -lq", false},
		"standard output, behind":        {nil, "unzip -q a.zip -p", false},
		"a list":                         {nil, "unzip -l a.zip", true},
		"a list, but for some":           {nil, "unzip -l a.zip -x b.txt", true},
		"versions of Mercurial":          {map[string]string{"go.mod": "module x\n"}, "go list -buildvcs=true .", false},
		"its folder":                     {map[string]string{"go.mod": "module x\n", ".hg/hgrc": ""}, "go list ./...", false},
		"packages":                       {map[string]string{"go.mod": "module x\n"}, "go list ./...", true},
		"where corepack fetches from":    {map[string]string{".corepack.env": "COREPACK_NPM_REGISTRY=http://evil.example\n"}, "yarn --version", false},
		"the same for pnpm":              {map[string]string{".corepack.env": "COREPACK_INTEGRITY_KEYS=0\n"}, "pnpm --version", false},
		"a manifest in another format":   {map[string]string{"package.yaml": "packageManager: pnpm@1.0.0\n"}, "pnpm --version", false},
		"a version":                      {nil, "pnpm --version", true},
		"a file that yamllint prints":    {map[string]string{".yamllint": "extends: /home/ana/secret\n"}, "yamllint a.yaml", false},
		"a list of files":                {map[string]string{".yamllint.yml": "ignore-from-file: /home/ana/secret\n"}, "yamllint a.yaml", false},
		"the usual rules":                {map[string]string{".yamllint": "extends: default\nrules:\n  line-length: disable\n"}, "yamllint a.yaml", true},
		"an archive that is counted":     {nil, "cloc a.tar.gz", false},
		"files that an archive names":    {nil, "tar -df a.tar", false},
		"a list of an archive":           {nil, "tar -tf a.tar", true},
		"files that an input names":      {nil, "git hash-object --stdin-paths < a.txt", false},
		"a sum":                          {nil, "git hash-object a.txt", true},
		"an order by signature":          {nil, "git branch --sort=signature", false},
		"turned around":                  {nil, "git for-each-ref --sort=-signature:key", false},
		"of what a tag names":            {nil, "git tag --sort='*signature'", false},
		"an order of the configuration":  {map[string]string{".git/config": "[branch]\n\tsort = signature\n"}, "git branch", false},
		"an order by date":               {nil, "git branch --sort=-committerdate", true},
		"an order by version":            {nil, "git tag -l --sort=-version:refname", true},
		"its order of the configuration": {map[string]string{".git/config": "[branch]\n\tsort = -committerdate\n"}, "git branch", true},
		"a page that a service names":    {nil, "systemctl help ssh", false},
		"a service":                      {nil, "systemctl status ssh", true},
		"a package that is a file":       {nil, "apt show ./x.deb", false},
		"the same elsewhere":             {nil, "apt-cache show /home/other/x.deb", false},
		"a package":                      {nil, "apt show git", true},
		"a gem that is a file":           {nil, "gem specification /home/other/x.gem", false},
		"a gem":                          {nil, "gem list rails", true},
	} {
		t.Run(name, func(t *testing.T) {
			fs := effectstest.Files()
			for file, text := range c.files {
				fs.File(effectstest.Cwd+"/"+file, text)
			}
			b := shellBuilder(table, fs)
			Text(b, c.command, effectstest.Cwd, "command")
			ro := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Run != nil && e.Run.Readonly })
			unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
			if got := ro && !unknown; got != c.want {
				t.Errorf("%s: read-only: %v, not understood: %v\n%s", c.command, ro, unknown, strings.TrimSpace(c.command))
			}
		})
	}
}

// TestCompletedNames: under the shipped rule that allows reads of the project, a
// name that the program completes must not hide where a link leads.
func TestCompletedNames(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]bool{
		"zcat notes": true, "zcat -f notes": true, "gzip -dc notes": true, "gunzip -c notes": true, "zgrep x notes": true,
		"who notes.gz": true, "git verify-pack -v notes.gz": true,
		"unzip -p docs a.txt": true, "zipinfo docs": true, "zcat other.gz": false, "unzip -l other.zip": false, "cat notes": false,
	} {
		fs := effectstest.Files()
		fs.File("/home/other/secret", "x").File(effectstest.Cwd+"/other.gz", "").File(effectstest.Cwd+"/other.zip", "")
		fs.Link(effectstest.Cwd+"/notes.gz", "/home/other/secret").Link(effectstest.Cwd+"/docs.ZIP", "/home/other/secret")
		b := shellBuilder(table, fs)
		Text(b, command, effectstest.Cwd, "command")
		got := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.File != nil && e.File.Path == "/home/other/secret" })
		if got != want {
			t.Errorf("%s: reads what the link leads to: %v", command, got)
		}
	}
}
