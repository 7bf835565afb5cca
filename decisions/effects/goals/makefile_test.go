package goals

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGoals: the target that make takes by itself.
func TestGoals(t *testing.T) {
	others := map[string]string{"common.mk": "shared:\n\ttrue\n", "vars.mk": "X = 1\n"}
	for text, want := range map[string]string{
		"":                       "",
		"ship:\n\ttrue\nlint:\n": "ship",
		"# all:\nall ship: x\n":  "all",
		".PHONY: ship\n.SUFFIXES:\nlint:\nship:\n":           "lint",
		"%.o: %.c\n\tcc $<\nall:\n":                          "all",
		"CC := gcc\nX ?= a:b\nship::\n":                      "ship",
		"ship: CC = gcc\nall:\n":                             "all",
		"ship: private X := 1\nall:\n":                       "all",
		"lint:\nship:\n.DEFAULT_GOAL := ship\n":              "lint ship",
		"NAME = ship\n$(NAME): x\nlint:\n":                   "ship",
		"$(UNKNOWN): x\nlint:\n":                             "lint",
		"ifdef CI\nship:\nelse\nlint:\nendif\nall:\nnone:\n": "ship lint all",
		"include vars.mk\nlint:\n":                           "lint",
		"include common.mk\nlint:\n":                         "shared",
		"-include gone.mk\nlint:\n":                          "lint",
		"define ship\nall:\nendef\nlint:\n":                  "lint",
		"a \\\n  b: c\n":                                     "a",
		"a b &: c\n":                                         "a",
		"\tship:\nlint:\n":                                   "ship",
		"./ship/it: x\n":                                     "./ship/it",
	} {
		if got := strings.Join(makefileGoals(text, func(name string) string { return others[name] }), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var many strings.Builder
	for i := range 2 * maxGoals {
		fmt.Fprintf(&many, "ifdef A\nx%d:\nendif\n", i)
	}
	if got := makefileGoals(many.String(), nil); len(got) != maxGoals {
		t.Errorf("%d of too many", len(got))
	}
}

// TestGoalsAreMakes compares the goals of random makefiles with those of make.
func TestGoalsAreMakes(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("there is no make")
	}
	dir := t.TempDir()
	lines := []string{
		"ship:", "lint: ;", "all: ship lint", ".PHONY: ship", "X = ship", "X := lint", "Y ?= 1", "$(X):", "$(Z):", "ship: A = 1", "lint: export B := 2", "%.o: %.c ; true",
		"# all:", "a b: c", "a::", "ifdef N", "ifndef N", "else", "endif", "-include inc.mk", "define F\ndef:\nendef", ".DEFAULT_GOAL := lint", "ship lint: all", "./d/x:", "all \\\n  ship:", "export X", "c:\n\t@true",
	}
	const included = "inc:\n"
	if err := os.WriteFile(filepath.Join(dir, "inc.mk"), []byte(included), 0o600); err != nil {
		t.Fatal(err)
	}
	goal := regexp.MustCompile(`(?m)^\.DEFAULT_GOAL := ?(.*)$`)
	r := rand.New(rand.NewPCG(1, 2))
	compared, files := 0, 400
	if testing.Short() {
		files = 80
	}
	for range files {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(lines[r.IntN(len(lines))] + "\n")
		}
		cmd := exec.CommandContext(t.Context(), program, "-npq", "-f", "-")
		cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader(b.String()), []string{"LC_ALL=C", "TMPDIR=" + dir} // make leaves a file there
		out, _ := cmd.Output()
		m := goal.FindStringSubmatch(string(out))
		if m == nil || m[1] == "" {
			continue // make does not take it
		}
		compared++
		got := makefileGoals(b.String(), func(name string) string { return map[string]string{"inc.mk": included}[name] })
		if !slices.Contains(got, m[1]) && !slices.Contains(got, "./"+m[1]) {
			t.Errorf("make takes %q, not one of %q:\n%s", m[1], got, b.String())
		}
	}
	if compared < files/4 {
		t.Errorf("only %d were compared", compared)
	}
}

// TestFirstRecipes: the recipe that just takes by itself.
func TestFirstRecipes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"set shell := ['sh']\nx := 'a'\nship:": "ship",
		"alias s := ship\n\n# it\n@ship target='all' *rest: lint\n  echo\nlint:\n": "ship",
		"lint:\n\n[private]\n[default]\nship:\n":                                   "lint ship",
		"export X := 'a:b'\n_ship a b:\n":                                          "_ship",
	} {
		if got := strings.Join(justfileGoals(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
