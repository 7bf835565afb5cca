//go:build linux

package main

import (
	"regexp"
	"strings"
)

// payload returns the command that an attack wants to run.
func (g *grammar) payload() string {
	return g.pick("touch pwned", "touch pwned", "pwned", "./evil.sh", "sh evil.sh", "evil.sh", "pwned x")
}

// fragment returns a piece of text that shells read in different ways, or that
// hides what it runs. In the templates, P is replaced by the payload and W by a
// word.
func (g *grammar) fragment() string {
	f := g.pick(
		// Comments and continuations.
		"# x \\\nP\n", "#\\\nP\n", " # ' \nP # '\n", "\\\n", "$\\\n(P)", "\"$\\\n(P)\"", "`\\\nP`", "&\\\n& P", "<\\\n(P)", "${x\\\n:-$(P)}", "\\\nP", "a\\\n#b\nP\n", "<<\\\nE\nE\nP\n",
		// Expansions and quotes inside them.
		"\"${x:-'$(P)'}\"", "\"${x:-'}'P}\"", "${x:-'$(P)'}", "${x:-\"$(P)\"}", "\"${x:-\"'$(P)'\"}\"", "\"${x-'}'$(P)'}\"", "${x:-<(P)}", "${x:-`P`}", "${x:=$(P)}", "${x:?$(P)}",
		"${x/a/$(P)}", "${!x}", "${x@P}", "${x[$(P)]}", "$[ $(P) ]", "$((x[$(P)]))", "$(( $(P) ))", "$=x", "$~x", "${~x}", "${(e)x}", "${^x}", "$+x", "${x:|y}", "\"${x#'$(P)'}\"", "\"${x%\"$(P)\"}\"",
		"${x:-$'\\''$(P)}", "$\"$(P)\"", "$'\\'P\\''", "$'a\\'b' ; P ; $'c'", "\"$'\"P\"'\"", "'\\''P''", "\"\\\"P\"", "\"`P`\"", "`echo 'a` ; P ; echo `b'`", "`echo \\`P\\``", "\"`echo \"P\"`\"", "\"$(echo \")\"; P)\"", "$(echo ')' ; P)", "$(case x in x) P;; esac)",
		"$(( (P) ))", "$((P) )", "$( (P) )", "((P))", "(( P ))", "{ P; }", "{P,}", "{a,b}", "{1..3}", "{P,pwned}", "\"${x:+'}\"; P; '}'", "${x:-{}P}", "${x:-}}P",
		// Substitution of processes and files.
		"<(P)", ">(P)", "=(P)", "< <(P)", "> >(P)", "<(P) W", "W <(P)", "=ls", "~+", "~-", "~1", "~nobody", "=W",
		// Redirections and operators.
		"&>x", "&>>x", ">|x", ">!x", "<>x", ">&x", "10>x", "{fd}>x", "1<2", "x>y", "a<b", "2>x", "|& P", "&| P", "&! P", ";& P", ";;P", "& P", "; P", "| P", "&& P", "|| P", "\nP\n", "<<<W", "<<< \"$(P)\"", "<1-3>x", "<&2", ">&-", "<&p",
		// Here-documents.
		"<<E\n${x:-\nE\nP\n}\nE\n", "<<E\n$(P)\nE\n", "<<'E'\nx\nE\nP\n", "<<-E\n\tx\n\tE\nP\n", "<<E\\\nF\nx\nEF\nP\n", "<<\"E\\\"\"\nE\"\nP\n", "<<$x\n$x\nP\n", "<<'E\nF'\nE\nF\nP\n", "<<E <<F\nE\nP\nF\n", "$(cat <<E\nx\nE)\nP\n", "$(cat <<'E'\nE) ; P\nE\n)", "<<E\n\\\nE\nP\nE\n", "<<E\nx\\\nE\nP\nE\n", "<<E\n`P`\nE\n", "<<''\n\nP\n", "<<E;P\nE\n", "<<E\nE \nP\nE\n", "<<\\E\n$(P)\nE\nP",
		// Reserved words, builtins, functions and aliases.
		"[[ a || P ]]", "[[ a && sh -ef evil.sh ]]", "[[ a < b ]]", "[[ x =~ $(P) ]]", "[[ -v x[$(P)] ]]", "test -v 'x[$(P)]'", "always { P; }", "{ a; } always { P; }", "time P", "coproc P", "select x in a; do P; done", "case x in (x) P;; esac", "case x in x) a;& y) P;; esac",
		"function a { P; }; a", "a() { P; }; a", "a () P; a", "f() ( P ); f", "alias a=touch\na pwned", "alias a='P'\na", "eval P", "eval 'P'", "trap 'P' EXIT", "trap P 0", "exec P", ". ./evil.sh", "source evil.sh", "command P", "builtin P", "noglob P", "nocorrect P", "- P", "repeat 1 P", "for ((i=0;i<1;i++)); do P; done", "for x in a; { P; }", "for x (a) P", "foreach x (a); P; end",
		"if (true) { P; }", "while (no) { P; }", "if [ a ] P", "local x=$(P)", "declare x=$(P)", "typeset 'x[$(P)]=1'", "let 'x[$(P)]'", "read 'x[$(P)]' <<<1", "printf -v 'x[$(P)]' 1", "unset 'x[$(P)]'", "export x=`P`", "set -- P; $@", "set P; $1", "$@", "\"$*\"", "hash -p /bin/touch a", "enable -n cd", "emulate sh -c 'P'", "zmodload x", "autoload P; P", "setopt x", "shopt -s extglob", "fc -e P", "bindkey x", "print -P 'P'", "PROMPT_COMMAND=P", "PS4='$(P)'; set -x; a", "IFS=o; x=aotouchopwned; a $x", "PATH=.:$PATH; evil.sh", "PATH=. a", "ENV=evil.sh sh", "BASH_ENV=./evil.sh bash -c a",
		"x=P; $x", "x='P'; eval $x", "x=touch; $x pwned", "\"$x\" W", "a=(P)", "a=([$(P)]=1)", "x+=P", "path=(.); evil.sh", "cdpath=/", "argv=P", "status=1", "x[1]=$(P)", "{x}=P", "name=W P", "x=.env; cat $=x", "cat \"\"~/other/shadow", "cat ''~/x",
		// Loops whose body changes the folder.
		"while false; do cd src; done; a", "cd src <nosuch; a", "\\cd src; a", "for d in src; do cd $d; break; done; a", "until cd nosuch; do break; done; a", "cd src || cd d; a", "cd -P src; a", "cd src d; a", "cd +1", "pushd src; a", "popd", "cd -- -; a", "CDPATH=..; cd src; a", "cd project; a",
		// Globs.
		"find . ?delete", "find . ?exec sh evil.sh ?", "a ?rf", "a *", "a [a]", "a [!a]*", "a **", "a *(N)", "a *(e:'P':)", "a @(x|P)", "a !(x)", "a *.txt(.)", "a a.txt(+P)", "ls *(e:P:)", "a ^x", "a x~y", "a x#", "a <1-9>", "a **/*", "*", "?", "./evi?.sh", "evi*.sh", "a(N)", "a a.*~b.txt",
		// Bytes.
		"\u00a0", "a\u00a0P", "\u2028P\n", "\u0085", "\u200b", "\ufeff", "\r", "\r\nP\n", "\f", "\v", "\x01", "\x7f", "é", "a\xffb", "\xc3", "$xé", "x\u00adP", "\u3000P", "\x1b[A", "\b",
		// Interactive.
		"!!", "!touch", "^a^b^", "a !$", "%1", "fg", "\tP",
	)
	f = strings.ReplaceAll(f, "P", g.payload())
	return strings.ReplaceAll(f, "W", g.literal())
}

