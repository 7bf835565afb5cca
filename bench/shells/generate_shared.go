//go:build linux

package main

import "strings"

// shared returns a text of commands that share a folder: some change its files, and
// later ones read them.
func (g *grammar) shared() string {
	n := 2 + g.of(4, 3, 2)
	changes := g.IntN(n - 1) // so that at least one command comes before another
	var out strings.Builder
	for i := range n {
		if i > 0 {
			out.WriteString(g.pick(" && ", " && ", "; ", "\n", " || "))
		}
		command := g.looks
		if i == changes || g.chance(30) {
			command = g.changesFiles
		}
		switch g.of(24, 3, 2, 2, 2, 1) {
		case 0:
			out.WriteString(command())
		case 1:
			out.WriteString("cd " + g.pick("src", "d", "new", "l.dir", "docs", "..", "nosuch", "sub", "src/deep", "n") + g.pick(" && ", "; ") + command())
		case 2:
			out.WriteString("(cd " + g.pick("src", "d", "new", "l.dir", "docs") + " && " + command() + ")")
		case 3:
			out.WriteString("for f in " + g.some(1, 2, " ", g.place) + "; do " + command() + g.pick("", " && cat \"$f\"", "; wc -l \"$f\"", "; ls -d \"$f\"", "; grep a \"$f\"", "; cp \"$f\" new", "; head -1 \"$f\" > out.txt") + "; done")
		case 4:
			out.WriteString("if " + command() + "; then " + g.looks() + "; fi")
		default:
			out.WriteString("{ " + command() + "; " + g.looks() + "; }")
		}
		if g.chance(8) {
			out.WriteString(" " + g.pick("> out.txt", ">> new", "2>/dev/null", "> /dev/null", "> l.new", "> l.file", "< a.txt", "> d/new", "| sort", "| head -1", "| tee new", "| xargs cat", "| xargs ls -d", "| cat -"))
		}
	}
	return out.String()
}

