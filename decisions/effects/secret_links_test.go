package effects

import (
	"strings"
	"testing"
	"time"
)

// TestStrays has a project with links to a secret, to a file elsewhere, and to
// one of its own: a run that follows links reads what these lead to.
func TestStrays(t *testing.T) {
	table := shippedTable(t)
	for command, want := range map[string]string{
		"grep -R x src":                      "~/.ssh ~/note.txt",
		"grep -R x":                          "/etc ~/.ssh ~/note.txt",
		"grep -r x src":                      "",
		"grep -R x docs":                     "",
		"egrep -R x .":                       "/etc ~/.ssh ~/note.txt",
		"rg -L x src":                        "~/.ssh ~/note.txt",
		"rg x src":                           "",
		"find src -exec cat {} +":            "~/.ssh ~/note.txt",
		"find src -type l -exec cat {} +":    "~/.ssh ~/note.txt",
		"find src -type f -exec cat {} +":    "",
		"find -L src -type f -exec cat {} +": "~/.ssh ~/note.txt ~/.ssh ~/note.txt",
		"find src -type f -o -type l -exec cat {} \\;": "~/.ssh ~/note.txt",
		"find src -name x":                  "",
		"diff -r src docs":                  "~/.ssh ~/note.txt",
		"diff -r --no-dereference src docs": "",
		"diff src docs":                     "~/.ssh ~/note.txt",
		"cp -rL src docs/y":                 "~/.ssh ~/note.txt",
		"cp -r src docs/y":                  "",
		"tar -chf docs/x.tar src":           "~/.ssh ~/note.txt",
	} {
		t.Run(command, func(t *testing.T) {
			fs := shellFiles().File("/home/ana/.ssh/id_rsa", "").File("/home/ana/note.txt", "").File(testCwd+"/docs/a.txt", "").
				Link(testCwd+"/src/keys", "/home/ana/.ssh").Link(testCwd+"/src/note", "../../../note.txt").Link(testCwd+"/src/own", "../docs").Link(testCwd+"/src/gone", "/home/ana/gone")
			x := NewIndex(fs, func() time.Time { return time.Unix(1e9, 0) })
			x.beside = func(task func()) { task() }
			b := shellBuilder(table, x)
			shellText(b, command, testCwd, "command")
			checkEffects(t, b)
			var got []string
			for i := range b.effects {
				if e := &b.effects[i]; e.Kind == KindRead && e.File != nil && !e.Tags.Has(InProject) {
					got = append(got, strings.Replace(e.File.Path, "/home/ana", "~", 1))
				}
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestSearchOfWorktree: what a search passes over in another working tree of the
// project's repository is looked for as in the project.
func TestSearchOfWorktree(t *testing.T) {
	const tree, admin = "/home/ana/trees/fix", testCwd + "/.git/worktrees/fix"
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
			fs := shellFiles()
			fs.Dir(testCwd+"/.git/objects").File(tree+"/.git", "gitdir: "+admin+"\n").File(admin+"/gitdir", tree+"/.git\n").File(admin+"/commondir", "../..\n")
			fs.File(tree+"/conf/a/.env", "").File(tree+"/src/a.go", "").Link(tree+"/linked/keys", "/home/ana/.ssh")
			x := NewIndex(fs, func() time.Time { return time.Unix(1e9, 0) })
			x.beside = func(task func()) { task() }
			b := shellBuilder(shippedTable(t), x)
			shellText(b, command, testCwd, "command")
			got := false
			for i := range b.effects {
				got = got || b.effects[i].Tags.Has(Secret)
			}
			if got != want {
				t.Errorf("reads a secret: %v, want %v", got, want)
			}
		})
	}
}
