package goals

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzGoals: what a makefile or justfile of somebody else says is read within bounds.
func FuzzGoals(f *testing.F) {
	for _, text := range []string{
		"ship: lint\n\ttrue\n", ".DEFAULT_GOAL := $(X)\nX = ship\n", "include a.mk b.mk\n$(X)$(X): all\n",
		"ifdef A\na:\nelse\nb::\nendif\n", "define X\na:\nendef\n", "[default]\nship a: b\n    true\n", "a \\\n b: c", "$a$(${X}:\n",
	} {
		f.Add(text, "ship")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		for _, found := range [][]string{makefileGoals(text, func(string) string { return text }), justfileGoals(text)} {
			if len(found) > maxGoals {
				t.Errorf("%d goals", len(found))
			}
			for _, goal := range found {
				if goal == "" || len(goal) > len(text)+maxExpanded {
					t.Errorf("goal %q", goal)
				}
			}
		}
		if line := recipe(text, name); len(line) > len(text) {
			t.Errorf("a line of %d bytes in a text of %d", len(line), len(text))
		}
	})
}

// TestExpandIsBounded: variables that hold each other twice, and as many as fit in a
// makefile, make no text of a length that is a problem.
func TestExpandIsBounded(t *testing.T) {
	var doubling, many strings.Builder
	doubling.WriteString("a0 = xxxxxxxx\n")
	for i := range 100 {
		fmt.Fprintf(&doubling, "a%d := $(a%d)$(a%[2]d)\n", i+1, i)
	}
	for i := range 8000 {
		fmt.Fprintf(&many, "a%d=%[1]d\n", i)
	}
	for i := range 8000 {
		fmt.Fprintf(&many, "b := $(a%d)\n", i)
	}
	many.WriteString("$(b): x\n")
	g := reader{variables: map[string]string{}}
	g.read(doubling.String())
	for name, value := range g.variables {
		if len(value) > maxExpanded {
			t.Errorf("%s has %d bytes", name, len(value))
		}
	}
	if len(g.variables) < 5 {
		t.Errorf("%d variables", len(g.variables))
	}
	if got := makefileGoals(many.String(), nil); len(got) != 1 || got[0] != "7999" {
		t.Errorf("goals %q, want the last value", got)
	}
}
