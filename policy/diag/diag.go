// Package diag describes problems in the files of a policy. A [Problem] has a
// place, a severity, and a hint about how to fix it. A [List] collects those of
// one layer, so that a person sees all of them at once and not one per attempt.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
)

// Severity says how bad a problem is.
type Severity string

// The severities. An error keeps the layer from being used.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note" // worth knowing, but may be intended
)

// Problem is something wrong with a policy file.
type Problem struct {
	File     string   `json:"file,omitzero"`
	Line     int      `json:"line,omitzero"` // 1 is the first; 0 for the whole file
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

// MaxText is the maximum length of a problem's text, in bytes: it can quote a
// rule, and appears in reasons, logs and the status.
const MaxText = 400

func shortened(text string) string {
	if len(text) <= MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:MaxText], "") + "…"
}

// List collects the problems of one layer.
type List []Problem

// Append adds a problem, truncating its text.
func (ps *List) Append(p Problem) {
	p.Text = shortened(p.Text)
	*ps = append(*ps, p)
}

// Place is a line of a file, the first being 1. Its zero value is no place.
type Place struct {
	File string
	Line int
}

func (ps *List) Add(at Place, sev Severity, hint, format string, args ...any) {
	ps.Append(Problem{File: at.File, Line: at.Line, Severity: sev, Hint: hint, Text: fmt.Sprintf(format, args...)})
}

func (ps *List) Errorf(at Place, hint, format string, args ...any) {
	ps.Add(at, SeverityError, hint, format, args...)
}

func (ps *List) FileErrorf(name, hint, format string, args ...any) {
	ps.Append(Problem{File: name, Severity: SeverityError, Hint: hint, Text: fmt.Sprintf(format, args...)})
}

// Errors returns the errors among the problems, ordered by place, without
// duplicates.
func (ps List) Errors() []Problem {
	var out []Problem
	for _, p := range ps.Sorted() {
		if p.Severity == SeverityError {
			out = append(out, p)
		}
	}
	return out
}

// Warnings returns the problems that do not keep the layer from being used.
func (ps List) Warnings() []Problem {
	var out []Problem
	for _, p := range ps.Sorted() {
		if p.Severity == SeverityWarning {
			out = append(out, p)
		}
	}
	return out
}

func (ps List) Sorted() []Problem {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(out)
}

func (ps List) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Err returns the errors as one error of the layer, nil when there is none.
func (ps List) Err(layer decisions.Layer) error {
	if errs := ps.Errors(); len(errs) > 0 {
		return &Error{Layer: layer, Problems: errs}
	}
	return nil
}

// Error returns the problem as an error, for callers that stop at the first
// one.
func (p Problem) Error() string { return p.String() }

func (p Problem) AsError() error {
	p.Severity = SeverityError
	return p
}

// AddErr adds an error, which may wrap a problem.
func (ps *List) AddErr(err error) {
	if p, ok := errors.AsType[Problem](err); ok {
		*ps = append(*ps, p)
		return
	}
	*ps = append(*ps, Problem{Severity: SeverityError, Text: err.Error()})
}

// WithoutPath returns the text of an error without its path, which the problem
// already names.
func WithoutPath(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
