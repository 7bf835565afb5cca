//go:build linux

package main

import "strings"

// forms returns a text in which words become what files, numbers or the output of another
// command are: loops over patterns, arithmetic, process substitutions and xargs.
func (g *grammar) forms() string {
	one := func() string {
		switch g.of(10, 3, 3, 5) {
		case 0:
			return g.patternLoop(2)
		case 1:
			return g.calculated()
		case 2:
			return g.processes()
		default:
			return g.appended()
		}
	}
	if g.chance(15) {
		return g.pick("cd src", "cd d", "cd q", "mkdir new", "touch 'q/a b'", "cp l.shadow q", "ln -s ../other/shadow q/new.txt", "mv q q2", "IFS=/", "IFS=x", "f=a.txt", "n=3", "rm -f q/*", "cd nosuch") + g.pick(" && ", "; ", "\n") + one()
	}
	return g.some(1, 2, g.pick("; ", " && ", "\n"), one)
}

// formPattern returns a pattern of which files of a tree have the names.
func (g *grammar) formPattern() string {
	return g.pick("*", "*.txt", "?*", "./*", "src/*", "q/*", "q/*.txt", "q/?.txt", "nosuch/*", "docs/*", "d/*", "l.*", "q/l*", "-*", "?rf", "*/", "*/*", "*/a.txt", "src/*.go", "e/*", "q/.*", "q/-*", "l.dir/*", "l.out/*", "\"$PWD\"/*", "~/*", "../*", "../other/*", "'q'/*", "q/'a'*", "*.pem", "k/*", "k/*.txt", "?", "q//*", "src/../q/*", "+*", "[a]*", "w/*", "w/*.txt", "x/*")
}

// patternLoop returns a loop over patterns, which may hold other loops.
func (g *grammar) patternLoop(depth int) string {
	name := g.pick("f", "f", "f", "f", "g", "file")
	var out strings.Builder
	out.WriteString("for " + name + " in " + g.some(1, 2, " ", func() string {
		if g.chance(15) {
			return g.pick("a.txt", "nosuch", "-n", "\"$f\"", "$f", "src")
		}
		return g.formPattern()
	}) + "; do ")
	out.WriteString(g.some(1, 2, g.pick("; ", " && ", " || "), func() string {
		if depth > 0 && g.chance(12) {
			return g.patternLoop(depth - 1)
		}
		return g.onName(name)
	}))
	out.WriteString("; done")
	if g.chance(12) {
		out.WriteString(g.pick("; cat \"$"+name+"\"", "; wc -l $"+name, " | sort", " > out.txt", "; ls -d \"$"+name+"\"", " | xargs cat"))
	}
	return out.String()
}

// onName returns a command that uses a loop's variable.
func (g *grammar) onName(name string) string {
	v := g.pick(`"$`+name+`"`, `"$`+name+`"`, `"$`+name+`"`, `"${`+name+`}"`, "$"+name, "${"+name+"}")
	switch g.of(20, 4, 4, 3, 3, 2) {
	case 0:
		return g.pick("cat ", "cat -- ", "wc -l ", "head -1 ", "tail -n 2 ", "grep a ", "grep -c a ", "grep -q a ", "grep -rl a ", "grep -n -e a -- ", "sed -n 1p ", "ls -l ", "ls -d ", "ls ", "file ", "stat ", "sort ", "md5sum ", "du -s ", "cmp a.txt ", "diff a.txt ", "uniq ", "nl ", "cut -c1 ", "awk 1 ", "jq . ", "test -f ", "rg a ", "find ", "basename ", "dirname ", "readlink -f ", "echo ", "printf '%s\\n' ", "git log --oneline -- ", "git diff -- ", "git show ", "git log ", "od -c ", "tac ", "sha256sum ", "comm a.txt ", "join a.txt ", "strings ", "tree ", "wc --files0-from=", "grep -f ", "grep ", "grep -e ", "sed ", "realpath ", "head -n ", "tail ", "type ", "command cat ", "env cat ", "timeout 5 cat ", "nice cat ", "xxd ", "base64 ", "column ") + v
	case 1:
		return g.pick("[ -f ", "[ -d ", "[ -L ", "[ -s ", "[ ") + v + g.pick(" ]", " ] && cat ", " ] || cat ", " ] && continue; wc -l ", " -nt a.txt ] && cat ", " = a ] && cat ", " -eq 1 ] || cat ") + g.pick(v, v, "a.txt")
	case 2:
		return g.pick("cat ", "wc -l ", "head -1 ") + g.pick(`"$`+name+`.txt"`, `"$`+name+`"/a.txt`, `"./$`+name+`"`, `"../$`+name+`"`, `"$`+name+`" "$`+name+`"`, `"${`+name+`%.txt}"`, `a.txt "$`+name+`"`, `"q/$`+name+`"`, `x"$`+name+`"`, "< "+`"$`+name+`"`)
	case 3:
		return g.pick(name+"=a.txt; cat ", "read -r "+name+"; cat ", name+"=/etc/passwd; cat ", "g="+v+"; cat \"$g\" ", "cd src; cat ", "cd q && cat ", "(cd q; cat ", "touch new; cat ", "ln -sf ../other/shadow q/1.txt; cat ", "cp l.shadow q/1.txt; cat ", "break; cat ", "mv q k; cat ", "rm q/1.txt; cat ", "cd "+v+" && ls ", "sh -c 'cat \"$1\"' _ ", "sh ", "sh -c ", ". ", "env ", "export "+name+"; cat ", "IFS=/; cat ", "set -- ", "exit ", "wait ", "kill -0 ")
	case 4:
		return g.pick("cp "+v+" d", "mv "+v+" d", "rm "+v, "rm -f -- "+v, "touch "+v, "ln -s "+v+" new", "sed -i s/a/b/ "+v, "mkdir -p "+v, "echo x > "+v, "tee "+v, "gzip -k "+v, "cat > out.txt "+v, "sort -o "+v+" a.txt", "chmod 644 "+v)
	default:
		return g.pick("echo \"== $"+name+"\"", "cat "+v+" | sort | head -1", "cat "+v+" &", "echo "+v+" | xargs cat", "cat \"$(echo "+v+")\"", "find "+v+" -type f", "grep -l a "+v+" | xargs cat", "while read -r l; do echo \"$l\"; done < "+v)
	}
}

