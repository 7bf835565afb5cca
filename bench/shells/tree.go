//go:build linux

package main

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

// The home and the project of the person whose calls are tried, as permd knows
// them. In the sandbox both are below its root.
const (
	uid     = 1000
	home    = "/home/dev"
	project = "/home/dev/project"
)

// tree is the contents of the home before each text. A path that ends in a slash is
// a folder, and a text that begins with "-> " is the target of a link.
type tree struct {
	name  string
	files map[string]string
}

// hostile is the path of the script that must never run.
const hostile = "evil.sh"

// secrets are the files, with their contents, that no text may read without a read
// effect.
var secrets = map[string]string{project + "/.env": "TOKEN=canary-of-env", home + "/other/shadow": "canary-of-shadow"}

// Each text is tried in one of these trees. The first has the files that commands
// of the corpora name, the second none, the third files whose names look like
// options, commands and patterns, the fourth links and archives that lead
// elsewhere, the fifth folders that have ordinary names and one of each of these kinds.
var trees = []tree{
	{"project", map[string]string{
		"project/a.txt": "a\n", "project/b.txt": "b\nb\n", "project/README.md": "# project\n", "project/src/main.go": "package main\n",
		"project/src/a.txt": "src\n", "project/docs/index.md": "docs\n", "project/d/": "", "project/" + hostile: "", "project/.env": secrets[project+"/.env"] + "\n",
		"project/link": "-> a.txt", "project/out": "-> ../other", "other/shadow": secrets[home+"/other/shadow"] + "\n", ".profile": "x\n", "project/x y": "two words\n",
		"project/.git/HEAD": "ref: refs/heads/main\n", "project/.git/config": "[core]\n\trepositoryformatversion = 0\n", "project/.git/objects/": "", "project/.git/refs/heads/": "",
	}},
	{"empty", map[string]string{"project/": ""}},
	{"names", map[string]string{
		"project/-delete": "", "project/-exec": "", "project/a b": "a b\n", "project/$(touch pwned)": "", "project/;touch pwned": "", "project/*": "star\n",
		"project/[a]": "", "project/a.txt": "a\n", "project/-rf": "", "project/" + hostile: "", "project/src/-x": "", "project/src/evil.sh": "", "project/~": "", "project/{}": "",
		"project/=ls": "", "project/d/a.txt": "d\n", "project/--help": "", "project/leak": "-> ../other/shadow", "other/shadow": secrets[home+"/other/shadow"] + "\n",
	}},
	linked(),
	{"words", map[string]string{
		"project/a.txt": "a\n", "project/b.txt": "b\nb\n", "project/src/main.go": "package main\n", "project/src/a.txt": "src\n", "project/d/": "", "project/docs/index.md": "docs\n",
		"project/list": "a.txt\nb.txt\n", "project/list0": "a.txt\x00b.txt\x00", "project/" + hostile: "", "project/.env": secrets[project+"/.env"] + "\n", "other/shadow": secrets[home+"/other/shadow"] + "\n",
		"project/q/1.txt": "1\n", "project/q/a b.txt": "a b\n", "project/q/-rf": "-rf\n", "project/q/a": "a\n", "project/q/b.txt": "b\n", "project/q/a\nb": "newline\n", "project/q/l1.txt": "-> ../../other/shadow",
		"project/w/1.txt": "1\n", "project/w/2.txt": "2\n", "project/w/8.txt": "8\n", "project/w/9.txt": "-> ../../other/shadow", "project/w/x": "x\n", "project/e/": "",
		"project/k/id_rsa": "key\n", "project/k/server.pem": "pem\n", "project/k/b.txt": "b\n", "project/k/-f.txt": "f\n", "project/k/'q'.txt": "q\n", "project/k/c\\d.txt": "d\n",
		"project/x/x\n../other/shadow\n.txt": "x\n", "project/x/*": "star\n", "project/x/-n": "n\n", "project/l.shadow": "-> ../other/shadow", "project/l.file": "-> a.txt", "project/l.dir": "-> src", "project/l.out": "-> ../other",
		"project/.git/HEAD": "ref: refs/heads/main\n", "project/.git/config": "[core]\n\trepositoryformatversion = 0\n", "project/.git/objects/": "", "project/.git/refs/heads/": "",
	}},
}

// paths calls f with each path of the tree, absolute as permd knows it.
func (t *tree) paths(f func(p, text string)) {
	for p, text := range t.files {
		folder := strings.HasSuffix(p, "/")
		p = path.Join(home, p)
		if folder {
			p += "/"
		}
		f(p, text)
	}
}

// fake returns a file system in memory with the tree, for permd to decide on.
func (t *tree) fake() *fsfake.FS {
	fs := fsfake.New("/bin -> usr/bin", "/usr/bin/", "/usr/local/bin/", "/etc/passwd", "/etc/hosts", "/etc/shadow", "/tmp/", "/var/tmp/", "/proc/self/", "/root/", project+"/")
	for _, device := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		fs.Device("/dev/" + device)
	}
	fs.Link("/dev/stdin", "/proc/self/fd/0").Link("/dev/stdout", "/proc/self/fd/1").Link("/dev/stderr", "/proc/self/fd/2").Link("/dev/fd", "/proc/self/fd")
	t.paths(func(p, text string) {
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(p, "/"):
			fs.Dir(p)
		case link:
			fs.Link(p, target)
		case path.Base(p) == hostile:
			fs.File(p, "#!/bin/sh\ntouch pwned\n").Own(p, uid, 0o755)
		default:
			fs.File(p, text)
		}
	})
	return fs
}

// person returns the user that the daemon would see.
func person() effects.User {
	return effects.User{UID: uid, Name: "dev", Home: home, Env: map[string]string{"HOME": home, "USER": "dev", "LOGNAME": "dev"}}
}

func ownFiles() paths.Own {
	return paths.OwnFiles(home+"/.config/permd", home+"/.local/share/permd", home+"/.local/state/permd", "/run/user/1000/permd", "/etc/permd", "/var/lib/permd", "/run/permd")
}