// changesFiles returns a command that changes the files of a folder.
func (g *grammar) changesFiles() string {
	to := func() string {
		return g.pick("new", "new", "d", "d/new", "src", "n", "n/x", "a.txt", "b.txt", "l.file", "l.dir", "l.gone", "l.new", "out.txt", "-n", "./-x", "src/new", "d/a.txt", "l.dir/new", "docs", "'x y'", "new/a.txt", "l.out", "./new/", "d/")
	}
	switch g.IntN(26) {
	case 0, 1:
		return "mkdir " + g.pick("", "-p ", "-p ", "-v ") + g.pick("new", "n", "n/x", "d/new", "new/deep", "new n", "-- -n", "src", "l.gone", "a.txt/x")
	case 2, 3, 4:
		return "cp " + g.pick("", "", "-r ", "-a ", "-R ", "-P ", "-L ", "-d ", "-T ", "-n ", "-p ", "-H -r ", "-rL ", "--parents ", "-u ", "--remove-destination ") + g.some(1, 2, " ", g.place) + " " + to()
	case 5, 6, 7:
		return "mv " + g.pick("", "", "-n ", "-T ", "-v ", "-f ", "-u ") + g.some(1, 2, " ", g.place) + " " + to()
	case 8, 9:
		return "ln " + g.pick("-s ", "-s ", "", "-sf ", "-sn ", "-sr ", "-sT ", "-L ", "-P ") + g.pick(g.place(), g.place(), "../a.txt", "../src", "..") + " " + g.pick(to(), to(), "")
	case 10:
		return "touch " + g.pick("", "-c ", "-h ", "-r a.txt ") + g.some(1, 2, " ", to)
	case 11, 12:
		return "rm " + g.pick("", "-f ", "-r ", "-rf ", "-d ") + g.pick(to(), g.place())
	case 13:
		return "rmdir " + g.pick("", "-p ") + g.pick("d", "new", "n", "n/x", "src")
	case 14:
		return g.pick("echo x", "echo a.txt", "cat "+g.place(), "ls") + " | tee " + g.pick("", "-a ") + to()
	case 15:
		return "sed -i " + g.pick("s/a/b/ ", "1d ", "-n p ", "-e s/b/c/ ", "--follow-symlinks s/a/b/ ") + g.place()
	case 16:
		return "tar " + g.pick("xf t.tar", "-xf t.tar -C d", "xzf t.tgz", "xf t.tar --strip-components=1", "xf t.tar a.txt", "-xOf t.tar", "tf t.tar", "xf t.tar -C n", "xf t.tar --one-top-level=new", "xkf t.tar in")
	case 17:
		return "tar " + g.pick("cf", "czf", "chf", "rf", "-c -f", "-czf") + " " + g.pick("new.tar", "d/new.tgz", "new", "t.tar") + " " + g.pick("", "--exclude=a.txt ", "-C src ", "--remove-files ") + g.place()
	case 18:
		return g.pick("unzip t.zip", "unzip -o t.zip -d d", "unzip -l t.zip", "unzip -q t.zip a.txt", "unzip -p t.zip", "zip new.zip "+g.place(), "zip -r new.zip "+g.place(), "zip -y -r new.zip src", "zip -m new.zip a.txt", "unzip -o -j t.zip")
	case 19:
		return g.pick("gzip a.txt", "gzip -k a.txt", "gunzip g.txt.gz", "gunzip -k g.txt.gz", "gzip -d g.txt.gz", "gzip -c a.txt > new.gz", "gzip l.file", "gzip -r src", "bzip2 a.txt", "xz -k b.txt", "zstd a.txt", "gzip -dc g.txt.gz", "gzip -f l.file", "gunzip -c t.tgz", "gunzip g.txt", "gzip -S .x a.txt", "bzip2 -k l.file", "xz -f l.file", "zstd -f l.file", "zstd --rm a.txt")
	case 20:
		return g.pick("git init new", "git init d", "git init -q n", "git init", "git init --bare new")
	case 21:
		return g.pick("git add a.txt", "git add .", "git rm a.txt", "git mv a.txt new", "git checkout -- b.txt", "git restore b.txt", "git stash", "git commit -m x", "git branch new", "git checkout -b new", "git reset", "git tag v1", "git clean -n", "git apply list", "git worktree add ../w", "git config user.name x")
	case 22:
		return "cat > " + to() + " <<'EOF'\n" + g.pick("text", "a.txt", "l.shadow", "src\n../other/shadow", "-delete") + "\nEOF\n" + g.looks()
	case 23:
		return g.pick("printf 'a.txt\\n' > ", "echo x > ", "echo ../other/shadow > ", "ls > ", "> ", ": > ", "true >> ") + to()
	case 24:
		return g.pick("install a.txt ", "install -m 644 a.txt ", "install -D a.txt ", "dd if=a.txt of=", "truncate -s 0 ", "split -l 1 a.txt ", "sort -o ", "patch ", "unlink ", "install -d ", "mktemp ") + to()
	default:
		return g.optioned()
	}
}