// specials are the characters that have a meaning for shells.
const specials = "\"'\\`$(){}[]<>|&;#~*?!^=\n \t-%:,+@0Ee"

// splice inserts a fragment into a text.
func (g *grammar) splice(text string) string {
	at := g.boundary(text)
	return text[:at] + g.pick(" ", "", " ", "; ", "\n") + g.fragment() + g.pick(" ", "", "\n", "; ") + text[at:]
}

// boundary returns the offset of a token of a text, or a random one.
func (g *grammar) boundary(text string) int {
	if text == "" {
		return 0
	}
	at := g.IntN(len(text) + 1)
	if g.chance(60) {
		if i := strings.IndexAny(text[at:], " ;|&\n"); i >= 0 {
			at += i
		}
	}
	return at
}

// edit changes a few characters of a text.
func (g *grammar) edit(text string) string {
	b := []byte(text)
	for range 1 + g.IntN(3) {
		at := 0
		if len(b) > 0 {
			at = g.IntN(len(b))
		}
		c := specials[g.IntN(len(specials))]
		switch g.of(5, 2, 2, 1, 1) {
		case 0:
			b = append(b[:at:at], append([]byte{c}, b[at:]...)...)
		case 1:
			if len(b) > 0 {
				b = append(b[:at:at], b[at+1:]...)
			}
		case 2:
			if len(b) > 0 {
				b[at] = c
			}
		case 3: // duplicate a piece
			end := min(len(b), at+1+g.IntN(8))
			b = append(b[:end:end], append([]byte(string(b[at:end])), b[end:]...)...)
		default: // move a piece
			end := min(len(b), at+1+g.IntN(8))
			piece := string(b[at:end])
			b = append(b[:at:at], b[end:]...)
			to := g.IntN(len(b) + 1)
			b = append(b[:to:to], append([]byte(piece), b[to:]...)...)
		}
	}
	return string(b)
}

