// Package list reads lists of rules (rules.yaml) and turns them into Rego, so
// that OPA evaluates them as it does all other rules. What one line means is
// said by package pattern; that the Rego written here says the same is tested
// against it.
package list

import (
	"fmt"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
)

// Bounds of a list file: it is read by people.
const (
	maxBytes   = 1 << 20
	maxEntries = 10_000
)

// Entry is one line of a list.
type Entry struct {
	Set     decisions.Set
	Kind    effects.Kind
	Pattern *pattern.Pattern
	Line    int // in the list's file
	column  int
}

// Error is something wrong at one place of a list file.
type Error struct {
	file string
	Line int // from 1; 0 when the file as a whole is meant
	Err  error
	fix  string // "" when there is nothing to suggest
}

// Error returns file:line and what is wrong.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.file, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.file, e.Line, e.Err)
}

// Unwrap returns what is wrong without its place.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what to write instead, "" if nothing is known.
func (e *Error) Hint() string { return e.fix }

// Compile turns a list file (rules.yaml) into a Rego module of the layer's
// package. Each rule has the place of its list entry as location, so that
// explanations, errors and rule ids (layer/file:line) name the list.
//
// With restrict only deny and ask entries become rules, and their reasons do
// not repeat the file's text: the list of a project that nobody trusts may
// tighten, but not speak. Its allow entries must still be well formed.
//
// By the program table, which may be nil, denies and asks know an option however
// it is spelled.
//
// The error joins an *Error for each thing that is wrong.
func Compile(layer, file string, data []byte, restrict bool, table *programs.Table) (*ast.Module, error) {
	entries, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	Resolve(entries, table)
	text, places := generate(layer, file, entries, restrict)
	m, err := ast.ParseModuleWithOpts(file, text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, fmt.Errorf("compiling list %s: %w", file, err)
	}
	if len(m.Rules) != len(places) {
		return nil, fmt.Errorf("compiling list %s: %d rules where %d were written", file, len(m.Rules), len(places))
	}
	lines := strings.Split(string(data), "\n")
	for i, r := range m.Rules {
		relocate(r, file, lines, places[i])
	}
	first := place{line: 1, column: 1}
	relocate(m.Package, file, lines, first)
	for _, im := range m.Imports {
		relocate(im, file, lines, first)
	}
	m.Comments = nil // their places are those of the generated text
	return m, nil
}

// Resolve gives the entries that deny or ask the meaning that their words
// have by the program table.
func Resolve(entries []Entry, table *programs.Table) {
	for i := range entries {
		if e := &entries[i]; e.Set != decisions.SetAllow {
			e.Pattern = e.Pattern.Resolved(table)
		}
	}
}

// place is where in the list file a rule comes from.
type place struct{ line, column int }

// relocate gives a node and all below it the place of its list entry.
func relocate(n ast.Node, file string, lines []string, p place) {
	text := []byte{}
	if p.line >= 1 && p.line <= len(lines) {
		text = []byte(strings.TrimSpace(lines[p.line-1]))
	}
	ast.NewGenericVisitor(func(x any) bool {
		if n, ok := x.(ast.Node); ok && n.Loc() != nil {
			n.SetLoc(&ast.Location{File: file, Row: p.line, Col: p.column, Text: text})
		}
		return false
	}).Walk(n)
}

// Export returns the Rego text of a list, for use with stock OPA. It means
// the same as the module of compileList.
func Export(layer, file string, data []byte, table *programs.Table) (string, error) {
	entries, err := Parse(file, data)
	if err != nil {
		return "", err
	}
	Resolve(entries, table)
	text, _ := generate(layer, path.Base(file), entries, false)
	return text, nil
}
