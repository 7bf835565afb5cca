package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestAnsiCOracle compares what is known of $'…' with what shells make of it, in a locale
// with UTF-8 and in one without: they agree, or it is not known.
func TestAnsiCOracle(t *testing.T) {
	pieces := []string{
		"a", "1", "f", "é", "😀", " ", "?", "{", "}", `\a`, `\b`, `\e`, `\E`, `\f`, `\n`, `\r`, `\t`, `\v`, `\\`, `\'`, `\"`, `\?`, `\cA`, `\z`,
		`\0`, `\1`, `\12`, `\101`, `\377`, `\400`, `\777`, `\8`, `\x`, `\x4`, `\x41`, `\x041`, `\xc3`, `\xa9`, `\xc3\xa9`, `\xff`, `\x{41}`,
		`\u`, `\u4`, `\u41`, `\u0041`, `\u7f`, `\u80`, `\u00e9`, `\uE9`, `\ud800`, `\udfff`, `\uffff`, `\U41`, `\U00000041`, `\U0001F600`, `\U0010ffff`, `\U00110000`, `\U7fffffff`, `\U80000041`, `\Uffffffff`,
	}
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_ANSI_C", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 6))
	var values []string
	for _, p := range pieces {
		values = append(values, p, p+"g")
	}
	for range rounds {
		value := ""
		for range 1 + rnd.IntN(4) {
			value += pieces[rnd.IntN(len(pieces))]
		}
		values = append(values, value)
	}
	for _, shell := range []string{"bash", "zsh"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is missing", shell)
			continue
		}
		const end = "<end>"
		known := 0
		for _, locale := range []string{"C", "C.UTF-8"} {
			var script strings.Builder
			for _, value := range values {
				// In a shell of its own, which zsh ends where the locale lacks a character.
				script.WriteString("(printf %s $'" + value + "')\nprintf '" + end + "'\n")
			}
			cmd := exec.CommandContext(t.Context(), program, "-s")
			cmd.Stdin = strings.NewReader(script.String())
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=" + locale}
			out, err := cmd.Output()
			printed := strings.Split(string(out), end)
			if err != nil || len(printed) != len(values)+1 {
				t.Fatalf("seed %d: %s prints %d values of %d: %v", seed, shell, len(printed)-1, len(values), err)
			}
			for i, value := range values {
				want, ok := ansiC(value)
				if !ok {
					continue
				}
				known++
				if printed[i] != want {
					t.Errorf("seed %d: %s with %s takes $'%s' for %q, not for %q", seed, shell, locale, value, printed[i], want)
				}
			}
		}
		if known < len(pieces)/2 {
			t.Errorf("%s: only %d values are known", shell, known)
		}
	}
}
