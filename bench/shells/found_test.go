//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// found are texts that were once allowed although they did more than the effects of
// their decision, grouped by what permd misunderstood. ⏎ is a newline.
var found = []struct{ name, tree, text string }{
	{"a comment that ends in a backslash", "", `ls # x \⏎touch pwned`},
	{"a continuation inside an expansion", "", `echo "$\⏎(touch pwned)"`},
	{"quotes inside an expansion inside quotes", "", `echo "${x:-'$(touch pwned)'}"`},
	{"a substitution of a process inside an expansion", "", `echo ${x:-<(touch pwned)}`},
	{"an expansion over the end of a here-document", "", `cat <<E⏎${x:-⏎E⏎touch pwned⏎}⏎E`},
	{"backquotes and quotes", "", "echo `echo 'a` ; touch pwned ; echo `b'`"},
	{"a test that dash does not have", "", `sh -c '[[ a || bash -ef evil.sh ]]'`},
	{"a group of zsh", "", `{ echo a } always { touch pwned; }`},
	{"a variable that zsh splits", "", `x=.env; cat $=x`},
	{"a tilde behind empty quotes", "", `cat ""~/other/shadow`},
	{"a redirection without a command", "", `> x`},
	{"a word that only zsh skips", "", `ls⏎nocorrect touch pwned`},
	{"a program that bash reads as a file", "", `source ./evil.sh`},
	{"a folder in a body that does not run", "", `cd src; while false; do cd ..; done; cat a.txt`},
	{"a folder behind a redirection that fails", "", `cd src <nosuch; a`},
	{"a folder in a list in the background", "", `cd src || cd d & ls`},
	{"a variable in a list in the background", "", `x=src && true & a $x`},
	{"the input of a substitution in a pipe", "", `a | b "$(say)"`},
	{"the input of a substitution before a redirection", "", `a $(say) < a.txt`},
	{"the input of the commands of another shell", "", `say x | bash -c rd`},
	{"the input of the commands of a loop", "", `ls | while read -r f; do bash -c "d x"; done`},
	{"an input that is opened for writing", "", `d 0> d/log`},
	{"an input that is opened for writing, through another descriptor", "", `rd 1<> a.txt 0>&1`},
	{"the input of a substitution in an assignment", "", `x=$(say) d < b.txt`},
	{"a link that is replaced", "", `sed -i s/a/b/ out`},
	{"a pattern with one match more", "", `uniq *.txt`},
	{"a pattern that matches a link that leads out", "", `ls *`},
	{"more folders than are followed", "empty", `if cd src; then cd PWD/src; fi; cd docs; ls`},
	{"a folder that is made for what is moved into it", "", `cd src && mkdir src && mv a.txt src`},
	{"a folder that is made for a copy", "", `mkdir new; cp a.txt new`},
	{"a folder that is compared", "", `diff a.txt "$PWD"/src`},
	{"links that are followed", "", `find -follow`},
	{"a pattern that becomes an action", "names", `find . ?delete`},
	{"a pattern that becomes an action, in another shell", "names", `dash -c 'find . ?delete'`},
	{"a pattern that becomes an option", "names", `ls *`},
	{"a file that git takes from the top of the repository", "links", `cd docs && git interpret-trailers n.txt`},
	{"patterns that git takes from the top of the repository", "links", `cd docs && git grep -f n.txt a`},
	{"a character set that is a file", "links", `iconv -f l.out/shadow -t l.env/x a.txt`},
	{"a pattern that unzip reads", "links", `unzip -t '*.txt'`},
	{"a file that is packed once more", "links", `zstd g.txt.gz`},
	{"an archive of the old kind that is unpacked", "links", `gzip -df t.tgz`},
	{"a file that is packed though folders are asked for", "links", `gzip -r j.json`},
	{"names that go on", "links", `split -l 1 a.txt d/n`},
	{"a file that is named like standard output", "links", `ls | tee -`},
	{"a file that is named like standard input", "links", `cp - new && cat new`},
	{"an object file that is named like standard input", "links", `mv | readelf -h -`},
	{"a copy that is kept", "links", `sed -i.bak s/a/b/ a.txt`},
	{"a copy that is kept elsewhere", "links", `sed -i'docs/*' s/a/b/ a.txt`},
	{"packed files of a folder that are tested", "links", `gzip --test -r .`},
	{"a repository in the folder", "links", `git init`},
	{"the folders above one that is deleted", "names", `mkdir -p n/x; rmdir -p n/x`},
	{"a copy that keeps a path that leads out", "links", `cp --parents ../project/a.txt src`},
	{"a copy that keeps the whole path", "links", `cp --parents "$PWD" d/`},
	{"a file with a name of mktemp's", "links", `mktemp; mktemp x.XXXX; mktemp -p docs; mktemp -t x.XXXX`},
	{"a new name with a slash behind it", "links", `mv d new/; ls new`},
	{"a suffix of another packer", "links", `bzip2 --decompress g.txt.gz`},
	{"an archive without a name of its own", "links", `zip l.dir/ src`},
	{"links that are unpacked where they are followed", "links", `tar -xf t.tar -C d; find -L d`},
	{"what git keeps of itself", "links", `git add a.txt; git commit -m x`},
	{"a login shell", "", `sh -lc ''`},
	{"a copy of a folder with a link, with a slash behind its name", "links", `cp -R docs new/ && cat new/l.shadow`},
	{"a copy that a search begins at", "links", `cp -r docs ./new/; rg a new/l.shadow`},
	{"the content of a folder that is copied", "links", `cp -R docs/. src/ && cat src/l.shadow`},
	{"all names of a folder that are moved", "links", `mv docs/* src; cat src/l.shadow`},
	{"a copy to a folder that was deleted", "links", `rmdir d; cp --recursive src d; cat d/l.out/shadow`},
	{"a write to a copy in place of a folder", "links", `rmdir d && cp --recursive l.dir d && tee d/l.file`},
	{"a link in place of another", "links", `rm -r l.dir && ln -sr docs l.dir; wc -l l.dir`},
	{"copies whose names are not known", "links", `for f in docs/*; do cp -rp "$f" d; done; cat d/l.shadow`},
	{"the content of a folder, written with more dots", "links", `cp -R ./docs/./ src && cat src/l.shadow`},
}

// TestFound runs those of found that are allowed now.
func TestFound(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real shells")
	}
	w := testWorker(t)
	numbers := make([]int, len(agents))
	for i := range numbers {
		numbers[i] = i
	}
	for _, c := range found {
		t.Run(c.name, func(t *testing.T) {
			for _, i := range testload.Sample(t, 1, numbers) {
				for _, strace := range []bool{false, true} {
					if _, err := exec.LookPath("strace"); err != nil && strace {
						t.Skip("missing: strace")
					}
					tr := &trial{text: strings.ReplaceAll(c.text, "⏎", "\n"), agent: &agents[i], strace: strace}
					switch c.tree {
					case "empty":
						tr.tree = 1
					case "names":
						tr.tree = 2
					case "links":
						tr.tree, tr.person = 3, len(persons)-1
					}
					v := w.judge.decide(t.Context(), tr)
					if !v.allowed {
						continue
					}
					diffs, _, err := w.try(t.Context(), tr, &v)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range diffs {
						t.Errorf("agent %s, %s: the decision has no effect for %s: %s", agents[i].name, d.shell, d.kind, d.what)
					}
				}
			}
		})
	}
}
