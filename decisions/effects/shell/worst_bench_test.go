package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/internal/testload"
)

// worstTexts are shell texts of the greatest length, each made to give one part of
// permd as much work as possible.
func worstTexts() []struct{ name, text string } {
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part, (maxShellText-len(head)-len(tail))/len(part)) + tail
	}
	repeat := func(part string) string { return fill("", part, "") }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; ; i++ {
			part := strings.ReplaceAll(format, "#", fmt.Sprint(i))
			if b.Len()+len(part) > maxShellText {
				return b.String()
			}
			b.WriteString(part)
		}
	}
	nested := func(open, inner, end string, depth int) string {
		one := strings.Repeat(open, depth) + inner + strings.Repeat(end, depth) + "\n"
		return repeat(one)
	}
	return []struct{ name, text string }{
		{"commands", repeat("a;")},
		{"known commands", repeat("ls;")},
		{"ands", fill("a", "&&a", "")},
		{"pipes", fill("a", "|a", "")},
		{"background", repeat("a&")},
		{"background and links", repeat("cat a&ln -s b c;")},
		{"loops of links", repeat("while a;do cat x;ln -s b c;done;")},
		{"subshells", nested("(", "a", ")", 190)},
		{"subshells in the background", nested("(", "a&", ")", 190)},
		{"substitutions", nested("$(", "a", ")", 190)},
		{"substitutions in quotes", nested(`"$(`, "a", `)"`, 90)},
		{"process substitutions", nested("cat <(", "ln -s a b", ")", 190)},
		{"output substitutions", repeat("a >(b);")},
		{"blocks", nested("{ ", "a;", "};", 190)},
		{"functions in each other", nested("f(){ ", "a;", "};", 90)},
		{"functions", numbered("f#(){ a;};")},
		{"ifs", nested("if a;then ", "a", ";fi", 190)},
		{"loops", nested("while a;do ", "a", ";done", 190)},
		{"loops over words", nested("for x in a b;do ", "a $x", ";done", 190)},
		{"loops over many words", "for a in 1 2 3 4 5 6 7 8;do for b in 1 2 3 4 5 6 7 8;do for c in 1 2 3 4 5 6 7 8;do for d in 1 2 3 4 5 6 7 8;do " +
			strings.Repeat(":;", 16000) + "done;done;done;done"},
		{"loops over patterns", nested("for x in docs/*;do for y in docs/* 1;do ", `cat "$x" "$y";rm "$y"`, ";done;done", 6)},
		{"loops over lists in braces", nested("for x in {1..16};do for y in {a,b}{c,d};do ", "rm $x {e,f}$y", ";done;done", 3)},
		{"cases", fill("case x in ", "a) b;;", " esac")},
		{"here-documents", repeat("a<<E\nE\n")},
		{"here-documents of one command", "a " + strings.Repeat("<<E ", 5000) + "\n" + strings.Repeat("E\n", 5000)},
		{"here-strings", fill("a ", "<<<b ", "")},
		{"redirections", fill("a ", ">b ", "")},
		{"assignments", repeat("A=b ")},
		{"assignments alone", repeat("A=b;")},
		{"harmless assignments", strings.Repeat("TZ=b ", 6000) + "ls"},
		{"words", fill("ls ", "a/b ", "")},
		{"words of a copy", fill("cp -r ", "a/b ", "")},
		{"words to delete", fill("rm -rf ", "a/b ", "")},
		{"words to link", fill("ln -s ", "a/b ", "")},
		{"words of an unlisted program", fill("frob ", "a/b ", "")},
		{"words of find", fill("find ", "a/b ", "")},
		{"options", fill("ls ", "-l ", "")},
		{"one bundle", "ls -" + strings.Repeat("l", maxShellText-10)},
		{"unknown options", fill("git log ", "--x ", "")},
		{"abbreviated options", fill("grep ", "--c ", "")},
		{"wrappers", strings.Repeat("timeout 1 ", 3000) + "ls"},
		{"shells in shells", nestedShell(7)},
		{"find with many commands", fill("find a ", "-exec b {} + ", "")},
		{"braces", repeat("{a,b}")},
		{"brace words", repeat("{a,b}{c,d}{e,f} ")},
		{"brace of many", "cat {" + strings.Repeat("a,", 16000) + "a}"},
		{"braces of numbers", repeat("cat {1..9999999};")},
		{"globs", fill("cat ", "*?[a] ", "")},
		{"one glob", "cat " + strings.Repeat("*a", 16000)},
		{"globs of links", repeat("cat docs/*.md;")},
		{"long word", strings.Repeat("a", maxShellText)},
		{"long path", "cat " + strings.Repeat("a/", 16000)},
		{"paths that go up", fill("cat ", "../a ", "")},
		{"quotes", strings.Repeat(`"a"'b'`, 5400)},
		{"escapes", strings.Repeat(`\a`, 16000)},
		{"dollar quotes", repeat(`$'\x41'`)},
		{"variables", fill("cat ", "$x", "")},
		{"expansions in expansions", nested("${x:-", "a", "}", 190)},
		{"arithmetic", nested("$((", "1", "))", 90)},
		{"sums", "echo $((1" + strings.Repeat("+1", 16000) + "))"},
		{"tests", "[[ a" + strings.Repeat(" && a", 6000) + " ]]"},
		{"words of test", fill("test ", "a = b -a ", "")},
		{"folders", numbered("cd d#;")},
		{"folders and back", repeat("cd src;cd ..;")},
		{"folders and reads", repeat("cd src&&cat a;")},
		{"removed folders", repeat("rm -r a;cd src;")},
		{"pushes", repeat("pushd src;")},
		{"links", numbered("ln -s a# b#;")},
		{"links and reads", numbered("ln -s a b#;cat b#/c;")},
		{"moves", numbered("mv a# b#;")},
		{"new folders", numbered("mkdir -p a#/b/c;")},
		{"deep new folders", "mkdir -p " + numbered("a#/")[:maxShellText-10]},
		{"writes and git", numbered("echo >a#;git diff;")},
		{"writes and scripts", numbered("echo >a#;./run.sh;")},
		{"extraction", repeat("tar xf a;cat b;")},
		{"checkouts", repeat("git checkout a;cat b;")},
		{"addresses", fill("curl ", "https://a.b/c ", "")},
		{"one address", "curl https://" + strings.Repeat("a.", 16000)},
		{"names in Unicode", fill("curl ", "https://ü.ö/ ", "")},
		{"paths in Unicode", fill("cat ", "ü/Ö ", "")},
		{"sed", "sed '" + strings.Repeat("s/a/b/;", 4600) + "'"},
		{"awk", "awk '" + strings.Repeat("{x}", 10000) + "'"},
		{"secrets", repeat("-u a:b ")},
		{"secrets of options", fill("frob ", "--token a ", "")},
		{"secrets in quotes", "frob " + strings.Repeat(`password=\"`, 2900)},
		{"exports", repeat("export A=b;")},
		{"evals", repeat("eval a;")},
		{"comments", repeat("# a\n")},
		{"empty lines", strings.Repeat("\n", maxShellText)},
		{"backquotes", strings.Repeat("`a`", 10000)},
		{"xargs", repeat("a|xargs -n1 b;")},
		{"repositories", repeat("cd src;git log;cd ..;")},
	}
}

