//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes texts. With the same corpora, a seed and a number always make the
// same text.
type generator struct {
	seed   uint64
	corpus []string
	table  []described
	only   string // the only family to make, "" for all
}

// family is one way to make texts, and its share of all texts.
type family struct {
	name  string
	share int
	make  func(g *grammar) string
}

// The families. Plain ones have only what all shells read the same way, which permd
// may allow. The others have what permd must not take for that.
var families = []family{
	{"plain", 45, func(g *grammar) string { return g.list(g.of(4, 5, 1, 0)) }},
	{"plain-loops", 8, func(g *grammar) string { return g.moving() }},
	{"plain-heredoc", 5, func(g *grammar) string { return g.heredoc() }},
	{"plain-edited", 10, func(g *grammar) string { return g.edit(g.list(g.IntN(2))) }},
	{"splice", 10, func(g *grammar) string { return g.splice(g.list(g.IntN(2))) }},
	{"attack", 8, func(g *grammar) string { return g.attack() }},
	{"wrapper", 4, func(g *grammar) string { return g.wrapper(2) }},
	{"corpus", 10, func(g *grammar) string { return g.fromCorpus() }},
}

// Families of texts that start real programs, for strace.
var realFamilies = []family{
	{"programs", 20, func(g *grammar) string { return g.programs() }},
	{"shared", 30, func(g *grammar) string { return g.shared() }},
	{"copies", 15, func(g *grammar) string { return g.copies() }},
	{"forms", 15, func(g *grammar) string { return g.forms() }},
	{"options", 20, func(g *grammar) string { return g.some(1, 2, g.pick(" && ", "; ", " | ", "\n"), g.optioned) }},
}

// trial makes text number n. For strace, half of the texts start real programs with
// their own options and existing files.
func (gen *generator) trial(n uint64, strace bool) *trial {
	g := &grammar{Rand: rand.New(rand.NewPCG(gen.seed, n)), corpus: gen.corpus, table: gen.table}
	t := &trial{strace: strace}
	real := strace && g.chance(70)
	list := families
	if real {
		list = realFamilies
	}
	f := g.family(list)
	if at := slices.IndexFunc(families, func(f family) bool { return f.name == gen.only }); at >= 0 {
		f, real = &families[at], false
	} else if at := slices.IndexFunc(realFamilies, func(f family) bool { return f.name == gen.only }); at >= 0 {
		f, real = &realFamilies[at], true
	}
	t.family, t.text = f.name, f.make(g)
	t.text = strings.ToValidUTF8(t.text, "\ufffd") // as it is after JSON
	// Most texts are tried for an agent that may use any shell.
	t.agent = &agents[max(0, g.IntN(len(agents)+3)-3)]
	t.person = g.of(9, 1, 1, 1, 1)
	t.tree = g.of(6, 1, 2)
	if real && t.family != "programs" { // their words name files of this tree
		t.person, t.tree = g.of(4, 0, 1, 1, 6), g.of(2, 0, 1, 8)
	}
	if t.family == "forms" {
		t.tree = g.of(2, 1, 3, 3, 6)
	}
	return t
}

// grammar makes texts of one grammar. All of them end: no loop has a condition that
// stays true without a break.
type grammar struct {
	*rand.Rand
	corpus []string
	table  []described
	vars   []string // variables that the text has set
	inside int      // depth of substitutions
	level  int      // depth of lists
}

// family picks a family by its share.
func (g *grammar) family(list []family) *family {
	shares := make([]int, len(list))
	for i := range list {
		shares[i] = list[i].share
	}
	return &list[g.of(shares...)]
}

// of returns a random index, weighted by shares.
func (g *grammar) of(shares ...int) int {
	total := 0
	for _, s := range shares {
		total += s
	}
	at := g.IntN(total)
	for i, s := range shares {
		if at -= s; at < 0 {
			return i
		}
	}
	return 0
}

func (g *grammar) chance(percent int) bool { return g.IntN(100) < percent }

func (g *grammar) pick(list ...string) string { return list[g.IntN(len(list))] }

// some calls f between least and most times and joins what it returns.
func (g *grammar) some(least, most int, sep string, f func() string) string {
	var all []string
	for range least + g.IntN(most-least+1) {
		all = append(all, f())
	}
	return strings.Join(all, sep)
}

// list returns a list of commands that nests at most depth levels.
func (g *grammar) list(depth int) string {
	top := g.level == 0
	g.level++
	defer func() { g.level-- }()
	var out strings.Builder
	n := 1 + g.of(6, 4, 1)
	for i := range n {
		out.WriteString(g.andOr(depth))
		if i+1 < n && top && g.chance(3) {
			out.WriteString(" # a note, isn't it?\n")
		} else if i+1 < n {
			out.WriteString(g.pick("; ", ";", "\n", "\n\n", " ; ", " & ", "; ", "\n"))
		}
	}
	if top && g.chance(8) {
		out.WriteString(g.pick(";", "\n", " &", " # the end"))
	}
	return out.String()
}

