package plainshell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPlain has texts that agents write, which must stay plain.
func TestPlain(t *testing.T) {
	for _, text := range []string{
		"", "# nothing", "ls", "ls -la src | head -20", "cd src && go test ./... 2>&1 | tail -5",
		"curl -s \\\n  -H 'Accept: application/json' \\\n  https://api.example.com/x", "git add -A && \\\ngit commit -m 'x'",
		"cat <<'EOF' > file\nit's $(anything) `at` all\nEOF", "cat > f <<\"EOF\"\n${x\nEOF\nls",
		"cat <<EOF\nhome is $HOME and ${USER}\nEOF",
		"git commit -m \"$(cat <<'EOF'\nA title\n\nIt's a body (with parentheses) and \"quotes\".\nEOF\n)\"",
		`for f in a b c; do wc -l "$f"; done`, "for f in *.go\ndo\n  wc -l $f\ndone", `while IFS= read -r line; do echo "$line"; done < a.txt`,
		"if [ -f a ]; then cat a; elif test -d b; then ls b; else echo no; fi", "(cd src && ls)", "{ ls; pwd; } > out",
		`grep -rn "a\|b" --include=*.go .`, `grep -E '^(a|b)$' x`, "find . -name '*.go' -exec wc -l {} +", "git log HEAD@{1}..main", "git show HEAD^ HEAD~2",
		`echo "$x" "${y:-none}" "$(date)" $((1 + 2))`, "export FOO=bar; env", "set -euo pipefail", "a=1; b=$a; echo $b", "! grep -q x y", "sleep 5 & wait",
		"kill -9 123", "command -v go", "which go", "exit 1", "echo 'ä' \"→\" # ö", `echo "costs 5$"`, "ls 2>/dev/null >&2", "X=1 make -j4 all", "true && false || echo x",
		"[ \"$a\" = \"$b\" ] && ls", "read -r a b", `printf '%s\n' "$x"`, ". ./env.sh", "ls a#b a=b --x=y", "go test -run '^$' ./...", "ls &\nls",
	} {
		if _, refusal := Read(text, All); refusal != nil {
			t.Errorf("%q: %v", text, refusal)
		}
	}
	for _, text := range []string{
		"source venv/bin/activate", "ls &>/dev/null", "diff <(git show HEAD:a) a", "comm -12 <(sort a | uniq) <( sort b ) | head", "cat <(cat <(ls))", "time ls -l | wc", "pushd src && ls && popd",
	} {
		if _, refusal := Read(text, Bash|Zsh); refusal != nil {
			t.Errorf("%q in bash and zsh: %v", text, refusal)
		}
		if _, refusal := Read(text, All); refusal == nil {
			t.Errorf("%q in dash, too", text)
		}
	}
	for _, text := range []string{"cat < <(ls)", "cat <(ls)x", "cat x<(ls)", "cat <(ls)<(ls)", "cat <()", "cat <(ls", ">(ls) cat", "<(ls) cat", "tee >(cat)", "x=<(ls)", "for f in <(ls); do cat a; done", "cat \"a\"<(ls)", "cat 3<(ls)", "[ <(ls) ]"} {
		if _, refusal := Read(text, Bash|Zsh); refusal == nil {
			t.Errorf("%q is plain in bash and zsh", text)
		}
	}
}

