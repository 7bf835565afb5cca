package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
)

// Severity says how bad a problem is.
type Severity string

// The severities. An error keeps the layer from being used.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is something wrong with a policy file.
type Problem struct {
	File     string   `json:"file,omitzero"`
	Line     int      `json:"line,omitzero"` // 1 is the first; 0 when the whole file is meant
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Hint     string   `json:"hint,omitzero"` // what to do about it
}

// String returns the problem as "file:line: text".
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Error says why a layer cannot be used.
type Error struct {
	Layer    decisions.Layer
	Problems []Problem // errors only, at least one
}

// Error returns the first problem with its place, and how many more there are.
func (e *Error) Error() string {
	what := "rules"
	if e.Layer != "" {
		what = string(e.Layer) + " rules"
	}
	text := fmt.Sprintf("loading %s: %s", what, e.Problems[0])
	if n := len(e.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// mostText bounds the text of a problem, in bytes: it can quote a rule, and
// goes into reasons, logs and the status.
const mostText = 400

func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// problems collects what is wrong with one layer.
type problems []Problem

func (ps *problems) add(loc *ast.Location, sev Severity, hint, format string, args ...any) {
	p := Problem{Severity: sev, Hint: hint, Text: shortened(fmt.Sprintf(format, args...))}
	if loc != nil {
		p.File, p.Line = loc.File, loc.Row
	}
	*ps = append(*ps, p)
}

func (ps *problems) errorf(loc *ast.Location, hint, format string, args ...any) {
	ps.add(loc, SeverityError, hint, format, args...)
}

func (ps *problems) file(name, hint, format string, args ...any) {
	*ps = append(*ps, Problem{File: name, Severity: SeverityError, Hint: hint, Text: shortened(fmt.Sprintf(format, args...))})
}

// errs returns the errors among the problems, in the order of places, each once.
func (ps problems) errs() []Problem {
	var out []Problem
	for _, p := range ps.sorted() {
		if p.Severity == SeverityError {
			out = append(out, p)
		}
	}
	return out
}

// warnings returns the problems that do not keep the layer from being used.
func (ps problems) warnings() []Problem {
	var out []Problem
	for _, p := range ps.sorted() {
		if p.Severity == SeverityWarning {
			out = append(out, p)
		}
	}
	return out
}

func (ps problems) sorted() []Problem {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(out)
}

func (ps problems) failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// err returns the errors as one error of the layer, nil when there is none.
func (ps problems) err(layer decisions.Layer) error {
	if errs := ps.errs(); len(errs) > 0 {
		return &Error{Layer: layer, Problems: errs}
	}
	return nil
}