func (g *grammar) andOr(depth int) string {
	out := g.pipeline(depth)
	for range g.of(6, 2, 1) {
		out += g.pick(" && ", " || ", "&&", " &&\n", " ||\n  ") + g.pipeline(depth)
	}
	return out
}

func (g *grammar) pipeline(depth int) string {
	out := g.command(depth)
	if g.chance(3) {
		out = "! " + out
	}
	for range g.of(8, 2, 1) {
		out += g.pick(" | ", "|", " |\n") + g.command(depth)
	}
	return out
}

func (g *grammar) command(depth int) string {
	if depth <= 0 || g.chance(72) {
		return g.simple()
	}
	redirect := ""
	if g.chance(15) {
		redirect = " " + g.redirection()
	}
	g.level++
	defer func() { g.level-- }()
	body := func() string { return g.list(depth - 1) }
	end := g.pick("; ", "\n")
	switch g.IntN(7) {
	case 0:
		return "(" + g.simple() + g.pick("", "; "+body()) + ")" + redirect
	case 1:
		return "{ " + g.simple() + end + body() + end + "}" + redirect
	case 2:
		return "if " + g.simple() + end + "then " + body() + end + g.pick("", "else "+body()+end, "elif "+g.simple()+end+"then "+body()+end) + "fi" + redirect
	case 3:
		return "while " + g.pick("no", "false", "[ -f nosuch ]", "cd d", "a") + end + "do " + body() + end + "break" + end + "done" + redirect
	case 4:
		return "until " + g.pick("a", "true", "cd src", g.simple()) + end + "do " + body() + end + "break" + end + "done" + redirect
	default:
		v := g.variable()
		words := g.some(0, 3, " ", g.word)
		g.vars = append(g.vars, v)
		return "for " + v + " in " + words + end + "do " + body() + end + "done" + redirect
	}
}

func (g *grammar) variable() string {
	return g.pick("x", "y", "f", "d", "name", "_v", "HOME", "n1", "PWD")
}

// simple returns a simple command.
func (g *grammar) simple() string {
	var out []string
	for range g.of(20, 2, 1) {
		v := g.pick("x", "y", "f", "name")
		g.vars = append(g.vars, v)
		out = append(out, v+"="+g.value())
	}
	if len(out) > 0 && g.chance(50) {
		return strings.Join(out, " ")
	}
	var name, words string
	switch g.of(60, 8, 8, 10, 6, 3, 3, 2) {
	case 0:
		name, words = g.pick("a", "b", "c", "d"), g.some(0, 3, " ", g.word)
	case 1:
		name, words = g.pick("say", "no", "rd"), g.some(0, 2, " ", g.word)
	case 2:
		name, words = g.pick("cat", "ls", "wc", "head", "grep x", "sort"), g.pick("a.txt", "src", "./*", "b.txt a.txt", "src/*", "", "-- *.txt", "'x y'", "docs/index.md", "$x", "\"$f\"", "README.md")
	case 3:
		name = g.pick("echo", "echo", "printf '%s\\n'", "true", ":", "false", "pwd")
		if name == "echo" || name[0] == 'p' && len(name) > 3 {
			words = g.some(0, 2, " ", g.word)
		}
	case 4:
		name, words = "cd", g.pick("src", "d", "docs", "./src", "src", "d", "docs", "nosuch", "..", "\"$x\"", "'x y'", "$x", "src/..", "-", "~", "/home/dev/project", "link", "out")
	case 5:
		name, words = g.pick("[", "test"), g.pick("-f a.txt", "-n \"$x\"", "a = b", "-d src", "1 -eq 1", "-z \"$y\"", "\"$x\" != y")
		if name == "[" {
			words += " ]"
		}
	case 6:
		name, words = "read -r", g.pick("x", "y", "x y", "PWD")
		g.vars = append(g.vars, "x", "y")
	case 7:
		name = g.pick("exit", "set -e", "export x=1", "unset x", "wait", "umask 022", "command a", "type a", "set -u", "break", "continue", "command -v a", "exit 1")
	}
	out = append(out, name)
	if words != "" {
		out = append(out, words)
	}
	if g.chance(14) {
		out = append(out, g.redirection())
	}
	return strings.Join(out, " ")
}

