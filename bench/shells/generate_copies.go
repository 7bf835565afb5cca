//go:build linux

package main

import (
	"path"
	"strings"
)

// copies returns a text that copies, moves or links files and folders in one of the many
// ways to write that, and then reads what may be at the new place: in the tree, some of
// what is copied are links that lead elsewhere.
func (g *grammar) copies() string {
	source := func() string {
		return g.pick("docs", "docs/", "docs/.", "./docs/./", "src/../docs/.", "docs/*", "docs/l.shadow", "src", "src/", "src/.", "src/*", "src/l.out", "l.shadow", "l.out", "l.out/", "l.dir", "l.dir/.", "l.file", "l.env", "d", "sub", "*.txt", "l.*", "./l.shadow", "\"$PWD\"/docs", "\"$PWD/docs/l.shadow\"", "{docs,src}/l.shadow")
	}
	target := func() string {
		return g.pick("new", "new/", "./new", "new/x", "d", "d/", "d/new", "d/new/", "src", "src/", "./d/../src", "docs", "docs/", ".", "./", "l.dir", "l.dir/", "l.gone", "a.txt", "x.txt", "\"$PWD\"/d", "src/deep", "..", "sub")
	}
	from, to := source(), target()
	change := func() string {
		verb := g.pick("cp -R", "cp -r", "cp -a", "cp -RP", "cp -d", "cp -P", "cp", "cp -rL", "cp -rH", "cp -l", "cp -s", "cp -rl", "cp -rf", "cp -ru", "cp -rn", "mv", "mv -f", "mv -n", "mv -u", "rsync -a", "rsync -rl", "rsync -r", "rsync -aR", "rsync -a --delete", "ln -s", "ln", "ln -sf", "ln -sfn", "ln -sr", "install", "install -D", "cp --parents -r", "git mv", "cp -b", "mv -b", "cp -rx", "cp -rp", "cp --no-dereference", "cp --recursive", "mv --backup=numbered")
		switch g.IntN(12) {
		case 0:
			return verb + " -t " + to + " " + from
		case 1:
			return verb + " -T " + from + " " + to
		case 2:
			return verb + " " + from + " " + source() + " " + to
		case 3:
			return "mkdir " + g.pick("", "-p ") + to + g.pick("; ", " && ") + verb + " " + from + " " + to
		case 4:
			return g.pick("rm -r ", "rm -rf ", "rmdir ", "rm ") + to + g.pick("; ", " && ") + verb + " " + from + " " + to
		case 5:
			return "cd " + g.pick("src", "docs", "d") + g.pick("; ", " && ") + verb + " ../" + from + " " + to
		case 6:
			return verb + " " + from + " " + to + g.pick("; ", " && ") + g.pick("mv ", "cp -r ", "ln -s ") + to + " " + g.pick("new", "new2", "d/")
		case 7:
			return "for f in " + from + "; do " + verb + " \"$f\" " + to + "; done"
		}
		return verb + " " + from + " " + to
	}
	look := func() string {
		base := strings.TrimRight(strings.Trim(from, `"`), "/*.")
		at := g.pick(to, to, to+"/"+path.Base(base), "new", "new2", "d")
		at = strings.TrimRight(at, "/") + g.pick("", "/", "/l.shadow", "/l.shadow", "/l.out/shadow", "/l.file", "/index.md", "/.", "/x/l.shadow", "/docs/l.shadow", "/l.env", "/l.dir/a.txt", "/deep/x.txt", "/*")
		return g.pick("cat ", "cat ", "head -1 ", "grep a ", "grep -r a ", "rg a ", "wc -l ", "ls ", "find ", "sort ", "diff a.txt ", "cp a.txt ", "echo x > ", "tee ", "sed -i s/a/b/ ", "rm ", "touch ") + at
	}
	text := change() + g.pick("; ", " && ", "\n", " || ") + look()
	if g.chance(30) {
		text += g.pick("; ", " && ") + look()
	}
	return text
}
