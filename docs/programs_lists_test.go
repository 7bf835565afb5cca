package docs

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/rego"
)

// wordsOf returns the words of a package variable: those of a list of strings, or of one
// text.
func wordsOf(t *testing.T, file, name string) []string {
	t.Helper()
	var words []string
	for _, f := range module(t).files {
		if f.path != file {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || spec.Names[0].Name != name {
				return true
			}
			ast.Inspect(spec.Values[0], func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Error(err)
					}
					words = append(words, strings.Fields(text)...)
				}
				return true
			})
			return false
		})
	}
	if len(words) == 0 {
		t.Errorf("%s has no list %s", file, name)
	}
	return words
}

// TestListsOfRunners: a program that one part of permd knows to run or hold others is one
// that no person may describe as something else: the program table has it, or the list
// of such programs.
func TestListsOfRunners(t *testing.T) {
	table, err := programs.ParseTable(rego.Programs())
	if err != nil {
		t.Fatal(err)
	}
	const names = "decisions/effects/programs/layer_names.go"
	refused := append(wordsOf(t, names, "runners"), wordsOf(t, names, "shellWords")...)
	for _, list := range []struct{ file, name string }{
		{"decisions/fence/processes.go", "debuggers"},
		{"remember/allowable/allowable.go", "shells"},
		{"remember/allowable/allowable.go", "wrappers"},
		{"decisions/effects/own/program.go", "interpreters"},
		{"decisions/effects/own/program.go", "wrappers"},
	} {
		for _, program := range wordsOf(t, list.file, list.name) {
			if !slices.Contains(refused, program) && !table.Knows(program) {
				t.Errorf("%s of %s has %s, which a person may describe as harmless", list.name, list.file, program)
			}
		}
	}
}
