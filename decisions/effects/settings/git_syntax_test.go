package settings

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestOwnGitConfigAgrees: what git reads in a person's file is what readOwnGitConfig
// finds, unless that refuses the file.
func TestOwnGitConfigAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	pieces := []string{
		"[core]", "[Core]", "[a \"b\"]", "[a \"b\\\"c\\d\"]", "[a.B]", "[a.b \"c\"]", "[a", "]", "\n", "\n", "\r\n", "\r", "\t", " ", "  ", "key", "K-1", "x", "./x", "=", " = ", "\"", "\\",
		"\\n", "\\t", "\\\"", "\\\\", "\\\n", "#", ";", "# c", "\ufeff", "é", "a b", "'", "$(x)", ".", "-", "1",
	}
	texts := []string{"[a]k=v", "[a]k", "[a]\nk = \"x # y\" # z", "[a] k = a\\\n  b\n", "[a]\nk = a \"  b \" c  \n", "[a]k=\n", "[a]k=a\rb\r\n", "\ufeff[a]k=1\n", "[a]\nk = a\tb  \n", "[a]\nk = a \\\n"}
	r := rand.New(rand.NewPCG(testload.Seed(t), 0))
	for range 300 {
		var b strings.Builder
		b.WriteString("[s]\n")
		for range r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	file := filepath.Join(t.TempDir(), "config")
	texts = testload.WithRace(t, texts)
	read := 0
	for _, text := range texts {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), git, "config", "--no-includes", "-f", file, "--list", "-z").Output()
		if err != nil {
			continue // git would read nothing
		}
		list, err := readOwnGitConfig(text)
		if err != nil {
			continue
		}
		read++
		var want []string
		for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			if len(line) > 0 {
				key, value, ok := strings.Cut(string(line), "\n")
				if !ok {
					value = "true"
				}
				want = append(want, key+"\n"+blanks.Replace(value))
			}
		}
		var have []string
		for _, e := range list {
			have = append(have, strings.Join(e.path, ".")+"\n"+blanks.Replace(e.value))
		}
		if strings.Join(have, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q: have %q, git has %q", text, have, want)
		}
	}
	if read < len(texts)/15 {
		t.Errorf("only %d of %d files were read", read, len(texts))
	}
}

// blanks are the same to all that looks at values; before version 2.45 git takes each for a
// space.
var blanks = strings.NewReplacer("\t", " ", "\r", " ")
