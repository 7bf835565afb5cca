package programs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestValuesOfOtherPrograms is TestValuesOfRealPrograms for programs that do not read
// their words with getopt: with an option as the last word, each says that its value is
// missing, or that it has no such option. Last seen with find 4.9.0, Go 1.26, ripgrep
// 13.0.0, fd 8.6.0, curl 7.88.1, jq 1.6, sqlite3 3.40.1, UnZip 6.00.
func TestValuesOfOtherPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each program of the table that is installed")
	}
	shippedTable := shipped(t)
	for _, c := range []struct{ program, refused string }{
		{"find", `missing argument|unknown predicate|invalid argument|needs an argument`},
		{"go list", `flag needs an argument|flag provided but not defined`},
		{"go test", `flag needs an argument|flag provided but not defined`},
		{"go env", `flag needs an argument|flag provided but not defined`},
		{"go doc", `flag needs an argument|flag provided but not defined`},
		{"go version", `flag needs an argument|flag provided but not defined`},
		{"go mod why", `flag needs an argument|flag provided but not defined`},
		{"go mod graph", `flag needs an argument|flag provided but not defined`},
		{"gofmt", `flag needs an argument|flag provided but not defined`},
		{"rg --files", `requires a value|wasn't expected|missing value|unrecognized flag`},
		{"fdfind", `requires a value|value is required|wasn't expected|unexpected argument`},
		{"curl", `requires parameter|is unknown|is ambiguous`},
		{"jq", `takes|Unknown arguments|must be followed|Use jq --help`},
		{"sqlite3", `missing argument|unknown option|Use -help`},
		{"tree", `[Mm]issing argument|Invalid argument`},
		{"unzip", `must specify|must give|UnZip .* of`},
	} {
		words := strings.Fields(c.program)
		if _, err := exec.LookPath(words[0]); err != nil {
			t.Logf("there is no %s here", words[0])
			continue
		}
		p := shippedTable.entryOf(words[0])
		for _, name := range words[1:] {
			if name[0] != '-' {
				p = p.Subs[name]
			}
		}
		refused := regexp.MustCompile(c.refused)
		for _, option := range required(p) {
			if p.Options[option].Role == RoleUnknown || p.Options[option].Role == RoleCommand {
				continue
			}
			if option == "-newerXY" {
				option = "-newermt"
			}
			cmd := exec.Command(words[0], append(words[1:], option)...)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{
				"LC_ALL=C", "HOME=" + cmd.Dir, "TMPDIR=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "GOTOOLCHAIN=local", "GOFLAGS=", "GOCACHE=" + cmd.Dir,
				"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1",
			}
			if out, _ := cmd.CombinedOutput(); !refused.Match(out) {
				t.Errorf("%s %s takes no value from the next word: %.200s", c.program, option, out)
			}
		}
	}
}