// calculated returns commands with words that are calculated.
func (g *grammar) calculated() string {
	number := func() string {
		return g.pick("0", "1", "2", "3", "10", "-1", "007", "08", "0x1f", "999999", "9999999999", "2147483647", "99999999999999999999", "''", "x", "m", "1+1", "'a[$(touch pwned)]'", "\"$m\"", "+3", "' 3'", "1e3", "-2")
	}
	operand := func() string {
		return g.pick("n", "m", "n", "$n", "${n}", "1", "2", "3", "10", "(n-1)", "(1 + n)", "-n", "- -1", "08", "k", "x", "(m * 2)", "100000", "n--", "++n", "a", "$m")
	}
	sum := func() string {
		return "$((" + g.pick("", " ") + operand() + g.some(0, 2, "", func() string {
			return g.pick("+", "-", "*", " + ", " - ", " * ", " / ", "%", "**", "<<", " == ", "=", ",") + operand()
		}) + g.pick("", " ") + "))"
	}
	set := func() string { return g.pick("n=", "n=", "m=", "k=") + number() }
	command := func() string {
		s := sum()
		return g.pick("sed -n \""+s+",${n}p\" a.txt", "sed -n "+s+"p a.txt", "head -n "+s+" a.txt", "head -n \""+s+"\" b.txt", "tail -n +"+s+" a.txt", "tail -n \"+"+s+"\" a.txt", "cut -c"+s+" a.txt", "echo "+s, "cat a"+s+".txt", "head -"+s+" a.txt", "seq "+s, "cat "+s, "sed -n \"${n}p;"+s+"p\" a.txt", "cat \"w/"+s+".txt\"", "sed -n \"$n,"+s+"p\" a.txt", "cat -- w/"+s+".txt", "head "+s+" a.txt", "n="+s+"; head -n \"$n\" a.txt", "tail "+s, "grep -m"+s+" a a.txt", "awk \"NR=="+s+"\" a.txt")
	}
	return g.some(0, 3, "; ", set) + g.pick("; ", "; ", "\n", " && ") + g.pick("", "", "", "read -r n < a.txt; ", "for n in 1 2 3; do "+command()+"; done; ", "export n; ", "if [ -f a.txt ]; then n=2; fi; ", "m=\"$n\"; ", "IFS=1; ", "unset n; ", "n=$(echo 2); ") + command()
}

// processes returns a command with process substitutions.
func (g *grammar) processes() string {
	inside := func() string {
		return g.pick("git show HEAD:a.txt", "cat a.txt", "sort a.txt", "sort b.txt | uniq", "ls", "ls src", "cat l.shadow", "grep a a.txt", "git show HEAD:nosuch", "head -1 b.txt", "sed 1d a.txt", "find . -name '*.txt' | sort", "cat .env", "touch new", "echo a", "printf 'a.txt\\n'", "cat \"$f\"", "cd src && ls", "cat < a.txt", "cat", "rm a.txt", "cat q/*", "git diff", "tee new < a.txt", "sh "+hostile, "true", "cat <(cat a.txt)")
	}
	sub := func() string {
		return g.pick("<(", "<(", "<(", "<( ", ">(", "=(") + inside() + g.pick(")", ")", ")", " )")
	}
	f := func() string { return g.pick("a.txt", "b.txt", "src/a.txt", "l.file", "-", sub(), sub(), "\"$f\"") }
	return g.pick("", "", "", "", "cd src && ", "f=a.txt; ", "true || ", "! ") + g.pick("diff ", "diff -u ", "diff -r ", "cmp ", "comm -12 ", "cat ", "wc -l ", "sort ", "grep -f ", "grep a ", "paste ", "head -1 ", "join ", "sed -n p ", "sed -f ", "awk -f ", "sh ", "bash ", "source ", ". ", "sort -o ", "tee ", "cp ", "mv ", "rm ", "git diff --no-index ", "while read -r l; do echo \"$l\"; done < ", "ls -l ", "stat ", "xargs cat < ", "find ", "echo ", "diff --from-file=", "diff -N ", "diff -- ", "touch ", "md5sum -c ", "jq . ", "cat x", "tar tf ", "file ", "file -f ", "realpath ", "cat < ", "readlink ") + sub() + g.pick("", " ", " ") + g.pick("", f(), f()) + g.pick("", "", "", " | head -3", " > out.txt", " && cat a.txt", "; ls", " &")
}