func worstFiles() *fsfake.FS {
	fs := effectstest.Files()
	for i := range 200 {
		fs.Link(fmt.Sprintf("%s/docs/%d.md", effectstest.Cwd, i), "../src/main.go")
	}
	return fs
}

// BenchmarkWorst measures the slowest known commands. The budget is 50 ms for each;
// beyond its bounds, permd asks.
func BenchmarkWorst(b *testing.B) {
	table, files := effectstest.Table(b), worstFiles()
	for _, worst := range worstTexts() {
		b.Run(strings.ReplaceAll(worst.name, " ", "-"), func(b *testing.B) {
			if len(worst.text) > maxShellText {
				b.Fatalf("%d bytes are not looked at", len(worst.text))
			}
			b.ReportAllocs()
			effects := 0
			for b.Loop() {
				builder := shellBuilder(table, files)
				Text(builder, worst.text, effectstest.Cwd, "command")
				builder.After()
				ReadRest(builder, nil)
				effects = len(builder.Effects)
			}
			b.ReportMetric(float64(effects), "effects")
		})
	}
}

// TestWorstIsBounded has the same texts: the number and the size of their effects
// are bounded.
func TestWorstIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reads the largest texts that the bounds allow")
	}
	t.Parallel()
	table, files := effectstest.Table(t), worstFiles()
	for _, worst := range testload.Sample(t, len(worstTexts())/3, worstTexts()) {
		builder := shellBuilder(table, files)
		Text(builder, worst.text, effectstest.Cwd, "command")
		checkEffects(t, builder)
		if builder.Statements > maxStatements+1 {
			t.Errorf("%s: %d commands are followed", worst.name, builder.Statements)
		}
		rest := ReadRest(builder, nil)
		if n := len(rest); n > runs.MaxRest+maxRestMore {
			t.Errorf("%s: %d effects of the rest", worst.name, n)
		}
		for i := range rest {
			if rest[i].Kind == effects.KindUnknown || rest[i].Via != nil {
				t.Fatalf("%s: the rest holds %+v", worst.name, rest[i])
			}
		}
		size := 0
		for i := range builder.Effects {
			e := &builder.Effects[i]
			size += len(e.Text)
			if e.Run != nil {
				for _, a := range e.Run.Args {
					size += len(a)
				}
			}
		}
		if n := len(builder.Effects); n > 2*MaxEffects || size > 64*maxShellText {
			t.Errorf("%s: %d effects of %d bytes", worst.name, n, size)
		}
	}
}