// TestNotPlain has a text for each sentence of docs/shell.md about what is not
// plain, with the shell that reads it differently from others.
func TestNotPlain(t *testing.T) {
	for _, c := range []struct {
		text   string
		want   Construct
		differ string
	}{
		{"ls # x \\\ntouch pwned", Comment, "the parser goes on with the comment"},
		{"ls \\\n#x", Continuation, "zsh"}, {"ls a\\\nb", Continuation, "the parser"}, {"echo \"$\\\n(touch x)\"", Escape, "the parser"},
		{"ls &&\\\nls", Continuation, "the parser"}, {"cat <<E \\\n\nE", Continuation, "bash"}, {"\\\nls", Continuation, "the parser"},
		{"x=$(ls # )\n)", Comment, "bash 3.2"}, {"cat <<E # x\nE", Comment, "the parser"},
		{"a\rb", Character, "the parser"}, {"a\x01", Character, "all: nobody sees it"}, {"\xff", Character, "zsh"}, {"a\u200b", Character, "all: nobody sees it"},
		{"é", Character, "dash"}, {"ls;;", Operator, "zsh"}, {"ls |& wc", Operator, "dash"}, {"ls &> x", Operator, "dash"}, {"ls &| x", Operator, "zsh"}, {"ls &!", Operator, "zsh"},
		{"((x))", Parenthesis, "dash"}, {"ls | ", EmptyCommand, "none: an error"}, {"; ls", EmptyCommand, "zsh"}, {"ls 10>x", Redirection, "bash"}, {"ls {fd}>x", Brace, "dash"},
		{"ls a>x", Redirection, "zsh: a<1-3>"}, {"ls <1-3>x", Redirection, "zsh"}, {"ls <> x", Redirection, "none"}, {"ls >| x", Redirection, "none"}, {"ls >! x", Redirection, "zsh"},
		{"cat <<< x", HereDocument, "dash"}, {"cat <<-E\nE", HereDocument, "the parser"}, {"ls <&3", Redirection, "none"}, {"ls >&x", Redirection, "dash"},
		{"ls <(pwd)", Redirection, "dash"}, {"ls >(cat)", Redirection, "dash"}, {"ls > $x", Redirection, "bash"}, {"ls > *", Pattern, "bash"},
		{"ls > a > b", Redirected, "zsh"}, {"ls > a | wc", Redirected, "zsh"}, {"ls | wc < a", Redirected, "zsh"}, {"> a", EmptyCommand, "zsh"},
		{"cat \"\"~/x", Tilde, "zsh"}, {"ls =ls", Tilde, "zsh"}, {"x=~/a ls", Tilde, "zsh"}, {"ls a:~b", Tilde, "bash"}, {"^a^b", Tilde, "bash -i"}, {"ls ==", Tilde, "zsh"},
		{"ls **/x", Pattern, "zsh"}, {"ls a~b*", Pattern, "zsh"}, {"ls [a]", Bracket, "zsh"}, {"ls {a,b}", Brace, "dash"}, {"{ echo a } always { touch x; }", Brace, "zsh"},
		{"ls x}", Brace, "zsh"}, {"ls !x", Character, "bash -i"}, {"ls $'a'", Quote, "dash"}, {`ls $"a"`, Quote, "dash"}, {"ls `pwd`", Backquote, "the parser"},
		{"echo \"`pwd`\"", Backquote, "the parser"}, {"echo \"a\\\nb\"", Escape, "the parser"}, {`echo "$é"`, Dollar, "zsh"}, {"cat <<E; echo 'a\nb'\nE", HereDocument, "bash"},
		{"cat <<E \"$(ls)\"\nE", HereDocument, "bash"}, {"ls $x[1]", Parameter, "zsh"}, {"cat $x:h", Parameter, "zsh"}, {`cat "$x:s/a/b/"`, Parameter, "zsh"}, {`echo "$xé"`, Parameter, "zsh"},
		{"x=.env; cat $=x", Dollar, "zsh"}, {"cat $~x", Dollar, "zsh"}, {"cat $^x", Dollar, "zsh"}, {"cat $+x", Dollar, "zsh"}, {"ls $1", Parameter, "all: not known"}, {"ls $_", Parameter, "dash"},
		{"ls ${!x}", Parameter, "dash"}, {"ls ${x:=a}", Parameter, "none: it sets a variable"}, {"ls ${x/a/b}", Parameter, "dash"}, {"ls ${x[1]}", Parameter, "dash"},
		{"ls ${(e)x}", Parameter, "zsh"}, {`echo "${x:-'$(touch pwned)'}"`, Parameter, "the parser"}, {"echo ${x:-<(touch pwned)}", Parameter, "zsh"}, {"ls $[1]", Dollar, "dash"},
		{"ls $()", EmptyCommand, "the parser"}, {"ls $(a $(b $(c $(d $(e)))))", TooDeep, "none: a bound"}, {"ls $((x[1]))", Arithmetic, "bash"}, {"ls $((x++))", Arithmetic, "dash"}, {"ls $((1+x=2))", Arithmetic, "dash"}, {"ls $((${x:-1}))", Arithmetic, "none: a bound"}, {"ls $((1$x))", Arithmetic, "none: a bound"}, {"ls $((- -$x))", Arithmetic, "none: a bound"}, {"ls $(($1))", Arithmetic, "none: a bound"}, {"ls $((010))", Arithmetic, "zsh"},
		{"ls $((1 ** 2))", Arithmetic, "dash"}, {"X=1 export Y", Assignment, "dash"}, {"X=1 :", Assignment, "dash"}, {"x=1 > f", Assignment, "zsh"}, {"x+=1 ls", Tilde, "dash"},
		{"path=/tmp; ls", SpecialName, "zsh"}, {"for path in a; do ls; done", SpecialName, "zsh"}, {"read -r path", Builtin, "zsh"}, {"COLUMNS=a ls", SpecialName, "zsh"}, {"BASH_ENV=x ls", SpecialName, "bash"},
		{"IFS=x", SpecialName, "zsh"}, {"cat <<\\E\nE", HereDocument, "the parser"}, {"cat <<E'F'\nEF", HereDocument, "the parser"}, {"cat <<'E'\nEx\nE", HereDocument, "bash"},
		{"cat <<'E'\n\tE\nE", HereDocument, "bash"}, {"x $(cat <<'E'\nE)\nE\n)", HereDocument, "bash"}, {"cat <<E\n\\$x\nE", HereDocument, "the parser"}, {"cat <<E\n$(ls)\nE", HereDocument, "the parser"},
		{"cat <<E\n${x:-\nE\ntouch pwned\n}\nE", HereDocument, "bash"}, {"cat <<E", HereDocument, "the parser"}, {"case x in x) ls;; esac", ReservedWord, "none: not read"},
		{"f() { ls; }", Parenthesis, "zsh: two names"}, {"function f { ls; }", ReservedWord, "dash"}, {"time ls", ReservedWord, "dash"}, {"coproc ls", ReservedWord, "dash"}, {"[[ a ]]", ReservedWord, "dash"},
		{"select x in a; do ls; done", ReservedWord, "dash"}, {"a=(1 2)", Parenthesis, "dash"}, {"if { ls; } then pwd; fi", ReservedWord, "zsh"}, {"while (ls) do pwd; done", ReservedWord, "zsh"},
		{"if ls; then fi", ReservedWord, "zsh"}, {"(ls) ls", Operator, "zsh"}, {"for x; do ls; done", ReservedWord, "none"}, {"for x in a b; { ls; }", ReservedWord, "zsh"}, {"repeat 3 ls", ReservedWord, "zsh"},
		{"$x ls", FirstWord, "zsh"}, {"l* x", Pattern, "zsh"}, {"'' x", FirstWord, "none"}, {`\eval ls`, Builtin, "all: it runs text"}, {"'if' x", Builtin, "none"}, {"noglob ls", Builtin, "zsh"}, {"- ls", FirstWord, "zsh"},
		{"builtin cd x", Builtin, "dash"}, {"eval ls", Builtin, "all: it runs text"}, {"cd a b", Builtin, "zsh"}, {"cd +1", Builtin, "zsh"}, {"cd *", Builtin, "zsh"}, {"exit x", Builtin, "zsh"}, {"[ a -eq b ]", Builtin, "zsh"},
		{"test -v x", Builtin, "bash"}, {"[ $x ]", Builtin, "bash"}, {"[ a -a b ]", Builtin, "none: ambiguous"}, {"[ a == b ]", Tilde, "dash"}, {"set -o noglob", Builtin, "zsh"}, {"set -k", Builtin, "bash"},
		{"printf -v x a", Builtin, "bash"}, {"printf %d x", Builtin, "zsh"}, {"read x[1]", Bracket, "zsh"}, {"read -a x", Builtin, "bash"}, {"command -p ls", Builtin, "none"}, {"command eval ls", Builtin, "bash"},
		{"source x", Builtin, "dash"}, {". x", Builtin, "bash"}, {"wait -p x", Builtin, "bash"}, {"export x=$y", Builtin, "dash"}, {"umask x", Builtin, "zsh"}, {"log x", Builtin, "zsh"},
		{"echo `echo 'a` ; touch pwned ; echo `b'`", Backquote, "the parser"}, {"sh -c '[[ a ]]'; [[ a || bash -ef evil.sh ]]", ReservedWord, "dash"},
		{strings.Repeat("(", 17) + "ls" + strings.Repeat(")", 17), Parenthesis, "none"}, {strings.Repeat("( ", 17) + "ls" + strings.Repeat(")", 17), TooDeep, "none: a bound"},
		{strings.Repeat("a", maxText+1), TooLong, "none: a bound"},
	} {
		script, refusal := Read(c.text, All)
		if refusal == nil {
			t.Errorf("%q is plain, but differs in %s: %v", c.text, c.differ, script.Marks)
			continue
		}
		if refusal.Construct != c.want {
			t.Errorf("%q: %s, want %s: %v", c.text, refusal.Construct, c.want, refusal)
		}
		if refusal.Offset < 0 || refusal.Offset > len(c.text) || !slices.Contains(Constructs, refusal.Construct) || refusal.Detail == "" {
			t.Errorf("%q: bad refusal %+v", c.text, refusal)
		}
	}
}