// appended returns a pipeline into xargs.
func (g *grammar) appended() string {
	words := func() string {
		return g.some(1, 3, g.pick(" ", "\\n", "\\n", "\\n", "  ", "\\t"), func() string {
			return g.pick("a.txt", "b.txt", "src/a.txt", "src", "nosuch", "-n", "-rf", "-f.env", "--help", "x y", "\"x y\"", "x\\\\ y", "l.shadow", "l.out/shadow", ".env", "*.txt", "$HOME", "../other/shadow", "/etc/passwd", "+1", "{}", "_", "q/1.txt", "%s", "a\\0b", "\\\\", "a.txt\\", "$f", "l.file", "d")
		})
	}
	quoted := func() string { return g.pick("'", "\"", "'") }
	var from string
	switch g.of(6, 4, 5, 4, 2) {
	case 0:
		q := quoted()
		from = "printf " + q + words() + g.pick("\\n", "\\n", "") + q + g.pick("", "", "", "", " a b")
	case 1:
		from = "echo " + g.pick("", "", "-n ", "-e ") + g.pick(strings.ReplaceAll(strings.ReplaceAll(words(), "\\n", " "), "\\t", " "), "'"+words()+"'", "\"$f\"", "*.txt")
	case 2:
		from = "find " + g.pick(".", "src", "q", "./src", "docs", "d", "*", "..", "w", "k", "-L .", "src docs", "l.dir", "", "\"$PWD\"", "x") + " " + g.pick("-name '*.txt'", "-type f", "-type f -name '*.txt'", "-name '*.go'", "", "-maxdepth 1 -type f", "-type d", "-type l", "-iname '*.TXT'", "-name a.txt", "-type f -name '*.go' -o -name '*.txt'", "-name '*.txt' -not -path './w/*'", "-name .env", "-type f -name 'a*'", "-printf '%f\\n'", "-type f -name '*.txt' -ls", "-name '*.txt' -delete", "-exec basename {} +") + g.pick("", "", "", " -print0", " -print")
	case 3:
		from = "git " + g.pick("", "", "", "-C src ", "-C . ") + "ls-files" + g.pick("", "", " -z", " '*.txt'", " src", " -o", " -m", " -c", " -- src", " '*.go'", " -s", " -d", " --others --exclude-standard", " --full-name", " -v")
	default:
		from = g.pick("cat list", "ls", "grep -rl a .", "rg -l a", "rg --files", "cat list0", "ls q", "git diff --name-only", "git grep -l a", "sort list", "tr ' ' '\\n' < list")
	}
	if g.chance(12) {
		from += " | " + g.pick("head -2", "sort", "grep txt", "grep -v x", "sed 's/^/q\\//'", "sed s/a/b/", "tr 'a' 'b'", "uniq", "cat", "rev", "tail -1", "head -n 3")
	}
	return from + " | xargs " + g.some(0, 2, "", func() string {
		return g.pick("", "", "", "-0 ", "-r ", "-n1 ", "-n 2 ", "-I{} ", "-I % ", "-d '\\n' ", "-L1 ", "-P2 ", "-t ", "-E x ", "-s 500 ", "-x ", "-0r ", "--null ", "--no-run-if-empty ", "-i ", "-a list ", "-- ")
	}) + g.pick("cat", "cat --", "wc -l", "wc -l --", "grep -l a", "grep -n a --", "grep -l -e a --", "grep", "grep -c", "head -1", "head -n 1 --", "ls -d", "ls -l --", "", "echo", "stat", "file", "sort", "sed -n p", "sed -n", "rm", "rm -f --", "cp -t d", "touch", "cat {}", "cat q/{}", "cat %", "sh", "sh -c", "env", "git log --", "git add", "find", "test -f", "md5sum", "diff a.txt", "uniq", "tail -n 1", "basename", "dirname", "awk 1", "jq .", "du -s", "sort -o", "printf '%s\\n'", "realpath", "rg a", "cd", "xargs cat", "git show", "[ -f", "cut -c1", "tee", "time cat", "nice cat", "env cat") + g.pick("", "", "", "", " a.txt", " | sort", " | head -1", " > out.txt", " 2>/dev/null", "; ls", " < a.txt", " && cat a.txt")
}
