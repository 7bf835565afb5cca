package languages

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestXargsWords(t *testing.T) {
	for text, want := range map[string]struct {
		words []string
		plain bool
	}{
		"":                     {nil, true},
		"a.txt  b\tc\n\nd\n":   {[]string{"a.txt", "b", "c", "d"}, true},
		"-x --pre=./a":         {[]string{"-x", "--pre=./a"}, true},
		"'a b' c":              {[]string{"a b", "c"}, false},
		`a"b c"d`:              {[]string{"ab cd"}, false},
		`a\ b \'c`:             {[]string{"a b", "'c"}, false},
		`'' a`:                 {[]string{"", "a"}, false},
		"a _ b":                {[]string{"a", "_", "b"}, false},
		"a_ _b":                {[]string{"a_", "_b"}, true},
		"a\vb":                 {[]string{"a\vb"}, false},
		"a\x00b":               {[]string{"a\x00b"}, false},
		"\u00e4":               {[]string{"\u00e4"}, false},
		"'a\nb'":               {[]string{"a", "b"}, false},
		"a\\":                  {[]string{"a"}, false},
		strings.Repeat(" ", 9): {nil, true},
	} {
		words, plain := XargsWords(text)
		if diff := cmp.Diff(want.words, words, cmpopts.EquateEmpty()); diff != "" || plain != want.plain {
			t.Errorf("%q: plain is %v (-want +got):\n%s", text, plain, diff)
		}
	}
}

// TestXargsWordsOracle compares with the xargs of this machine, and with that of busybox.
func TestXargsWordsOracle(t *testing.T) {
	t.Parallel()
	texts := 300
	if testing.Short() {
		texts = 20
	}
	letters := []string{"a", "b", "-", " ", " ", "\t", "\n", "$x", "*", ";", "_", "é", "'", `"`, `\`}
	for _, program := range [][]string{{"xargs"}, {"busybox", "xargs"}} {
		if _, err := exec.LookPath(program[0]); err != nil {
			t.Logf("%s is not installed", program[0])
			continue
		}
		compared := 0
		for seed := range texts {
			g := rand.New(rand.NewPCG(uint64(seed), 0))
			n := len(letters)
			if seed%2 == 0 {
				n -= 3 // nothing that quotes
			}
			var text strings.Builder
			for range 1 + g.IntN(12) {
				text.WriteString(letters[g.IntN(n)])
			}
			words, plain := XargsWords(text.String())
			if len(words) == 0 || !plain && (program[0] != "xargs" || slices.Contains(words, "")) {
				continue
			}
			cmd := exec.CommandContext(t.Context(), program[0], append(slices.Clone(program[1:]), "sh", "-c", `for w; do printf '<%s>' "$w"; done`, "sh")...)
			cmd.Stdin = strings.NewReader(text.String())
			out, err := cmd.Output()
			if err != nil && !plain {
				continue // quotes that do not end
			}
			compared++
			if want := "<" + strings.Join(words, "><") + ">"; err != nil || string(out) != want {
				t.Errorf("%s reads %q as %s (%v), not %s", program[0], text.String(), out, err, want)
			}
		}
		if compared < texts/4 {
			t.Errorf("%s: only %d texts compared", program[0], compared)
		}
	}
}
