package toolschema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// report puts the library's findings into words. It names what the schema says,
// and of the arguments only where in them something is wrong.
type report struct {
	names    map[string]bool
	root     *node
	problems []Problem
	seen     map[Problem]bool
	// places are those of the members of objects: there may be as many findings as
	// members.
	places map[*node]map[string]int
}

// add takes in a finding with what it consists of.
func (r *report) add(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, c := range e.Causes {
			r.add(c)
		}
		return
	}
	p := Problem{At: r.at(e.InstanceLocation), Text: describe(e.ErrorKind)}
	if !r.seen[p] {
		r.seen[p] = true
		r.problems = append(r.problems, p)
	}
}

// place is where among an object's members one of that name is, -1 for nowhere.
func (r *report) place(n *node, name string) int {
	of := r.places[n]
	if of == nil {
		of = make(map[string]int, len(n.names))
		for i, name := range n.names {
			of[name] = i
		}
		r.places[n] = of
	}
	if i, ok := of[name]; ok {
		return i
	}
	return -1
}

// sorted returns the problems in an order that is the same each time.
func (r *report) sorted() []Problem {
	slices.SortFunc(r.problems, func(a, b Problem) int {
		if c := strings.Compare(a.At, b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	if len(r.problems) == 0 {
		return []Problem{{Text: "does not fit"}}
	}
	return r.problems[:min(len(r.problems), maxProblems)]
}

// at is a place in the arguments.
func (r *report) at(location []string) string {
	var b strings.Builder
	n := r.root
	for _, token := range location {
		b.WriteByte('/')
		i := -1
		if n != nil && n.names != nil {
			i = r.place(n, token)
			if !r.names[token] || i < 0 {
				token = "*"
			}
		} else if at, err := strconv.Atoi(token); err == nil {
			i = at
		}
		b.WriteString(clip(strings.NewReplacer("~", "~0", "/", "~1").Replace(token)))
		if n != nil && i >= 0 && i < len(n.children) {
			n = n.children[i]
		} else {
			n = nil
		}
	}
	return b.String()
}

// describe is a finding in words.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return "is missing " + list(k.Missing)
	case *kind.Dependency:
		return "is missing " + list(k.Missing)
	case *kind.DependentRequired:
		return "is missing " + list(k.Missing)
	case *kind.AdditionalProperties:
		if len(k.Properties) == 1 {
			return "has a member that the schema does not have"
		}
		return fmt.Sprintf("has %d members that the schema does not have", len(k.Properties))
	case *kind.FalseSchema:
		return "must not be there"
	case *kind.Enum:
		return enum(k.Want)
	case *kind.Const:
		return enum([]any{k.Want})
	case *kind.Not:
		return "has a form that the schema excludes"
	case *kind.AnyOf:
		return "has none of the forms that the schema has for it"
	case *kind.OneOf:
		if k.Subschemas == nil {
			return "has none of the forms that the schema has for it"
		}
		return "has several of the forms of which the schema wants one"
	case *kind.Pattern:
		return "does not match the schema's pattern"
	case *kind.PropertyNames:
		return "has a member whose name the schema excludes"
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.AdditionalItems:
		return "has too many items"
	case *kind.UniqueItems:
		return "has an item twice"
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d members", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d members", k.Want)
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "does not have the items that the schema wants in it"
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum, *kind.MultipleOf:
		return "is not in the schema's range"
	}
	return "does not fit"
}

// list names members that the schema has.
func list(names []string) string {
	const most = 8
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, strconv.Quote(clip(name)))
	}
	if len(names) > most {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}

// enum names the values that the schema has.
func enum(values []any) string {
	const most = 8
	var words []string
	for _, v := range values {
		switch s, ok := v.(string); {
		case len(words) == most:
			return "must be one of " + strings.Join(words, ", ") + ", …"
		case ok:
			words = append(words, strconv.Quote(clip(s)))
		default:
			return "has none of the values that the schema has for it"
		}
	}
	switch len(words) {
	case 0:
		return "has none of the values that the schema has for it"
	case 1:
		return "must be " + words[0]
	}
	return "must be one of " + strings.Join(words, ", ")
}

// clip cuts a text between characters.
func clip(s string) string {
	const most = 64
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
