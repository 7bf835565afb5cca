package shell

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestReadsThroughLinks has a project with links to a secret, to a file elsewhere, and to one
// of its own: a run that follows links reads their targets.
func TestReadsThroughLinks(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]string{
		"grep -R x src":                      "~/.ssh ~/note.txt",
		"grep -R x":                          "/etc /etc ~/.ssh ~/note.txt ~/note.txt",
		"grep -r x src":                      "",
		"grep -R x docs":                     "",
		"egrep -R x .":                       "/etc /etc ~/.ssh ~/note.txt ~/note.txt",
		"rg -L x src":                        "~/.ssh ~/note.txt",
		"rg x src":                           "",
		"find src -exec cat {} +":            "~/.ssh ~/note.txt",
		"find src -type l -exec cat {} +":    "~/.ssh ~/note.txt",
		"find src -type f -exec cat {} +":    "",
		"find -L src -type f -exec cat {} +": "~/.ssh ~/note.txt ~/.ssh ~/note.txt",
		"find src -type f -o -type l -exec cat {} \\;": "~/.ssh ~/note.txt",
		// A test restricts only the commands after it, and is not a word of another command, or
		// a value.
		"find src -exec cat {} \\; -type f":                  "~/.ssh ~/note.txt",
		"find src -exec echo -type f \\; -exec cat {} \\;":   "~/.ssh ~/note.txt",
		"find src -type f -exec echo x \\; -exec cat {} \\;": "",
		"find src -fprintf docs/o -type f -exec cat {} +":    "~/.ssh ~/note.txt",
		"find src -fprintf -type f -exec cat {} +":           "~/.ssh ~/note.txt",
		"find src -fprintf o -name -depth -exec cat {} +":    "~/.ssh ~/note.txt",
		"find src -newermt -name -depth -exec cat {} +":      "~/.ssh ~/note.txt",
		"find src -type f $X -exec cat {} +":                 "~/.ssh ~/note.txt",
		"find src -name x":                                   "",
		"diff -r src docs":                                   "~/.ssh ~/note.txt",
		"diff -r --no-dereference src docs":                  "",
		"diff src docs":                                      "~/.ssh ~/note.txt",
		"cp -rL src docs/y":                                  "~/.ssh ~/note.txt",
		"cp -r src docs/y":                                   "",
		"tar -chf docs/x.tar src":                            "~/.ssh ~/note.txt",
		// Packages and build output, whose files are no secrets, may have such links too.
		"grep -R x vendor":                                   "~/note.txt",
		"grep -r x vendor":                                   "",
		"grep -R x lib":                                      "/etc",
		"rg -uuL x lib/target":                               "/etc",
		"find vendor -exec cat {} +":                         "~/note.txt",
		"find . -name '*.md' -exec cat {} +":                 "~/note.txt",
		"find . -name '*.go' -exec cat {} +":                 "",
		"find . ! -name '*.go' -exec cat {} +":               "/etc /etc ~/.ssh ~/note.txt ~/note.txt",
		"find . -name '*.go' -o -exec cat {} +":              "/etc /etc ~/.ssh ~/note.txt ~/note.txt",
		"find -L vendor -name '*.go' -exec cat {} +":         "~/note.txt ~/note.txt",
		"find . -name '*.go' -name '*.MD' -exec cat {} +":    "~/note.txt",
		"find vendor -exec grep -name x {} + -exec cat {} +": "~/note.txt ~/note.txt",
		"find vendor -path -name -exec cat {} +":             "~/note.txt",
		// A linked folder of the project is walked as well.
		"grep -R x chain":    "~/.ssh ~/note.txt",
		"ls -LR chain":       "~/.ssh ~/note.txt",
		"find chain -delete": "",
	} {
		t.Run(command, func(t *testing.T) {
			fs := effectstest.Files().File("/home/ana/.ssh/id_rsa", "").File("/home/ana/note.txt", "").File(effectstest.Cwd+"/docs/a.txt", "").
				Link(effectstest.Cwd+"/src/keys", "/home/ana/.ssh").Link(effectstest.Cwd+"/src/note", "../../../note.txt").Link(effectstest.Cwd+"/vendor/a/note.md", "/home/ana/note.txt").
				Link(effectstest.Cwd+"/lib/target/etc", "/etc").File(effectstest.Cwd+"/chain/a", "").Link(effectstest.Cwd+"/chain/src", "../src").Link(effectstest.Cwd+"/src/own", "../docs").Link(effectstest.Cwd+"/src/gone", "/home/ana/gone")
			x := paths.NewIndex(fs, func() time.Time { return time.Unix(1e9, 0) })
			x.Background = func(task func()) { task() }
			b := shellBuilder(table, x)
			Text(b, command, effectstest.Cwd, "command")
			checkEffects(t, b)
			var got []string
			for i := range b.Effects {
				if e := &b.Effects[i]; e.Kind == effects.KindRead && e.File != nil && !e.Tags.Has(effects.InProject) {
					got = append(got, strings.Replace(e.File.Path, "/home/ana", "~", 1))
				}
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestSearchOfWorktree: secrets that a search may find in another working tree of
// the project's repository are looked up as in the project.
func TestSearchOfWorktree(t *testing.T) {
	const tree, admin = "/home/ana/trees/fix", effectstest.Cwd + "/.git/worktrees/fix"
	for command, want := range map[string]bool{
		"grep -r x " + tree + "/conf":             true,
		"cd " + tree + " && grep -r x .":          true,
		"rg -uu x " + tree + "/conf":              true,
		"grep -R x " + tree + "/linked":           true,
		"grep -r x " + tree + "/linked":           false,
		"grep -r x " + tree + "/src":              false,
		"find " + tree + "/conf -exec cat {} \\;": true,
	} {
		t.Run(command, func(t *testing.T) {
			fs := effectstest.Files()
			fs.Dir(effectstest.Cwd+"/.git/objects").File(tree+"/.git", "gitdir: "+admin+"\n").File(admin+"/gitdir", tree+"/.git\n").File(admin+"/commondir", "../..\n")
			fs.File(tree+"/conf/a/.env", "").File(tree+"/src/a.go", "").Link(tree+"/linked/keys", "/home/ana/.ssh")
			x := paths.NewIndex(fs, func() time.Time { return time.Unix(1e9, 0) })
			x.Background = func(task func()) { task() }
			b := shellBuilder(effectstest.Table(t), x)
			Text(b, command, effectstest.Cwd, "command")
			got := false
			for i := range b.Effects {
				got = got || b.Effects[i].Tags.Has(effects.Secret)
			}
			if got != want {
				t.Errorf("reads a secret: %v, want %v", got, want)
			}
		})
	}
}

// TestSecretsThroughLinks has links to files and folders that a search leaves out for their
// names, but not for those of the links.
func TestSecretsThroughLinks(t *testing.T) {
	table := effectstest.Table(t)
	for _, c := range []struct {
		secret, link, to string
		ask, not         []string
	}{
		{".env", "lib/e.txt", "../.env", []string{"rg -L K", "rg -L K .", "ag -f K", "rg -L --no-ignore K", "rg -L -g '*.txt' K", "grep -R --include='*.txt' K .", "find -L . -name '*.txt' -exec cat {} +", "find . -name 'e*' -exec cat {} +"},
			[]string{"rg K", "ag K", "fd -L e", "ls -LR", "find -L . -name x"}},
		{"ign/k.pem", "lib/k", "../ign/k.pem", []string{"rg -L K", "ag -f K", "rg -L K lib"}, []string{"rg K", "rg K lib"}},
		{"ign/k.pem", "lib/d", "../ign", []string{"rg -L K", "ag -f K", "rg -L K lib"}, []string{"rg K", "rg K lib"}},
		{".h/x.pem", "lib/h", "../.h", []string{"rg -L K", "ag -f K", "rg -L K lib"}, []string{"rg K", "rg K lib"}},
		{".env", "lib/up", "..", nil, []string{"rg -L K"}},
		{".env", "lib/own", "../docs", nil, []string{"rg -L K", "ag -f K"}},
		{".env", "lib/.env", "../.env", nil, []string{"rg -L K", "ag -f K"}},
	} {
		for i, command := range append(c.ask, c.not...) {
			fs := fsfake.New(effectstest.Cwd+"/.git/HEAD").File(effectstest.Cwd+"/.gitignore", "ign\n").File(effectstest.Cwd+"/"+c.secret, "").
				File(effectstest.Cwd+"/docs/a.txt", "").File(effectstest.Cwd+"/lib/a.txt", "").Link(effectstest.Cwd+"/"+c.link, c.to)
			x := paths.NewIndex(fs, func() time.Time { return time.Unix(1e9, 0) })
			x.Background = func(task func()) { task() }
			b := shellBuilder(table, x)
			Text(b, command, effectstest.Cwd, "command")
			asks := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown || e.Tags.Has(effects.Secret) })
			if want := i < len(c.ask); asks != want {
				t.Errorf("%s with %s -> %s: reads a secret: %v, want %v\n%s", command, c.link, c.to, asks, want, shown(b.Effects))
			}
		}
	}
}