// looks returns a command that reads the files of a folder.
func (g *grammar) looks() string {
	p := func() string {
		if g.chance(50) {
			return g.pick("new", "d", "new/a.txt", "n", "n/x", "d/new", "out.txt", "new/l.shadow", "d/a.txt", "new/*", "d/*", "*", "./*", "-- *", "src/new", "in/x.txt", "in/l", "in/l/shadow", "d/in/l/shadow", "in/up", "l.dir/new", "new/deep", "-n", "g.txt", "a.txt.gz", "new/x.txt", "d/l.shadow")
		}
		return g.place()
	}
	switch g.IntN(30) {
	case 0, 1, 2:
		return "cat " + p()
	case 3, 4:
		return "ls " + g.pick("", "-l ", "-la ", "-R ", "-d ", "-L ", "-H ", "-F ") + p()
	case 5, 6:
		return "grep " + g.pick("", "-r ", "-R ", "-rl ", "-c ", "-f list ", "-rn --include='*.txt' ", "-l ", "-rh ", "-d recurse ", "-D skip ", "-s ") + g.pick("a ", "x ", ". ", "-e a ") + p()
	case 7:
		return g.pick("diff ", "diff -r ", "diff -q ", "diff -ru ", "cmp ", "diff -N ", "comm ", "diff --no-dereference -r ", "diff -x a.txt -r ") + p() + " " + p()
	case 8, 9, 10:
		return "find " + g.pick("", "-L ", "-H ", "-P ") + p() + " " + g.pick("", "-type f", "-name '*.txt'", "-maxdepth 1", "-type l", "-newer a.txt", "-type f -exec cat {} +", "-exec wc -l {} \\;", "-exec ls -d {} +", "-name a.txt -exec grep a {} \\;", "-type f -exec head -1 {} \\;", "-xtype f", "-empty", "-exec cp {} d \\;", "-type f -exec rm {} +",
			"-exec cat {}/a.txt \\;", "-execdir cat {} \\;", "-type d -exec ls {} \\;", "-samefile a.txt", "-exec stat {} \\;", "-exec mv {} d \\;", "-lname '*'", "-exec sh -c 'cat \"$1\"' _ {} \\;", "-exec touch {} \\;", "-ls", "-delete", "-exec sed -n p {} \\;", "-follow -name '*.txt'", "-files0-from list0", "-type f | xargs cat", "-print0 | xargs -0 cat", "-type f | xargs grep a", "-type f | head -1 | xargs cat", "| while read -r f; do cat \"$f\"; done", "-printf '%p\\n'", "-fls out.txt", "-fprintf new %p", "-anewer b.txt", "-path src -prune -o -print")
	case 11:
		return "wc " + g.pick("", "-l ", "-c ", "--files0-from=list0 ") + p()
	case 12:
		return "sort " + g.pick("", "-u ", "-m ", "-c ", "-o out.txt ", "--files0-from=list0 ", "-T d ", "-S 1k ", "--random-source=a.txt -R ", "--batch-size=2 ", "--parallel=2 ") + p()
	case 13:
		return g.pick("head -1 ", "head -c 4 ", "tail -1 ", "tail -n +2 ", "head -n -1 ", "tail -c 3 ") + p()
	case 14:
		return "rg " + g.pick("", "-l ", "-L ", "--files ", "-u ", "-uu ", "--hidden ", "-z ", "--no-ignore ", "-f list ", "-g '*.txt' ", "--ignore-file list ", "-c ", "--follow ", "-tmd ", "--one-file-system ") + "a " + p()
	case 15:
		return g.pick("stat ", "stat -L ", "du ", "du -a ", "du -L ", "du -D ", "file ", "file -L ", "file -f list ", "readlink ", "readlink -f ", "realpath ", "du -X list ", "du --files0-from=list0 ", "file -z ", "stat -c %n ", "stat -f ") + p()
	case 16, 17:
		return g.pick("git status", "git status --short", "git status "+p(), "git diff", "git diff HEAD", "git diff -- "+p(), "git log", "git log -p", "git log --stat", "git log -- "+p(), "git show", "git show HEAD:a.txt", "git diff --no-index "+p()+" "+p(), "git ls-files", "git ls-files -o", "git grep a", "git grep --no-index a "+p(), "git blame a.txt", "git diff --stat", "git -C "+p()+" status", "git grep --untracked a",
			"git ls-files | xargs cat", "git diff --name-only | xargs cat", "git hash-object "+p(), "git check-ignore "+p(), "git log --follow a.txt", "git diff --cached", "git grep -f list", "git grep -O a", "git ls-files -X list -o", "git log -S a", "git shortlog HEAD", "git archive HEAD", "git cat-file -p HEAD", "git rev-parse --show-toplevel", "git --git-dir=sub/.git status", "git --work-tree=src status", "git describe --dirty --always", "git diff --ext-diff", "git log --textconv -p", "git -p log", "git blame --contents "+p()+" a.txt", "git stash show", "git branch -v", "git ls-tree -r HEAD", "git for-each-ref", "git count-objects", "git fsck", "git verify-commit HEAD", "git diff --output=new", "git format-patch --stdout HEAD", "git bundle create new HEAD", "git check-attr -a "+p(), "git mailinfo new d/new", "git merge-file -p a.txt b.txt a.txt", "git range-diff HEAD HEAD", "git ls-files --with-tree=HEAD -m", "git stripspace", "git column", "git interpret-trailers "+p(), "git log --no-walk --stdin", "git rev-list --all", "git diff-files", "git diff-index HEAD", "git var -l", "git config -l", "git config -f list -l", "git config --file "+p()+" --get a.b", "git submodule status", "git worktree list", "git notes list", "git reflog", "git check-mailmap x", "git whatchanged", "git show-ref", "git name-rev HEAD", "git merge-base HEAD HEAD", "git cherry HEAD", "git remote", "git tag -l", "git grep --recurse-submodules a", "git cat-file --textconv HEAD:a.txt", "git cat-file --filters HEAD:a.txt")
	case 18:
		return g.pick("ls", "echo a.txt", "cat list", "printf 'a.txt\\nsrc\\n'", "find . -name '*.txt'", "grep -l a *.txt", "ls d", "rg -l a", "ls new") + " | xargs " + g.pick("", "-n1 ", "-I{} ", "-r ", "-d '\\n' ", "-0 ", "-P2 ", "-L1 ", "-t ", "-a list ", "--arg-file=list ", "-E a ", "-I % ") + g.pick("cat", "ls -d", "wc -l", "cat {}", "head -1", "stat", "grep a", "cp -t d", "cat d/{}", "cat %", "rm", "file", "sed -n p", "sort")
	case 19:
		return g.pick("awk 1 ", "awk '{print FILENAME}' ", "awk 'NR==FNR{a[$1]; next} $1 in a' list ", "awk -f list ", "sed -n p ", "sed -n '$p' ", "sed -s -n 1p ", "sed -f list ", "jq . ", "jq -n input ", "jq --slurpfile x j.json . ", "jq --rawfile x a.txt . ", "jq -f list ", "jq --arg a b . ", "awk '{getline; print}' ", "awk -v FS=/ 1 ") + p()
	case 20:
		return g.pick("tar tf t.tar", "tar tvf "+p(), "unzip -l t.zip", "unzip -p t.zip", "zipinfo t.zip", "gzip -l g.txt.gz", "gzip -dc "+p(), "tar xOf t.tar a.txt", "tar df t.tar", "unzip -t "+p(), "gzip -t "+p(), "xz -l "+p(), "tar tf new.tar", "unzip -l new.zip", "zstd -l "+p())
	case 21:
		return g.pick("nl ", "tac ", "rev ", "od -c ", "fold -w2 ", "paste a.txt ", "join a.txt ", "cut -c1 ", "uniq ", "md5sum ", "sha256sum ", "md5sum -c ", "cksum ", "xxd ", "base64 ", "base64 -d ", "strings ", "column ", "iconv -f utf8 ", "expand ", "b2sum -c ", "sha1sum -c ", "hexdump -C ", "tree ", "tree -l ", "tree --fromfile ", "pr ", "shuf ", "nm ", "objdump -x ", "readelf -h ", "comm a.txt ", "dirname ", "cksum -c ", "tree -o new ", "tree --gitfile list ", "tree --gitignore ", "od -j 1 ", "xxd -r ", "shuf -n1 ", "sum ") + p()
	case 22:
		return g.pick("test -f ", "[ -d ", "[ -L ", "test -e ") + p() + " ]"
	case 23:
		return "while read -r f; do " + g.pick("cat \"$f\"", "echo \"$f\"", "wc -l \"$f\"", "ls \"$f\"", "cat d/\"$f\"") + "; done < " + p()
	case 24:
		return "read -r f < " + p() + " && cat \"$f\""
	case 25:
		return g.pick("cat", "wc -l", "grep a", "sort", "sed -n p", "xargs cat", "xargs ls", "head -1", "jq .", "tee new") + " < " + p()
	case 26:
		return g.pick("cat", "sort", "grep a", "xargs cat", "tee new", "tar xf -", "git apply", "patch", "sh", "sqlite3 -readonly -safe x.db", "wc", "git hash-object --stdin", "diff - a.txt", "cat - b.txt") + " <<EOF\n" + g.pick("a.txt", "l.shadow", "$x", "text", "-delete", "../other/shadow") + "\nEOF\n" + g.looks()
	default:
		return g.optioned()
	}
}
