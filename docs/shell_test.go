package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// TestShellExamples parses the examples of shell.md. The line before each says whether
// it is plain.
func TestShellExamples(t *testing.T) {
	data, err := os.ReadFile("shell.md")
	if err != nil {
		t.Fatal(err)
	}
	says, count := "", map[bool]int{}
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case strings.HasPrefix(line, "Plain") || strings.HasPrefix(line, "Not plain"):
			says = line
		case line == "```sh":
			var text []string
			for i++; lines[i] != "```"; i++ {
				text = append(text, lines[i])
			}
			shells := plainshell.All
			if strings.Contains(says, "in bash and zsh") {
				shells = plainshell.Bash | plainshell.Zsh
			}
			want := strings.HasPrefix(says, "Plain")
			if !want && !strings.HasPrefix(says, "Not plain") {
				t.Errorf("%q: nothing says whether it is plain", text)
			}
			count[want]++
			_, refusal := plainshell.Read(strings.Join(text, "\n")+"\n", shells)
			if (refusal == nil) != want {
				t.Errorf("%q\n%s\nbut it is refused for %v", text, says, refusal)
			}
		case line != "":
			says = "" // another paragraph
		}
	}
	if count[true] < 8 || count[false] < 12 {
		t.Errorf("only %d plain examples, and %d that are not", count[true], count[false])
	}
}
