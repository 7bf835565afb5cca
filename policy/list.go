package policy

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
	maxListBytes   = 1 << 20
	maxListEntries = 10_000
)

// entry is one line of a list.
type entry struct {
	set     decisions.Set
	kind    effects.Kind
	pattern *pattern.Pattern
	line    int // in the list's file
	column  int
}

// ListError is something wrong at one place of a list file.
type ListError struct {
	File string
	Line int // from 1; 0 when the file as a whole is meant
	Err  error
	Fix  string // "" when there is nothing to suggest
}

// Error returns file:line and what is wrong.
func (e *ListError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns what is wrong without its place.
func (e *ListError) Unwrap() error { return e.Err }

// Hint returns what to write instead, "" if nothing is known.
func (e *ListError) Hint() string { return e.Fix }

// CompileList turns a list file (rules.yaml) into a Rego module of the layer's
// package. Each rule has the place of its list entry as location, so that
// explanations, errors and rule ids (layer/file:line) name the list.
//
// With restrict only deny and ask entries become rules, and their reasons do
// not repeat the file's text: the list of a project that nobody trusts may
// tighten, but not speak. Its allow entries must still be well formed.
//
// The error joins a *ListError for each thing that is wrong.
func CompileList(layer, file string, data []byte, restrict bool) (*ast.Module, error) {
	return compileList(layer, file, data, restrict, nil)
}

// compileList is CompileList with the program table by which denies and asks
// know an option however it is spelled.
func compileList(layer, file string, data []byte, restrict bool, table *programs.Table) (*ast.Module, error) {
	entries, err := parseList(file, data)
	if err != nil {
		return nil, err
	}
	understand(entries, table)
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
	first := listPlace{line: 1, column: 1}
	relocate(m.Package, file, lines, first)
	for _, im := range m.Imports {
		relocate(im, file, lines, first)
	}
	m.Comments = nil // they stand at places of the generated text
	return m, nil
}

// understand gives the entries that deny or ask the sense of their lines.
func understand(entries []entry, table *programs.Table) {
	for i := range entries {
		if e := &entries[i]; e.set != decisions.SetAllow {
			e.pattern = e.pattern.Understood(table)
		}
	}
}

// ExportList returns the Rego text of a list, for use with stock OPA. It means
// the same as the module of CompileList.
func ExportList(layer, file string, data []byte, restrict bool) (string, error) {
	entries, err := parseList(file, data)
	if err != nil {
		return "", err
	}
	understand(entries, nil)
	text, _ := generate(layer, path.Base(file), entries, restrict)
	return text, nil
}

// listPlace is where in the list file a rule comes from.
type listPlace struct{ line, column int }

// relocate gives a node and all below it the place of its list entry.
func relocate(n ast.Node, file string, lines []string, p listPlace) {
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

// ExportListFor is ExportList with the program table by which denies and asks
// know an option however it is spelled.
func ExportListFor(layer, file string, data []byte, table *programs.Table) (string, error) {
	entries, err := parseList(file, data)
	if err != nil {
		return "", err
	}
	understand(entries, table)
	text, _ := generate(layer, path.Base(file), entries, false)
	return text, nil
}
