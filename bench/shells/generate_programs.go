//go:build linux

package main

import "strings"

// programs returns a text that starts installed programs with existing files.
func (g *grammar) programs() string {
	var out strings.Builder
	if g.chance(8) { // perhaps in another folder
		return g.moving()
	}
	for i := range 1 + g.of(5, 3, 1) {
		if i > 0 {
			out.WriteString(g.pick(" && ", "; ", " | ", " || ", "\n", " & "))
		}
		switch g.of(8, 1, 1, 1) {
		case 1:
			out.WriteString("cd " + g.pick("src", "d", "docs", "..", "./src", "link", "out") + " && " + g.program())
		case 2:
			out.WriteString("for f in " + g.pick("a.txt b.txt", "*.txt", "src/*", "*") + "; do " + g.pick("cat \"$f\"", "wc -l \"$f\"", "ls -l \"$f\"", "grep x \"$f\"", "head -1 \"$f\"", "cat ./\"$f\"") + "; done")
		case 3:
			out.WriteString("(" + g.program() + ")")
		default:
			out.WriteString(g.program())
		}
		if g.chance(12) {
			out.WriteString(" " + g.redirection())
		}
	}
	return out.String()
}

// file returns a file, a folder or a pattern.
func (g *grammar) file() string {
	return g.pick("a.txt", "b.txt", "src", "src/main.go", "README.md", "docs", "docs/index.md", "d", "nosuch", "'x y'", "link", "*.txt", "src/*", "*", ".", "./*", "./a.txt", "..", "\"a.txt\"", "src/../a.txt",
		"link/../b.txt", "out", "?.txt", "d/*", "../project/a.txt", "*/a.txt", "a b", "-", "-- *", "-- *.txt", "./-rf", "{}", ".env.example", "~", "$PWD/a.txt", "\"$PWD\"/src")
}

// program returns a command that calls one program.
func (g *grammar) program() string {
	files := func() string { return g.some(0, 2, " ", g.file) }
	flag := func(list ...string) string {
		if g.chance(50) {
			return ""
		}
		return g.pick(list...) + " "
	}
	switch g.IntN(30) {
	case 0, 1, 2:
		return "cat " + flag("-n", "-A", "-v", "--", "--number", "-s") + files()
	case 3, 4, 5:
		return "ls " + flag("-l", "-a", "-la", "-R", "-1", "-d", "--color=never", "-lh", "-t", "-S") + files()
	case 6:
		return "wc " + flag("-l", "-c", "-w", "--lines") + files()
	case 7:
		return g.pick("head ", "tail ") + flag("-1", "-n 2", "-n2", "-c 3", "-q") + files()
	case 8, 9, 10:
		return "grep " + flag("-r", "-rn", "-i", "-l", "-c", "-v", "-e x", "-E", "-F", "-q", "-o", "-w", "-R", "--include='*.txt' -r", "-s", "-A1", "-f a.txt", "--exclude-dir=src -r") + g.pick("a", "x", "'^a'", "package", "\"a b\"", ".") + " " + files()
	case 11:
		return "sort " + flag("-r", "-u", "-n", "-k1", "-o out.txt", "-c", "-t,", "-m") + files()
	case 12:
		return "uniq " + flag("-c", "-d", "-u") + g.pick("", "a.txt", "b.txt", "a.txt out.txt", "*.txt")
	case 13:
		return "cut " + g.pick("-c1 ", "-d, -f1 ", "-f 1 ", "-b1-2 ") + files()
	case 14:
		return "sed " + g.pick("-n 1p ", "s/a/b/ ", "-n '1,2p' ", "-e 1d ", "'s/x/y/g' ", "-n '$p' ", "'s/a/b/w out.txt' ", "-i s/a/b/ ", "'r b.txt' ", "-E 's/(a)/\\1/' ", "1q ", "'1e pwned' ", "-n '/a/p' ") + files()
	case 15:
		return "awk " + g.pick("1 ", "'{print $1}' ", "-F, '{print $2}' ", "'NR==1' ", "'/a/' ", "'END{print NR}' ", "'{print > \"out.txt\"}' ", "'BEGIN{while((getline l < \"b.txt\")>0) print l}' ", "-v x=1 '{print x}' ", "'{ print length($0) }' ") + files()
	case 16, 17, 18:
		return "find " + g.pick("", ". ", "src ", "docs d ", "a.txt ", "nosuch ", "* ", "./* ", ".. ") + g.pick("", "-name '*.txt'", "-type f", "-maxdepth 1", "-type d -print", "-name a.txt -exec cat {} \\;", "-type f -exec grep -l a {} +", "-delete", "-newer a.txt", "-size +1k", "-name *.txt", "-empty", "-print0",
			"-exec ls -d {} \\;", "-name a.txt -delete", "-path ./src -prune -o -print", "-exec a {} \\;", "-L", "-follow", "-fprint out.txt", "-exec rm {} +", "-type f | xargs wc -l", "-name '*.txt' | xargs cat", "-type f -print0 | xargs -0 head -1", "-samefile a.txt", "-regex '.*txt'")
	case 19:
		return g.pick("nl ", "tac ", "rev ", "od -c ", "fold -w2 ", "file ", "stat ", "diff a.txt ", "cmp a.txt ", "diff -r src ", "diff -u a.txt ", "basename ", "dirname ", "tree ", "realpath ", "stat -c %s ", "file -b ") + files()
	case 20:
		return "git " + g.pick("status", "status --short", "diff", "log --oneline", "branch", "ls-files", "show", "diff --stat", "rev-parse HEAD", "log -1", "diff -- a.txt", "status -s src", "-C src status", "grep a", "blame a.txt", "remote -v", "config --list", "check-ignore a.txt", "stash list", "tag", "diff --no-index a.txt b.txt", "ls-files -o")
	case 21:
		return g.pick("mkdir ", "mkdir -p ") + g.pick("new", "new/deep", "src/x", "d/e", "src", "'n w'")
	case 22:
		return "rm " + flag("-f", "-r", "-rf", "-d", "--") + g.pick("a.txt", "src", "nosuch", "d", "b.txt a.txt", "link", "*.txt", "src/*", "out")
	case 23:
		return "cp " + flag("-r", "-a", "-p", "-n") + g.pick("a.txt new", "a.txt src", "a.txt b.txt src", "src new", "link new", "a.txt src/", "-t src a.txt", "*.txt d")
	case 24:
		return "mv " + flag("-f", "-n") + g.pick("a.txt new", "a.txt src", "a.txt b.txt d", "src new", "link l2")
	case 25:
		return "echo x | tee " + flag("-a") + g.pick("out.txt", "new a.txt", "src/new", "", "/dev/null")
	case 26:
		return g.pick("echo", "ls", "printf 'a.txt\\n'", "echo a.txt b.txt", "printf 'a.txt\\0b.txt'") + " | xargs " + flag("-n1", "-r", "-I{}", "-0", "-t") + g.pick("cat", "wc -l", "ls -d", "ls {}", "cat {}", "head -1", "grep a", "a")
	case 27:
		return g.pick("jq . ", "jq -r .a ", "rg a ", "rg -l a ", "rg --files ", "seq 3 ", "date ", "date +%F ") + g.pick("", "a.txt", "src")
	case 28:
		return g.pick("test -f ", "[ -d ") + g.pick("a.txt", "src") + " ]"
	default:
		return g.pick("env x=1 ", "timeout 5 ", "nice ", "command ", "sh -c ", "bash -c ") + g.pick("'cat a.txt'", "cat a.txt", "ls", "'ls src'", "'cat < a.txt'", "'grep a *.txt'")
	}
}
