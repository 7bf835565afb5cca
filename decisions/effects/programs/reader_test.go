package programs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

const readerPrograms = `
programs:
  - names: [gnu]
    abbreviations: true
    numeric: true
    options: {harmless: ["-c", "-i[=] --in-place[=]", "-n= --lines=", "--arg==", "-two==", "-version", "--long", "--lone=", "--glob="], changes: ["-f --force"]}
  - names: [stops]
    stop: true
    options: {harmless: ["-c", "-o="]}
  - names: [sub]
    options: {harmless: ["-C="]}
    sub:
      - {names: [run], aliases: {start: run}, options: {harmless: ["-v"]}}
      - {names: ["describe-*"]}
      - {names: [git], wrapper: {itself: true}}
  - names: [words]
    style: words
    options: {harmless: ["-race", "-run="]}
  - names: [tar]
    dashless: true
    options: {harmless: ["-x", "-v", "-z"], reads: ["-f="], lists: ["-C= --directory="]}
  - names: [tree]
    values_behind: true
    options: {harmless: ["-a", "-L=", "-P="]}
  - names: [cc]
    unbundled: true
    options: {harmless: ["-M", "-c", "-D=", "-std="], writes: ["-o="]}
  - names: [echo]
    text: true
  - names: [wrap]
    wrapper: {skip: 1}
    options: {harmless: ["-k="]}
  - names: [find]
    style: find
    options: {harmless: ["-name=", "-print", "-newerXY="], writes: ["-fprintf="], command: ["-exec="], deletes: ["-delete"]}
  - names: [dd]
    style: assign
    options: {reads: ["if="], harmless: ["sync"]}
`

// reading is how a reader reads words, each as in testWord.
func reading(table *Table, program string, words ...string) string {
	all := make([]effects.Word, len(words))
	for i, text := range words {
		all[i] = testWord(text)
	}
	kinds := map[ArgKind]string{
		ArgOperand: "operand", ArgNumber: "number", ArgDashes: "dashes", ArgCommand: "command", ArgText: "text", ArgUnknown: "unknown",
		ArgPattern: "pattern", ArgOperator: "operator", ArgLinks: "links", ArgSub: "sub", ArgExec: "exec", ArgOptions: "",
	}
	forms := map[OptionForm]string{
		NoValue: "", ValueAttached: "=", ValueSeparate: " ", ValueMissing: " missing", ValueUnexpected: " surplus", ValueFalse: " false",
	}
	var out []string
	for r := table.Program(program).Read(all); r.More(); {
		a := r.Next()
		text := kinds[a.Kind]
		if a.Fixed {
			text = "fixed " + text
		}
		switch {
		case a.Kind == ArgSub && a.Sub == nil:
			text += "?"
		case a.Kind == ArgSub:
			text += ":" + a.Name
		case a.Kind == ArgExec:
			text += fmt.Sprintf(":%d", a.End)
		}
		for use, ok := r.Option(); ok && a.Kind == ArgOptions; use, ok = r.Option() {
			switch {
			case use.Option == nil:
				text += "(?" + use.Name()
			case use.Abbreviated:
				text += "(~" + use.Canonical
			default:
				text += "(" + use.Canonical
			}
			switch text += forms[use.Form]; {
			case use.Open:
				text += "…"
			case use.Form == ValueAttached:
				text += use.Text
			case use.Form == ValueSeparate:
				text += fmt.Sprint(use.Value)
			}
			text += ")"
		}
		out = append(out, fmt.Sprintf("%d%s", a.Index, text))
	}
	return strings.Join(out, " ")
}

// testWord makes a word: $X is an unknown one, "p$X" an unknown single word that
// begins with p, and one with * a pattern.
func testWord(text string) effects.Word {
	prefix, _, unknown := strings.Cut(text, "$")
	switch {
	case unknown && prefix == "":
		return effects.Word{Text: effects.DynamicWord, Shown: text, Split: true}
	case unknown:
		return effects.Word{Text: effects.DynamicWord, Shown: text, Prefix: prefix}
	}
	return effects.Word{Text: text, Glob: strings.Contains(text, "*")}
}

