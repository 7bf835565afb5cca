package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/diag"
)

// locationPlace returns where OPA's parser found something. loc may be nil.
func locationPlace(loc *ast.Location) diag.Place {
	if loc == nil {
		return diag.Place{}
	}
	return diag.Place{File: loc.File, Line: loc.Row}
}

// addOPA adds the errors that OPA's parser or compiler reported, in few words:
// they are shown in the reason of a question and in the one line that a service
// manager shows.
func addOPA(ps *diag.List, err error) {
	var list ast.Errors
	if !errors.As(err, &list) {
		ps.Errorf(diag.Place{}, "", "%v", err)
		return
	}
	for _, e := range list {
		text, hint := explain(e)
		ps.Errorf(locationPlace(e.Location), hint, "%s", text)
	}
}

const fieldsHint = "the fields of input are listed in docs/policy.md and rego/input.schema.json"

// explain returns the text of an error and a hint. OPA's details of an
// undefined reference list every possible member, which for the input is a
// screenful; the most likely one is enough.
func explain(e *ast.Error) (text, hint string) {
	ofInput := strings.HasPrefix(e.Message, "undefined ref: input")
	switch d := e.Details.(type) {
	case *ast.RefErrInvalidDetail:
		hint = suggestion(d)
		if ofInput {
			hint = joined(hint, fieldsHint)
		}
		return e.Message, hint
	case *ast.RefErrUnsupportedDetail:
		if ofInput {
			hint = fieldsHint
		}
		return fmt.Sprintf("%s: %s is neither an object nor a list", e.Message, d.Ref[:d.Pos+1]), hint
	}
	text = e.Message
	if e.Details != nil {
		for _, line := range e.Details.Lines() {
			if line = strings.TrimSpace(line); strings.Trim(line, "^") != "" { // otherwise it refers to the line before
				text += "; " + line
			}
		}
	}
	if name, ok := strings.CutPrefix(e.Message, "undefined function "); ok {
		hint = "policies can call functions of their own layer and the builtins in docs/policy.md"
		if ast.BuiltinMap[name] != nil {
			text = "policies cannot call " + name + ": it is not one of OPA's builtins that permd has reviewed"
			hint = "reviewed are builtins without side effects whose cost has a bound; docs/policy.md says which"
		}
	}
	return text, hint
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// maxListedMembers is the number of members up to which all are listed when
// none is similar to the one that was written.
const maxListedMembers = 7

// suggestion names the member that the rule's author may have meant.
func suggestion(d *ast.RefErrInvalidDetail) string {
	wrote, ok := d.Ref[d.Pos].Value.(ast.String)
	if !ok {
		return ""
	}
	var members, near []string
	for _, v := range d.OneOf {
		s, ok := v.(ast.String)
		if !ok {
			continue
		}
		members = append(members, string(s))
		if isSimilar(string(wrote), string(s)) {
			near = append(near, string(s))
		}
	}
	slices.Sort(members)
	switch {
	case len(near) > 0:
		slices.SortStableFunc(near, func(a, b string) int { return distance(string(wrote), a) - distance(string(wrote), b) })
		return fmt.Sprintf("did you mean %s?", d.Ref[:d.Pos].Append(ast.StringTerm(near[0])))
	case len(members) > 0 && len(members) <= maxListedMembers:
		return fmt.Sprintf("%s has %s", d.Ref[:d.Pos], strings.Join(members, ", "))
	}
	return ""
}

// isSimilar reports whether one name may be a misspelling of the other: up to a
// third of its letters may differ, in two places at most.
func isSimilar(a, b string) bool { return distance(a, b) <= min(2, max(len(a), len(b))/3) }

// distance is the number of bytes to insert, delete or replace to turn one name
// into the other (Levenshtein). Names longer than any field are similar to
// none.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
