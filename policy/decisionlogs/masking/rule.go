package masking

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/internal/strictjson"
)

// maxRules bounds what masks one event, maxDepth how deep a path leads.
const (
	maxRules = 4096
	maxDepth = 64
)

// maskable are the parts of an event that masks reach. OPA's reach the first three; permd's
// events also have what the client claims of the call, in custom.
var maskable = []string{"input", "result", "nd_builtin_cache", "custom"}

// rule is one mask: it removes what a path leads to, or puts a value there.
type rule struct {
	path   string
	steps  []string
	upsert bool
	value  any
}

// rulesOf reads a mask decision: a set or an array of paths to remove, or of objects
// {"op": "remove" or "upsert", "path": …, "value": …}.
func rulesOf(v ast.Value) (rules []rule, err error) {
	var terms []*ast.Term
	switch v := v.(type) {
	case ast.Set:
		terms = v.Slice()
	case *ast.Array:
		v.Foreach(func(t *ast.Term) { terms = append(terms, t) })
	default:
		return nil, fmt.Errorf("the mask is %s, and must be a set", ast.ValueName(v))
	}
	if len(terms) > maxRules {
		return nil, fmt.Errorf("the mask has %d elements, more than %d", len(terms), maxRules)
	}
	for _, t := range terms {
		r, err := ruleOf(t.Value)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	// What is removed cannot be put back by another element, whatever their order is.
	slices.SortStableFunc(rules, func(a, b rule) int {
		switch {
		case a.upsert == b.upsert:
			// From the end, so that what is removed of an array moves nothing that is still to be.
			return comparePaths(b.steps, a.steps)
		case a.upsert:
			return -1
		}
		return 1
	})
	return rules, nil
}

// comparePaths orders paths, indices of arrays as numbers.
func comparePaths(a, b []string) int {
	return slices.CompareFunc(a, b, func(a, b string) int {
		n, aerr := strconv.Atoi(a)
		m, berr := strconv.Atoi(b)
		if aerr == nil && berr == nil {
			return n - m
		}
		return strings.Compare(a, b)
	})
}

func ruleOf(v ast.Value) (r rule, err error) {
	switch v := v.(type) {
	case ast.String:
		r.path = string(v)
	case ast.Object:
		for _, key := range v.Keys() {
			name, ok := key.Value.(ast.String)
			if !ok {
				return r, errors.New("an element of the mask has a name that is no text")
			}
			value := v.Get(key).Value
			text, isText := value.(ast.String)
			switch {
			case name == "op" && isText && (text == "remove" || text == "upsert"):
				r.upsert = text == "upsert"
			case name == "path" && isText:
				r.path = string(text)
			case name == "value":
				if r.value, err = plainOf(value); err != nil {
					return r, errors.New("the value of a mask is no JSON")
				}
			default:
				return r, fmt.Errorf("an element of the mask has a member %q that is not known, or not as it must be", string(name))
			}
		}
		if v.Get(ast.StringTerm("op")) == nil {
			return r, errors.New("an element of the mask has no op")
		}
	default:
		return r, fmt.Errorf("an element of the mask is %s, and must be a path or an object", ast.ValueName(v))
	}
	rest, ok := strings.CutPrefix(r.path, "/")
	r.steps = strings.Split(rest, "/")
	if !ok || !slices.Contains(maskable, r.steps[0]) || slices.Contains(r.steps, "") || len(r.steps) > maxDepth {
		return r, fmt.Errorf("a mask has the path %q, which does not lead below /%s", r.path, strings.Join(maskable, ", /"))
	}
	return r, nil
}

// plainOf returns a value as events have it, whose numbers are no texts.
func plainOf(v ast.Value) (plain any, err error) {
	value, err := ast.JSON(v)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	err = strictjson.Unmarshal(data, &plain)
	return plain, err
}

// spellings are the names that a part of a path can mean: itself, percent-encoded as OPA
// writes it, or escaped as in a JSON pointer.
func spellings(part string) []string {
	list := []string{part, url.PathEscape(part), strings.NewReplacer("~1", "/", "~0", "~").Replace(part)}
	if plain, err := url.PathUnescape(part); err == nil {
		list = append(list, plain)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// apply changes an event, and notes that in its erased or masked.
func (r *rule) apply(event map[string]any) error {
	var changed bool
	if r.upsert {
		var err error
		if changed, err = r.put(event); err != nil {
			return err
		}
	} else {
		var err error
		if _, changed, err = remove(event, r.steps); err != nil {
			return fmt.Errorf("nothing can be removed at %q: %w", r.path, err)
		}
	}
	if !changed {
		return nil // as in OPA: there is nothing to mask
	}
	list := "erased"
	if r.upsert {
		list = "masked"
	}
	noted, _ := event[list].([]any)
	event[list] = append(noted, r.path)
	return nil
}

// errShape is why a mask fails for a value that is not what its policy takes it for: something
// that it should mask may be elsewhere.
var errShape = errors.New("a part of the path is no object, or no array")

// remove removes what a path leads to, and returns the value without it. Where the path leads
// through a text, a number or a bool, or by a name through an array, it is an error.
func remove(v any, parts []string) (without any, removed bool, err error) {
	switch v := v.(type) {
	case nil:
		return nil, false, nil
	case map[string]any:
		for _, name := range spellings(parts[0]) {
			child, ok := v[name]
			if !ok {
				continue
			}
			if len(parts) == 1 {
				delete(v, name)
				removed = true
				continue
			}
			next, ok, err := remove(child, parts[1:])
			if err != nil {
				return v, removed, err
			}
			if ok {
				v[name], removed = next, true
			}
		}
		return v, removed, nil
	case []any:
		i, err := strconv.Atoi(parts[0])
		if err != nil {
			return v, false, errShape
		}
		if i < 0 || i >= len(v) {
			return v, false, nil
		}
		if len(parts) == 1 {
			return slices.Delete(v, i, i+1), true, nil
		}
		next, ok, err := remove(v[i], parts[1:])
		v[i] = next
		return v, ok, err
	}
	return v, false, errShape
}

// put puts the value where the path leads, and makes objects on the way to it. What the event
// has no part of is not made.
func (r *rule) put(event map[string]any) (bool, error) {
	if _, ok := event[r.steps[0]]; !ok {
		return false, nil
	}
	if len(r.steps) == 1 {
		event[r.steps[0]] = r.value
		return true, nil
	}
	node := event[r.steps[0]]
	for i, part := range r.steps[1:] {
		last := i == len(r.steps)-2
		switch at := node.(type) {
		case map[string]any:
			name := part
			for _, other := range spellings(part) {
				if _, ok := at[other]; ok {
					name = other
					if last {
						at[name] = r.value // all that it can mean
					}
				}
			}
			if last {
				at[name] = r.value
				return true, nil
			}
			if _, ok := at[name]; !ok {
				at[name] = map[string]any{}
			}
			node = at[name]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil {
				return false, r.misplaced()
			}
			if n < 0 || n >= len(at) {
				return false, nil
			}
			if last {
				at[n] = r.value
				return true, nil
			}
			node = at[n]
		default:
			return false, r.misplaced()
		}
	}
	return false, nil
}

func (r *rule) misplaced() error { return fmt.Errorf("nothing can be put at %q: %w", r.path, errShape) }