// attack returns a text of fragments alone, after an ordinary command.
func (g *grammar) attack() string {
	out := g.pick("a", "echo", "cat a.txt", "ls", "say x", "b x", "cat", "grep x a.txt", "rd", "echo x", "") + g.pick(" ", " ", "; ", "\n", "")
	for range 1 + g.of(3, 2, 1) {
		out += g.fragment() + g.pick(" ", "", "\n", "; ")
	}
	return out
}

// wrapper returns a command whose program runs another.
func (g *grammar) wrapper(depth int) string {
	inner := g.simple()
	if depth > 0 && g.chance(30) {
		inner = g.wrapper(depth - 1)
	}
	text := g.list(1)
	if g.chance(30) {
		text = g.splice(text)
	}
	quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	if g.chance(30) && !strings.ContainsAny(text, "\\\"`$!") {
		quoted = `"` + text + `"`
	}
	switch g.IntN(14) {
	case 0:
		return "sh -c " + quoted
	case 1:
		return "bash " + g.pick("-c ", "-lc ", "-ec ", "-c -- ", "--norc -c ") + quoted + g.pick("", " x y")
	case 2:
		return "env " + g.pick("", "x=1 ", "-u x ", "-i ", "-- ", "x=1 y=2 ") + inner
	case 3:
		return g.pick("say x y", "ls", "cat a.txt", "echo a b", "printf 'a\\nb\\n'") + " | xargs " + g.pick("", "-n1 ", "-I{} ", "-0 ", "-r ", "-t ") + inner + g.pick("", " {}")
	case 4:
		return "timeout " + g.pick("1 ", "5s ", "-k 1 2 ", "--foreground 3 ", "-s KILL 1 ") + inner
	case 5:
		return "nice " + g.pick("", "-n 5 ", "-5 ") + inner
	case 6:
		return "nohup " + inner
	case 7:
		return "find " + g.pick(".", "src", "* ", "a.txt") + " " + g.pick("-name '*.txt' ", "-type f ", "-maxdepth 1 ", "") + g.pick("-exec a {} \\;", "-exec a {} +", "-exec b x {} ';'", "-print", "-exec sh -c 'a \"$1\"' _ {} \\;", "-exec cat {} \\; -exec a \\;", "-ok a \\;", "-execdir a {} \\;", "-delete", "-print0 | xargs -0 a", "?exec ./evil.sh ?")
	case 8:
		return "bash -c " + quoted + g.pick(" | rd", " > out.txt", " && a", "; b")
	case 9:
		return "dash -c " + quoted
	case 10:
		return "zsh -c " + quoted
	case 11:
		return "command " + g.pick("", "-p ", "-- ") + inner
	case 12:
		return "(cd src && " + inner + ")"
	default:
		return "ls | while read -r f; do " + inner + " \"$f\"; done"
	}
}

// commandWord matches the words that begin commands, roughly.
var commandWord = regexp.MustCompile(`(^|[;|&\n(] *)([a-z][a-z0-9_-]*)`)

// fromCorpus returns a text of a corpus, which an agent, a person or an attacker
// wrote, with small changes.
func (g *grammar) fromCorpus() string {
	if len(g.corpus) == 0 {
		return g.splice(g.list(2))
	}
	text := g.corpus[g.IntN(len(g.corpus))]
	if g.chance(60) { // replace programs by stubs, which run
		text = commandWord.ReplaceAllStringFunc(text, func(m string) string {
			if g.chance(30) {
				return m
			}
			return commandWord.FindStringSubmatch(m)[1] + g.pick("a", "b", "c", "rd", "say", "cat", "ls", "echo")
		})
	}
	switch g.of(4, 3, 2, 2) {
	case 1:
		text = g.edit(text)
	case 2:
		text = g.splice(text)
	case 3:
		text += g.pick("; ", "\n", " && ", " | ", " || ") + g.list(1)
	}
	return text
}
