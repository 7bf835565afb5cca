package plainshell

import (
	"math/rand/v2"
	"strings"
)

// generator makes shell texts, most of them plain. Their commands are harmless:
// every program is a stub of the tests.
type generator struct {
	*rand.Rand
	depth int
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

// text returns a list of one to three commands.
func (g *generator) text() string {
	var out strings.Builder
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			out.WriteString(g.pick("; ", "\n", " && ", " || ", " | ", ";\n", " &\n", " & ", "\n\n", " # c\n", " \\\n ; ", " &&\n", " |\n "))
		}
		out.WriteString(g.command())
	}
	out.WriteString(g.pick("", "", "\n", " ", ";", " &", " # end"))
	return out.String()
}

func (g *generator) command() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 || !g.chance(4) {
		return g.simple()
	}
	switch g.IntN(9) {
	case 0:
		return "( " + g.text() + "\n)" + g.redirect()
	case 1:
		return "{ " + g.text() + "\n}" + g.redirect()
	case 2:
		return "if " + g.simple() + g.pick("; then ", "\nthen\n") + g.text() + "\n" + g.pick("", "else "+g.text()+"\n", "elif "+g.simple()+"; then "+g.simple()+"\n") + "fi"
	case 3:
		return "for " + g.pick("i", "f", "x1") + " in " + g.word() + " " + g.word() + "; do " + g.simple() + "\ndone" + g.redirect()
	case 4:
		return g.pick("while false", "until true", "while p; false") + "; do " + g.text() + "\ndone"
	case 5:
		return "! " + g.simple()
	case 6:
		d := g.pick("E", "EOF", "E_1")
		body := g.pick("", "a\n", "it's \"\n", "$(q)`q`\\\n", "  "+d+"\n", "#\n", "${\n") + g.pick("", "b\n", "x"+d+"\n")
		return g.simple() + " <<" + g.pick("'"+d+"'", `"`+d+`"`, " '"+d+"'") + g.pick("", " > o1", " | p", "; q", " && r") + "\n" + body + d + "\n" + g.simple()
	case 7:
		return g.simple() + " <<E\n" + g.pick("", "a $x\n", "${x} '$HOME'\n", "\"$x\n", "# $x\n") + "E\n" + g.simple()
	}
	return `p "$(` + g.simple() + " <<'E'\n" + g.pick("", "it's\n", "a)\n", "\"(\n", "# '\n") + "E\n)\""
}

func (g *generator) simple() string {
	var out strings.Builder
	if g.chance(8) {
		out.WriteString(g.pick("x=1", "y=$x", "X_2='a b'", `z="$y"`, "A=", "w=$(q)", "v=a=b") + " ")
	}
	if g.chance(12) {
		out.WriteString(g.pick("cd d", "echo a", "printf '%s\\n' a", "[ -f d ]", "[ a = b ]", "test -n \"$x\"", "true", ":", "read -r v", "export q=1",
			"pwd", "set -e", "command -v p", `[ "$x" = '(' ]`, "[ ! -e d ]", "exit 0", "cd -"))
		return out.String() + g.redirect()
	}
	out.WriteString(g.pick("p", "q", "r", "p", "q", "r", `\p`, "'q'", `"r"`, "p-q"))
	for range g.IntN(4) {
		out.WriteString(g.pick(" ", " ", " ", "  ", "\t", " \\\n", " \\\n  ") + g.word())
	}
	return out.String() + g.redirect()
}

func (g *generator) redirect() string {
	if !g.chance(5) {
		return ""
	}
	return g.pick(" >o1", " > o2", " 2>/dev/null", " 2>&1", " >>o3", " </dev/null", " >&2", " 2> \"o$x\"", " 3>o4", " >o1 2>&1", " </dev/null >o1", " 2>&-")
}

func (g *generator) word() string {
	var out strings.Builder
	for range 1 + g.IntN(3) {
		out.WriteString(g.pick("a", "b1", "-x", "--y=z", "a.b", "/", ",", ":", "@", "%", "+", "{}", "@{u}", "a=b", "a~", "c^", "d#e", "*", "?", `\$`, `\ `, `\*`, `\"`, `\{`, `\=`,
			`\~`, "''", "'a b'", `'$(q)'`, `'\'`, `""`, `"a b"`, `"it's"`, `"a\b"`, `"\$x"`, `"a$"`, `"$ /"`, `"\\"`, `"a
b"`, "$x", "${x}", `"$x"`, `"${x}"`, `"${#x}"`, "${x:-a}", "${y+b:c}", `"${x%a*}"`, "${x##*/}", "$?", "$$", `"$?"`, "$(q a)", `"$(q 'b c')"`, `"$(p "$(r d)")"`,
			"$((1 + 2*3))", "`", "$", "!", "]", "=", "~", "^", "#", "}", "{", "[a]", "é", `"é"`, "'–'", "$'a'", "~/x", "!=", "$x:", "${x}:h", `"${x}[1]"`, `"$x"[1]`,
			"$x.", "$x/", "$x-", `"$x,"`, `"$x="`, "a,b", "{a,b}", "1", "2", "10"))
	}
	return out.String()
}

// mutate changes a text at one to three places.
func (g *generator) mutate(text string) string {
	b := []byte(text)
	for range 1 + g.IntN(3) {
		if len(b) == 0 {
			break
		}
		i := g.IntN(len(b))
		signs := g.pick("$", "`", "\\", "'", `"`, "(", ")", "{", "}", "<", ">", "|", "&", ";", "\n", " ", "#", "~", "=", "!", "[", "]", "*", "?", "^", "\t", "\\\n",
			"$(", "${", "<<", ">&", "&&", "p", "q", "1", "2", "a", ":", "-", "%", "+", "@", "EOF", "E", "if ", "do ", "done", "then", "fi", "in ", "case ", "esac", "x=", "\\c", "=p", "%p")
		switch g.IntN(4) {
		case 0:
			b = append(b[:i], b[min(len(b), i+1+g.IntN(3)):]...)
		case 1:
			b = append(b[:i], append([]byte(signs), b[min(len(b), i+1):]...)...)
		case 2:
			j := g.IntN(len(b))
			b[i], b[j] = b[j], b[i]
		default:
			b = append(b[:i], append([]byte(signs), b[i:]...)...)
		}
	}
	return string(b)
}