// TestBounds: a text exactly at a bound is plain, and one above it is not.
func TestBounds(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("( ", maxNesting) + "ls" + strings.Repeat(")", maxNesting), "ls $(a $(b $(c $(d))))", strings.Repeat("a", maxText),
	} {
		if _, refusal := Read(text, All); refusal != nil {
			t.Errorf("%.40q: %v", text, refusal)
		}
	}
}

// TestShellsMatter: what is plain depends on the shells that may read the text.
func TestShellsMatter(t *testing.T) {
	for _, c := range []struct {
		text   string
		shells Shells
		plain  bool
	}{
		{"ls", 0, false}, {"ls", Interactive, false}, {"ls", Sh, true}, {"ls", Zsh, true},
		{"ls # x", Bash, true}, {"ls # x", Bash | Interactive, false}, {"ls\t-l", Bash | Interactive, false}, {"ls '!'", Bash | Interactive, false}, {"ls\n^x^y", Bash | Interactive, false},
		{"[ a == b ]", Bash, true}, {"[ a == b ]", Bash | Zsh, false}, {"log x", Bash | Sh, true}, {"noglob x", Bash | Sh, true}, {"[ \"$a\" -eq 1 ]", Bash | Sh, true}, {"[ \"$a\" -eq 1 ]", Bash | Zsh, false},
		{"x $(cat <<'E'\na\nE\n)", Zsh | Old, true}, {"x $(cat <<'E'\na\nE\n)", Bash | Old, false}, {"cat <<'E'\na\nE", All | Old, true},
	} {
		if _, refusal := Read(c.text, c.shells); (refusal == nil) != c.plain {
			t.Errorf("%q for %b: %v, want plain: %v", c.text, c.shells, refusal, c.plain)
		}
	}
}