func TestReader(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"t.yaml": []byte(readerPrograms)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ words, want string }{
		{"gnu a -c b", "0operand 1(-c) 2operand"},
		{"gnu -cf -n5 -n 6 -cn 7 -ci8 -i 9", "0(-c)(--force) 1(--lines=5) 2(--lines 3) 4(-c)(--lines 5) 6(-c)(--in-place=8) 7(--in-place) 8operand"},
		{"gnu --lines=5 --lines 6 --in-place --in-place=x", "0(--lines=5) 1(--lines 2) 3(--in-place) 4(--in-place=x)"},
		{"gnu --li 5 --lo y --x --lines", "0(~--lines 1) 2(~--lone 3)(~--long) 4(?--x) 5(--lines missing)"},
		{"gnu --arg a b --arg c", "0(--arg 2) 3(--arg missing) 4operand"},
		{"gnu --long=x --long=true --long=false --lon=false", "0(--long surplus) 1(--long) 2(--long false) 3(~--lone=false)(~--long surplus)"},
		{"gnu -version -20 -2x -cZf -n", "0(-version) 1number 2(?-2) 3(-c)(?-Z) 4(--lines missing)"},
		{"gnu - -c -- -c", "0operand 1(-c) 2dashes 3fixed operand"},
		{"gnu $X --lines=$X -$X p$X -- $X", "0unknown 1(--lines=…) 2unknown 3operand 4dashes 5fixed operand"},
		{"gnu *.md --glob=*.md --x=* docs/*", "0pattern 1(--glob=*.md) 2pattern 3operand"},
		{"stops -c a -c --", "0(-c) 1operand 2fixed operand 3fixed operand"},
		{"sub -C x start -v -C y run", "0(-C 1) 2sub:run 3(-v) 4(?-C) 5operand 6operand"},
		{"sub describe-all run", "0sub:describe-all 1operand"},
		{"sub other run", "0sub? 1operand"},
		{"sub git -v x", "0sub:git 1command 2command"},
		{"sub -- run", "0dashes 1fixed operand"},
		{"sub $X run", "0unknown 1sub:run"},
		{"sub p$X run", "0sub? 1operand"},
		{"words -race --race=false -run x --run=y -rac", "0(-race) 1(-race false) 2(-run 3) 4(-run=y) 5(?-rac)"},
		{"tar xzf a.tgz x", "0(-x)(-z)(-f 1) 2operand"},
		{"tar xfC a.tgz dir y", "0(-x)(-f 1)(--directory 2) 3operand"},
		{"tar xfC a.tgz", "0(-x)(-f 1)(--directory missing)"},
		{"tar -xfa.tgz b c", "0(-x)(-f=a.tgz) 1operand 2operand"},
		{"cc -MD .env -M -D x -DM -Mc -cofile -ofile -std=c99", "0(?-MD) 1operand 2(-M) 3(-D 4) 5(-D=M) 6(?-Mc) 7(?-cofile) 8(-o=file) 9(-std=c99)"},
		{"tree -La 2 -L3 -LP 1 x d", "0(-L 1)(-a) 2(-L=3) 3(-L 4)(-P 5) 6operand"},
		{"echo -n -- $X", "0text 1text 2text"},
		{"wrap -k 5 10 ls -k --", "0(-k 1) 2operand 3command 4command 5command"},
		{"find -L a b* -name x ( -print ) -exec ls {} ; -delete -nosuch -name", "0links 1operand 2operand 3(-name 4) 5operator 6(-print) 7operator 8exec:11 12(-delete) 13(?-nosuch) 14(-name missing)"},
		{"find * $X -fprintf f x -newerat y $X -exec ls {} +", "0pattern 1unknown 2(-fprintf 3) 5(-newerXY 6) 7unknown 8exec:11"},
		{"find -exec ls ;; -print", "0exec:-1"},
		{"dd if=a sync sync=1 if x=y $X", "0(if=a) 1(sync) 2(?sync) 3(?if) 4(?x) 5unknown"},
	} {
		words := strings.Fields(tt.words)
		if got := reading(table, words[0], words[1:]...); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.words, got, tt.want)
		}
	}
}

// TestReaderTakesPatterns checks that the caller, which knows the names in the
// folder, decides what a pattern is, and that the following words are read accordingly.
func TestReaderTakesPatterns(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"t.yaml": []byte(readerPrograms)})
	if err != nil {
		t.Fatal(err)
	}
	words := []effects.Word{testWord("*.md"), testWord("-c")}
	for _, tt := range []struct {
		name string
		take func(*Reader, Arg) Arg
		want ArgKind // what the second word is
	}{
		{"literal", (*Reader).Literal, ArgOperand},
		{"operand", (*Reader).Operand, ArgOperand},
		{"neither", func(_ *Reader, a Arg) Arg { return a }, ArgOptions},
	} {
		r := table.Program("stops").Read(words)
		tt.take(&r, r.Next())
		if a := r.Next(); a.Kind != tt.want {
			t.Errorf("%s: the word after a pattern is %+v", tt.name, a)
		}
	}
}

// TestOneReading compares how rules read options with how real programs do: tree(1)
// reads -La 2 as -L 2 -a, GNU programs refuse -f=x and --force=x, and Go's read
// -l=false as no -l.
func TestOneReading(t *testing.T) {
	table := shipped(t)
	if l, ok := table.Line("tree", []string{"-La", "2", "src"}); !ok || fmt.Sprint(l.Flags, l.Values, l.Operands) != "[-L -a] [2] [2]" {
		t.Errorf("tree -La 2 src is %+v", l)
	}
	if l, ok := table.Line("gofmt", []string{"-l=true", "."}); !ok || fmt.Sprint(l.Flags, l.Values) != "[-l] []" {
		t.Errorf("gofmt -l=true is %+v", l)
	}
	for _, line := range []string{"gofmt -l=false .", "pkill -9 node", "rm --forc x", "git --nosuch"} {
		words := strings.Fields(line)
		if l, ok := table.Line(words[0], words[1:]); ok {
			t.Errorf("%s has the flags %v, a run has not", line, l.Flags)
		}
	}
	for line, want := range map[string]bool{
		"head -20": true, "ls -la": true, "git log -5": true, "git log --oneline": true, "gofmt -l=true": true,
		"grep -c=x": false, "grep --count=x": false, "gofmt -l=false": false, "grep --colo": false, "grep -cZq1": false, "grep x -c": false, "rtk git -v": false,
	} {
		words := strings.Fields(line)
		last := len(words) - 1
		if got := table.Explains(words[0], words[1:last], words[last]); got != want {
			t.Errorf("the table explains the option of %s: %t", line, got)
		}
	}
}