// TestBracesAreBounded has many words that each become a few.
func TestBracesAreBounded(t *testing.T) {
	builder := shellBuilder(effectstest.Table(t), effectstest.Files())
	Text(builder, "echo "+strings.Repeat("{a,b}{c,d}{e,f} ", 2000), effectstest.Cwd, "command")
	known := 0
	for _, a := range builder.Effects[0].Run.Args {
		if a != effects.DynamicWord {
			known++
		}
	}
	if known == 0 || known > maxAllBraces+maxBraceWords {
		t.Errorf("%d words out of braces", known)
	}
}

// TestBracesInLoops: a body with words in braces is read at each iteration.
func TestBracesInLoops(t *testing.T) {
	builder := shellBuilder(effectstest.Table(t), effectstest.Files())
	Text(builder, "for x in 1 2; do for y in {3,4}; do rm {a,b}$x$y; done; done", effectstest.Cwd, "command")
	var got []string
	for i := range builder.Effects {
		if e := &builder.Effects[i]; e.Kind == effects.KindRun {
			got = append(got, strings.Join(e.Run.Args, " "))
		}
	}
	if want := "a13 b13, a14 b14, a23 b23, a24 b24"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// TestPatternsInLoopsAreBounded: nested loops over patterns read no folder beyond the bound of
// names.
func TestPatternsInLoopsAreBounded(t *testing.T) {
	builder := shellBuilder(effectstest.Table(t), worstFiles())
	Text(builder, "for x in docs/*;do for y in 1 2;do "+strings.Repeat(`cat "$x" docs/*;`, 40)+"done;done", effectstest.Cwd, "command")
	if n := builder.Paths.Matched; n <= paths.MaxMatched || n > paths.MaxMatched+1024 {
		t.Errorf("%d names were compared with patterns", n)
	}
	if !slices.ContainsFunc(builder.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown }) {
		t.Error("all of it is understood")
	}
}