// TestNames compares the lists of names with the shells that are installed.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, list string
		command    []string
	}{
		{"bash builtins", bashBuiltins, []string{"bash", "-c", "compgen -b"}},
		{"bash reserved words", bashReserved, []string{"bash", "-c", "compgen -k"}},
		{"zsh builtins", zshBuiltins, []string{"zsh", "-fc", "print -l -- ${(k)builtins}"}},
		{"zsh reserved words", zshReserved, []string{"zsh", "-fc", "print -l -- ${(k)reswords}"}},
		{"zsh parameters", zshParameters, []string{"zsh", "-fc", "zmodload zsh/parameter; print -l -- ${(k)parameters}"}},
		{"busybox builtins", busyboxBuiltins, []string{"busybox", "ash", "-c", "help"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command[0]); err != nil {
				t.Skipf("%s is not installed", c.command[0])
			}
			cmd := exec.CommandContext(t.Context(), c.command[0], c.command[1:]...)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if err != nil {
				t.Skipf("%s cannot say: %v", c.command[0], err)
			}
			list := strings.Fields(c.list)
			for _, name := range strings.Fields(string(out)) {
				known := slices.Contains(list, name)
				switch {
				case known, strings.HasPrefix(name, "---"), name == "Built-in", name == "commands:":
				case c.name == "zsh parameters" && !isName(name):
				default:
					t.Errorf("%s is not in the list", name)
				}
			}
		})
	}
}

// FuzzRead: reading ends, positions are within the text and nested, and each
// refused part is in the text.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"ls \"$(cat <<'E'\na\nE\n)\" &", "for x in a; do { ls; } > x; done", "if ! a; then b | c; fi # d", "x=${y%%*} z \\\n a"} {
		f.Add(text, uint8(All))
	}
	f.Fuzz(func(t *testing.T, text string, shells uint8) {
		script, refusal := Read(text, Shells(shells))
		if (script == nil) == (refusal == nil) {
			t.Fatal("neither or both")
		}
		if refusal != nil {
			if refusal.Offset < 0 || refusal.Offset > len(text) {
				t.Errorf("refused at %d", refusal.Offset)
			}
			return
		}
		for i, m := range script.Marks {
			if m.Start < 0 || m.End <= m.Start || int(m.End) > len(text) {
				t.Errorf("mark %+v of %d bytes", m, len(text))
			}
			if i > 0 && (m.Start < script.Marks[i-1].Start || m.Start == script.Marks[i-1].Start && m.End > script.Marks[i-1].End) {
				t.Errorf("mark %+v behind %+v", m, script.Marks[i-1])
			}
		}
		// A text that is plain for some shells is plain for fewer of them.
		for _, one := range []Shells{Bash, Zsh} {
			if Shells(shells)&one != 0 {
				if _, refusal := Read(text, Shells(shells)&^All|one); refusal != nil {
					t.Errorf("not plain for fewer shells: %v", refusal)
				}
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := "cd src && git commit -m \"$(cat <<'EOF'\nA title\n\nA body.\nEOF\n)\" 2>&1 | tail -20"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := Read(text, All); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
