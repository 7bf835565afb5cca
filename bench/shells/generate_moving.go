//go:build linux

package main

import "strings"

// moving returns a text that changes the folder and variables in ways that may not
// happen, and then runs commands that depend on them.
func (g *grammar) moving() string {
	move := func() string {
		return g.pick("cd src", "cd d", "cd nosuch", "cd ..", "x=b.txt", "x=src", "y=2", "cd \"$x\"", "read -r x < b.txt", "cd src <nosuch", "cd d > nosuch/x", "export x=9", "cd -", "cd", "unset x", "cd /home/dev", "cd docs", "a > ./-n", "echo x > -delete", "a > 'x *'",
			"CDPATH=src:.. cd d", "OLDPWD=/etc", "IFS=/", "cd src/../d", "x='*'", "mkdir ./-e", "cd -- src", "cd \"$PWD/src\"", "cd link", "cd out")
	}
	look := func() string {
		return g.pick("a $x", "b \"$x\"", "c $x $y", "a", "d", "cat $x", "pwd", "ls", "b \"$PWD\"", "rd < a.txt", "a *", "a \"$x\"/*", "b > out.txt", "d ${x:-none}", "cat *", "ls *", "find *", "cat ?n", "grep a *", "ls -- *", "cat a.txt", "cat ../a.txt", "wc -l ./*")
	}
	cond := func() string {
		return g.pick("true", "false", "no", "a", "[ -d src ]", "[ \"$x\" = src ]", "cd src", "x=5", "[ -f nosuch ]", "test -n \"$x\"")
	}
	wrap := func(m string) string {
		m2 := move()
		switch g.IntN(16) {
		case 0:
			return "while " + cond() + "; do " + m + "; " + g.pick("break", "continue 2>/dev/null; break", look()+"; break") + "; " + m2 + "; done"
		case 1:
			return "for f in " + g.pick("", "1", "1 2", "*.txt", "$x", "src d") + "; do " + m + "; " + g.pick("", look()+"; ", "break; ", "continue; ", "[ \"$f\" = 1 ] && continue; ", "no && break; ") + m2 + "; done"
		case 2:
			return "if " + cond() + "; then " + m + g.pick("; else "+m2, "") + "; fi"
		case 3:
			return "(" + m + ")"
		case 4:
			return "{ " + m + "; " + m2 + "; }"
		case 5:
			return "{ " + m + "; }" + g.pick(" <nosuch", " > nosuch/x", " > out.txt", " | rd", " 2>/dev/null")
		case 6:
			return cond() + " && " + m
		case 7:
			return cond() + " || " + m
		case 8:
			return g.pick("say x", "echo 1", "cat b.txt", "true") + " | " + m
		case 9:
			return m + " | " + g.pick("rd", "a", "true")
		case 10:
			return m + " &"
		case 11:
			return g.pick("! ", "") + m
		case 12:
			return "until " + cond() + "; do " + m + "; break; done"
		case 13:
			return "for x in " + g.pick("a.txt b.txt", "src d", "$x", "1", "") + "; do " + look() + "; done"
		case 14:
			return "if " + cond() + "; then if " + cond() + "; then " + m + "; fi; else " + m2 + "; fi"
		default:
			return g.pick("c\\d src", "\\cd d", "'cd' src", "\\read x", "\"cd\" ..", "command cd src", "c''d d", "builtin cd src", "\\export x=2", "'unset' x")
		}
	}
	var parts []string
	for range 1 + g.IntN(3) {
		m := move()
		if g.chance(80) {
			m = wrap(m)
		}
		parts = append(parts, m)
	}
	parts = append(parts, look())
	if g.chance(40) {
		parts = append(parts, look())
	}
	var out strings.Builder
	for i, p := range parts {
		if i > 0 {
			if strings.HasSuffix(out.String(), "&") {
				out.WriteString(" ")
			} else {
				out.WriteString(g.pick("; ", "; ", "\n", " && ", " || "))
			}
		}
		out.WriteString(p)
	}
	return out.String()
}

// heredoc returns a here-document in one of the forms that all shells know.
func (g *grammar) heredoc() string {
	name := g.pick("EOF", "E", "END", "X_1")
	open := g.pick("'"+name+"'", "'"+name+"'", `"`+name+`"`, name)
	body := g.some(0, 4, "\n", func() string {
		if open == name {
			return g.pick("text", "a $x b", "${y}", "'quoted'", "\"q\"", "; touch pwned", "#", "", "  x", "$")
		}
		return g.pick("text", "$(touch pwned)", "`touch pwned`", "\\", "x \\", "'", "\"", "; touch pwned", "${x:-", "#", "", "  EOF x", "$x", "touch pwned")
	})
	if body != "" {
		body += "\n"
	}
	command := g.pick("rd", "cat", "rd x", "a", "cat > out.txt", "rd 2>/dev/null", "x=1 rd", "(rd)", "{ rd; }", "while read -r l; do a \"$l\"; break; done", "wc -l", "head -1")
	doc := command + g.pick(" <<", " << ") + open + g.pick("", "", " | rd", " && a", "; b x", " || c", " > out.txt") + "\n" + body + name
	switch g.IntN(6) {
	case 0:
		return "a \"$(" + doc + "\n)\"" + g.pick("", " y")
	case 1:
		return g.simple() + "\n" + doc + "\n" + g.simple()
	case 2:
		return "if a; then\n" + doc + "\nfi"
	case 3:
		return "say x | " + doc + "\n" + g.simple()
	}
	return doc + g.pick("", "\n", "\n"+g.simple())
}
