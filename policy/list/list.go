// Package list reads lists of rules (rules.yaml) and translates them to Rego,
// so that OPA evaluates them like all other rules. Package pattern defines the
// meaning of a line; tests compare the Rego generated here with it.
package list

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
)

// Bounds of a list file, which is meant to be read by people.
const (
	maxBytes      = 1 << 20
	maxEntries    = 10_000
	maxEntryBytes = 4096
	// maxRegoBytes is the maximum size of the Rego that a list becomes, in bytes, and maxProjectRegoBytes the
	// same for the list of a project. An entry of many components becomes many rules.
	maxRegoBytes        = 6 << 20
	maxProjectRegoBytes = 2 << 20
)

// Entry is one line of a list.
type Entry struct {
	Set     decisions.Set
	Kind    effects.Kind
	Pattern *pattern.Pattern
	// Reason and Message are what the file says of the entry, "" if nothing.
	Reason, Message string
	Line, Column    int // in the list's file, from 1
	// Project is the root of the only project whose calls the entry is about, "" for all calls.
	Project string
	// Alone is set for an entry that covers no more than a remembered choice: of a run none of the
	// effects of its words, and of a tool without a version no use of a named version.
	Alone bool
}

// Error is a problem at one place of a list file.
type Error struct {
	file string
	Line int // from 1; 0 for the whole file
	Err  error
	fix  string // "" if there is nothing to suggest
}

// Error returns file:line and the problem.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.file, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.file, e.Line, e.Err)
}

// Unwrap returns the problem without its place.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what to write instead, "" if unknown.
func (e *Error) Hint() string { return e.fix }

// Compile translates a list file (rules.yaml) to a Rego module of the layer's
// package. Each rule has the place of its list entry as location, so that
// explanations, errors and rule ids (layer/file:line) refer to the list.
//
// With restrict only deny and ask entries become rules, and what the file says in its
// reasons and messages is marked as the project's: the list of an untrusted project may
// add restrictions, but must not speak as permd does. Its allow entries must still be
// well formed. CompileTrusted is for the list of a project that is trusted.
//
// With the program table, which may be nil, denies and asks match an option in
// every spelling.
//
// The error joins an *Error for each problem.
func Compile(layer, file string, data []byte, restrict bool, table *programs.Table) (*ast.Module, error) {
	return compile(layer, file, data, kindOfList{project: restrict, allows: !restrict}, table)
}

// CompileTrusted is Compile of the list of a project that somebody trusts: those of its allow
// entries become rules that a project may have ([Entry.ProjectMayAllow]). They cover no guarded
// tag, however exactly they name a file.
func CompileTrusted(layer, file string, data []byte, table *programs.Table) (*ast.Module, error) {
	return compile(layer, file, data, kindOfList{project: true, allows: true}, table)
}

// kindOfList is whose list it is, and whether its allow entries become rules.
type kindOfList struct{ project, allows bool }

// ProjectMayAllow reports whether an allow entry may be that of a trusted project: for runs whose
// words name no path outside of it, for hosts, and for files that it names from its root (./). What
// else an allow of a project does not cover, whatever its list says, is in the table of precedence.
func (e *Entry) ProjectMayAllow() bool {
	switch {
	case e.Pattern.Path != nil:
		return e.Pattern.Path.Base == pattern.Project
	case e.Pattern.Tool != nil:
		return false
	case e.Pattern.Run != nil:
		run := e.Pattern.Run
		leadsOut := func(word string) bool { return !lexpath.StaysWithin(word) }
		return lexpath.StaysWithin(run.Program) && !slices.ContainsFunc(run.Named, leadsOut) &&
			!slices.ContainsFunc(run.Words, func(g pattern.Glob) bool { return leadsOut(strings.Join(g, "*")) })
	}
	return true
}

func compile(layer, file string, data []byte, kind kindOfList, table *programs.Table) (*ast.Module, error) {
	entries, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	Resolve(entries, table)
	text, places, err := generate(layer, file, entries, kind, foldedNames)
	if err != nil {
		return nil, err
	}
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
	m.Comments = nil // they have positions in the generated text
	return m, nil
}

// Resolve gives the entries that deny or ask the meaning of their words in the
// program table.
func Resolve(entries []Entry, table *programs.Table) {
	for i := range entries {
		if e := &entries[i]; e.Set != decisions.SetAllow {
			e.Pattern = e.Pattern.Resolved(table)
		}
	}
}

// place is the position in the list file that a rule comes from.
type place struct{ line, column int }

// relocate gives a node and all below it the place of its list entry.
func relocate(n ast.Node, file string, lines []string, p place) {
	text := []byte{}
	if p.line >= 1 && p.line <= len(lines) {
		text = []byte(strings.TrimSpace(lines[p.line-1]))
	}
	at := &ast.Location{File: file, Row: p.line, Col: p.column, Text: text}
	ast.NewGenericVisitor(func(x any) bool {
		if n, ok := x.(ast.Node); ok && n.Loc() != nil {
			n.SetLoc(at) // shared: nobody changes it
		}
		return false
	}).Walk(n)
}

// WithoutFolded returns a module that Compile returned as it is for inputs without the
// folded names of tools: those that tests of rules are written with.
func WithoutFolded(m *ast.Module) *ast.Module {
	m = m.Copy()
	for _, r := range m.Rules {
		for i, name := range foldedNames {
			folded, folds := ast.MustParseRef(name), ast.MustParseExpr(foldsNames[i]).Terms.([]*ast.Term)
			// A text is replaced, so no transformation fails.
			_, _ = ast.TransformRefs(r, func(ref ast.Ref) (ast.Value, error) {
				if ref.Equal(folded) {
					return ast.Call(folds), nil
				}
				return ref, nil
			})
		}
	}
	return m
}

// Export returns the Rego text of a list, for use with stock OPA. It means the
// same as the module that Compile returns, and needs no folded names in its input.
func Export(layer, file string, data []byte, table *programs.Table) (string, error) {
	entries, err := Parse(file, data)
	if err != nil {
		return "", err
	}
	return ExportEntries(layer, path.Base(file), entries, table)
}

// ExportEntries is Export of entries, which name in comments what they are from.
func ExportEntries(layer, from string, entries []Entry, table *programs.Table) (string, error) {
	Resolve(entries, table)
	text, _, err := generate(layer, from, entries, kindOfList{allows: true}, foldsNames)
	return text, err
}
