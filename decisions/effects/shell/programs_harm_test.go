package shell

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

const harmProgram = `
programs:
  - names: [plain]
    options:
      harmless: ["-q", "-o= --out="]
      changes: ["-x --extra", "-c= --config=", "--pair==", "--opt[=]"]
      writes: ["-w="]
      chdir: ["-C="]
      unknown: ["--odd="]
    operands: ["text..."]
  - names: [opener]
    open: true
    options: {harmless: ["-q"]}
    operands: ["text..."]
  - names: [opensubs]
    open: true
    sub: [{names: [do], open: true, operands: ["text..."]}]
`

// TestHarmful checks which words of a run are not harmless, and from which word on
// a rule line may name them as options.
func TestHarmful(t *testing.T) {
	shipped := effectstest.Table(t)
	table := shipped.With(opinions(t, shipped, harmProgram), true)
	for _, tt := range []struct {
		text    string
		from    int
		harmful string
		options int
	}{
		// The program is unknown: the first word may be a sub-command, an option
		// may take the word after it, and -- may change what an option is.
		{"tool", 0, "", 0},
		{"tool do x", 1, "do", 1},
		{"tool do --json", 2, "do --json", 1},
		{"tool do --json x y", 2, "do --json x", 1},
		{"tool do --json=1 x", 2, "do --json=1", 1},
		{"tool do -a -b x -c", 5, "do -a -b x -c", 1},
		{"tool do --f ../x ./y", 4, "do --f ../x ./y", 4},
		{"tool do -a -- -b x", 4, "do -a -- -b x", 3},
		{"tool do - x", 2, "do -", 2},
		{"tool do --n -5", 3, "do --n -5", 1},
		{"tool do a=b --x", 3, "do a=b --x", 2},
		{"tool do +x @y --z", 4, "do +x @y --z", 3},
		{"tool --json do", 1, "--json do", 3},
		{"tool --json do x", 1, "--json do", 3},
		{"tool --json=1 do x", 1, "--json=1", 2},
		{"tool --json", 1, "--json", 2},
		{"tool -- do", 1, "--", 2},

		// The table knows the program: only options that change something, with
		// their values.
		{"plain a -q b", 0, "", 0},
		{"plain a -o v b", 0, "", 0},
		{"plain a -x b", 2, "-x", 0},
		{"plain -x a", 1, "-x", 0},
		{"plain a -qx b", 2, "-qx", 0},
		{"plain a -c v b", 3, "-c v", 0},
		{"plain a -cv b", 2, "-cv", 0},
		{"plain a -qc v b", 3, "-qc v", 0},
		{"plain a --config v b", 3, "--config v", 0},
		{"plain a --config=v b", 2, "--config=v", 0},
		{"plain a --config -x b", 3, "--config -x", 3}, // -x may be an option
		{"plain a --opt b", 2, "--opt", 0},
		{"plain a --pair v w b", 4, "--pair v w", 4},
		{"plain a -C d -x", 4, "-C d -x", 3},
		{"plain a -w f -x", 4, "-x", 0},
		{"plain a --odd v -x", 4, "--odd v -x", 3},
		{"plain a --nobody=1 v -x", 4, "--nobody=1 -x", 2},
		{"plain a --nobody -x", 3, "--nobody -x", 2},
		{"plain a --confi v b", 2, "--confi v", 2},
		{"plain -- -x", 0, "", 0},

		// The table's options of the program are incomplete: others may be
		// anything.
		{"opener a --new b", 3, "--new b", 0},
		{"opener a --new -q b", 2, "--new", 0},
		{"opensubs do --new b", 3, "do --new b", 1},
		{"opensubs --new dir do x", 3, "--new dir do", 3},
		{"opensubs --new dir", 2, "--new dir", 3},
		{"opensubs --n=1 other --new x y", 3, "--n=1 other --new x", 2},
		{"opensubs -n=1 other --new x y", 3, "-n=1 other --new x", 3},

		// If the position of an option matters, or words belong to another command,
		// all are listed.
		{"find . -name x -delete", 4, "-delete", 4},
		{"tar -xf a.tar -v", 3, "-xf a.tar -v", 3},
		{"docker exec box rm --force", 4, "exec rm --force", 4},
		{"ssh host rm --force", 3, "host rm --force", 3},
		{"python3 -m nobody --x y", 3, "-m nobody --x", 3},
		{"git nobody --x", 2, "nobody --x", 2},
		{"git push origin +main -f", 4, "push +main -f", 3},
		{"mise run x --a b c", 3, "run x --a b", 2},
		{"mise run x -- --a", 4, "run x -- --a", 3},
	} {
		r, _ := ran(t, table, tt.text)
		got := make([]string, len(r.Harmful))
		for i, at := range r.Harmful {
			got[i] = r.Args[at]
		}
		if words := strings.Join(got, " "); words != tt.harmful || r.HarmlessFrom != tt.from || r.OptionsFrom != tt.options {
			t.Errorf("%s: from %d, harmful %q, options from %d; want %d, %q, %d",
				tt.text, r.HarmlessFrom, words, r.OptionsFrom, tt.from, tt.harmful, tt.options)
		}
	}
}

// TestHarmfulAgrees checks that the three facts agree with each other for any
// words.
func TestHarmfulAgrees(t *testing.T) {
	shipped := effectstest.Table(t)
	table := shipped.With(opinions(t, shipped, harmProgram), true)
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields(
			"do run push -x -qx -c -cv --config --config=v --pair --opt -C -w --odd --nobody -q a b ../x a=b -- - -5 -f --force --json +m @f *.go $X '' -m -e",
		)), 0, 7).Draw(rt, "words")
		program := rapid.SampledFrom(strings.Fields("tool plain opener opensubs git mise npm python3 find tar docker gh go make curl sort xargs")).Draw(rt, "program")
		r, _ := ran(t, table, program+" "+strings.Join(words, " "))
		if r == nil {
			return
		}
		for _, run := range []*effects.Run{r, r.WithoutOverlay} {
			if run == nil {
				continue
			}
			if why := disagree(run); why != "" {
				rt.Fatalf("%s %q: %s: %+v", program, words, why, run)
			}
		}
	})
}

func optionLike(text string) bool { return len(text) > 1 && text[0] == '-' && text != "--" }

func disagree(r *effects.Run) string {
	last, before := 0, -1
	for _, i := range r.Harmful {
		switch {
		case i <= before || i >= len(r.Args):
			return "the indexes are not in order"
		case i >= r.HarmlessFrom && (i == 0 || before != i-1 || !optionLike(r.Args[i-1])):
			return fmt.Sprintf("word %d is harmful behind HarmlessFrom, and is no value", i)
		case i >= r.OptionsFrom && !optionLike(r.Args[i]) && (i == 0 || before != i-1 || !optionLike(r.Args[i-1])):
			return fmt.Sprintf("word %d is no option and may be named", i)
		case i >= r.OptionsFrom && r.Args[i] == "--" && !optionLike(r.Args[i-1]):
			return "a -- may be named"
		case strings.Contains(r.Args[i], effects.DynamicWord) && i >= r.OptionsFrom:
			return "a word that nobody knows may be named"
		}
		if i < r.HarmlessFrom {
			last = i + 1
		}
		before = i
	}
	if last != r.HarmlessFrom {
		return fmt.Sprintf("the last harmful word is before %d, not before HarmlessFrom", last)
	}
	return ""
}