// redirection returns one redirection.
func (g *grammar) redirection() string {
	switch g.of(4, 4, 2, 4, 2) {
	case 0:
		return "> " + g.pick("out.txt", "\"new file\"", "/dev/null", "src/new", "'q'", "nosuch/x", "a.txt")
	case 1:
		return "< " + g.pick("a.txt", "b.txt", "src/main.go", "nosuch", "/dev/null", "'a.txt'", "\"$f\"")
	case 2:
		return g.pick(">>", "> ", ">") + g.pick("log", "./x.log", "d/log")
	case 3:
		return g.pick("2>&1", "2>/dev/null", ">&2", "2> err", "> /dev/null 2>&1", "<&-", "1>&2")
	default:
		return g.pick(">/dev/null", "</dev/null", ">x </dev/null", "2>>err")
	}
}

// word returns a word of a command.
func (g *grammar) word() string {
	switch g.of(40, 8, 12, 12, 9, 5, 6) {
	case 0:
		return g.literal()
	case 1:
		return g.pick("*", "*.txt", "src/*", "?.txt", "d/*", "./*", "a*", "*.nope", "*/a.txt")
	case 2:
		return "'" + g.some(0, 3, g.pick("", " "), g.inSingle) + "'"
	case 3:
		return `"` + g.some(0, 3, g.pick("", " "), g.inDouble) + `"`
	case 4:
		return g.expansion()
	case 5:
		return `\` + g.pick("$", "*", ";", " ", "a", "\\", "'", "\"", "(", "#", "~", "-", "&", "|", "<", "`", "!", "{") + g.pick("", "x", "y")
	default:
		return g.some(2, 3, "", g.piece)
	}
}

// piece returns a part of a word.
func (g *grammar) piece() string {
	switch g.of(6, 2, 2, 2) {
	case 0:
		return g.pick("a", "x", "b1", "src", ".", "/", "-", "_", "%", "+", ",", ":", "@")
	case 1:
		return "'" + g.inSingle() + "'"
	case 2:
		return `"` + g.inDouble() + `"`
	default:
		return g.expansion()
	}
}

func (g *grammar) literal() string {
	return g.pick(
		"a.txt", "b.txt", "src", "README.md", "x", "y", "foo", "-n", "-l", "--all", "./src", "docs/index.md", "../other", "a=b", "x^y", "HEAD^", "HEAD~1", "a#b",
		"%s", "@", "+x", ":", "{}", "@{u}", "--key=v", "-", "--", "1", "10", "2", "a,b", "~", "~/x", "x~", "a:b", "origin/main", "=", "!", "!=", "-rf", "then", "do",
		"in", "if", "..", "/", ".", "a/../b", "http://x.dev/a", "user@host", "x@y", "a%b", "a+b", "[", "]", "k=~/x", "a==b", "^x",
	)
}

func (g *grammar) inSingle() string {
	return g.pick("text", "two words", "$(touch pwned)", "`touch pwned`", "\"", "\\", "; touch pwned", "#", "\n", "$x", "a|b", "é", "!", "*", "~", "&& touch pwned", "{a,b}", "x\\")
}

func (g *grammar) inDouble() string {
	switch g.of(6, 3, 3) {
	case 0:
		return g.pick("text", "two words", "'", "; touch pwned", "#", "a|b", "é", "*", "~", "&& pwned", "x ", "$ ", "{a,b}", "<(touch pwned)", "(", ")", "\n")
	case 1:
		return g.pick(`\$x`, `\"`, `\\`, "\\`", `a\|b`, `\n`, `\*`, `\'`, `$.`, `\(`)
	default:
		return g.expansion()
	}
}

// expansion returns an expansion that all shells know.
func (g *grammar) expansion() string {
	v := g.pick("x", "y", "f", "HOME", "nosuch", "name")
	if len(g.vars) > 0 && g.chance(70) {
		v = g.vars[g.IntN(len(g.vars))]
	}
	switch g.of(8, 4, 3, 1, 2, 2, 1) {
	case 0:
		return "$" + v
	case 1:
		return "${" + v + "}"
	case 2:
		return "${" + v + g.pick(":-", "-", ":+", "+") + g.pick("w", "a.txt", "x/y", "", "two") + "}"
	case 3:
		return "${#" + v + "}"
	case 4:
		return "${" + v + g.pick("%.txt", "##*/", "%/*", "#a", "%%.*") + "}"
	case 5:
		if g.inside >= 2 {
			return "$?"
		}
		g.inside++
		defer func() { g.inside-- }()
		return "$(" + g.pick(g.simple(), "say x", "say a b", "pwd", "echo x", "cat a.txt", g.list(1)) + ")"
	default:
		return g.pick("$((1+2))", "$((2*3))", "$(( 1 + 2 ))", "$?")
	}
}

// value returns a value for a variable.
func (g *grammar) value() string {
	return g.pick("1", "a.txt", "src", "'two words'", "\"$y\"", "$x", "'*'", "-n", "", "\"a b\"", ".env", "~/x", "$(say v)", "${y:-src}", "'$(touch pwned)'", "nosuch")
}
