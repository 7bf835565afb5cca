package toolschema

import (
	"encoding/json"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// estimator estimates, before arguments are validated, how much work that will be: a
// chain of schemas that each refer to the next one twice doubles it at each step, and
// the library cannot be interrupted.
type estimator struct {
	memo map[pair]*cost
	// names are the names of members in the schema.
	names map[string]bool
	// listedCost is the cost of computing with the numbers that a schema lists (enum,
	// const).
	listedCost map[*jsonschema.Schema]int
}

// pair is a schema and a value that it applies to.
type pair struct {
	schema *jsonschema.Schema
	value  *node
}

// cost is the cost of validating a pair.
type cost struct {
	steps int
	// chain is the number of schemas that apply to the value through each other.
	chain int
	done  bool // false while the cost is being computed
}

// estimate returns the cost of a pair, or an error if it is too high.
func (w *estimator) estimate(s *jsonschema.Schema, n *node) (*cost, error) {
	p := pair{s, n}
	if known := w.memo[p]; known != nil {
		if !known.done {
			return nil, uncheckedf("it refers to itself")
		}
		return known, nil
	}
	sum := &cost{steps: 1 + len(n.children), chain: 1}
	w.memo[p] = sum
	if len(w.memo) > maxPairs {
		return nil, tooLongError()
	}
	if err := w.addOwn(s, n, sum); err != nil {
		return nil, err
	}
	if err := w.addChildren(s, n, sum); err != nil {
		return nil, err
	}
	if sum.steps > maxWork {
		return nil, tooLongError()
	}
	sum.done = true
	return sum, nil
}

func tooLongError() error { return uncheckedf("it would take too long") }

// addOwn adds the cost of validating the value itself.
func (w *estimator) addOwn(s *jsonschema.Schema, n *node, sum *cost) error {
	sum.steps += len(s.Required) + len(s.PatternProperties)
	if s.Enum != nil {
		sum.steps += 4*len(s.Enum.Values)*min(n.size, 64) + w.compareSteps(s, s.Enum.Values, n)
	}
	if s.Const != nil {
		sum.steps += w.compareSteps(s, []any{*s.Const}, n)
	}
	if s.Const != nil || s.UniqueItems {
		sum.steps += 20*n.size + n.numbers
	}
	if _, ok := n.value.(json.Number); ok {
		sum.steps += rangeCount(s) * n.numbers
		if s.MultipleOf != nil {
			sum.steps += 4 * (n.numbers + (s.MultipleOf.Num().BitLen()+s.MultipleOf.Denom().BitLen())/64)
		}
	}
	if text, ok := n.value.(string); ok {
		sum.steps += len(text)/256 + patternSteps(s.Pattern, text)
	}
	var on []*jsonschema.Schema
	on = append(on, s.Ref, s.Not, s.If, s.Then, s.Else)
	on = append(append(append(on, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, d := range s.DependentRequired {
		sum.steps += len(d)
	}
	for _, d := range s.DependentSchemas {
		on = append(on, d)
	}
	for _, d := range s.Dependencies {
		switch d := d.(type) {
		case []string:
			sum.steps += len(d)
		case *jsonschema.Schema:
			on = append(on, d)
		}
	}
	for _, sub := range on {
		if sub == nil {
			continue
		}
		more, err := w.estimate(sub, n)
		if err != nil {
			return err
		}
		sum.steps += more.steps
		if sum.chain = max(sum.chain, more.chain+1); sum.chain > maxChain || sum.steps > maxWork {
			return tooLongError()
		}
	}
	return nil
}

// addChildren adds the cost of validating the elements or members of the value.
func (w *estimator) addChildren(s *jsonschema.Schema, n *node, sum *cost) error {
	for name := range s.Properties {
		w.names[name] = true
	}
	for _, name := range s.Required {
		w.names[name] = true
	}
	add := func(to any, child *node) error {
		sub, _ := to.(*jsonschema.Schema)
		if sub == nil {
			return nil
		}
		more, err := w.estimate(sub, child)
		if err != nil {
			return err
		}
		if sum.steps += more.steps; sum.steps > maxWork {
			return tooLongError()
		}
		return nil
	}
	for i, child := range n.children {
		to := []any{s.Items, s.AdditionalItems, s.Items2020, s.Contains, s.UnevaluatedItems}
		if n.names != nil {
			name := n.names[i]
			to = []any{s.Properties[name], s.UnevaluatedProperties}
			if s.Properties[name] == nil {
				to = append(to, s.AdditionalProperties)
			}
			for re, sub := range s.PatternProperties {
				sum.steps += patternSteps(re, name)
				to = append(to, sub)
			}
			if err := add(s.PropertyNames, n.nameNodes[i]); err != nil {
				return err
			}
		} else {
			if i < len(s.PrefixItems) {
				to = append(to, s.PrefixItems[i])
			}
			if list, ok := s.Items.([]*jsonschema.Schema); ok && i < len(list) {
				to = append(to, list[i])
			}
		}
		for _, sub := range to {
			if err := add(sub, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// patternSteps approximates the cost of matching a pattern, 0 for none.
func patternSteps(re jsonschema.Regexp, text string) int {
	p, ok := re.(*program)
	if !ok {
		return 0
	}
	return 1 + p.size*(len(text)+1)/16
}

// rangeCount returns the number of bounds that a schema has for numbers.
func rangeCount(s *jsonschema.Schema) (n int) {
	for _, r := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if r != nil {
			n++
		}
	}
	return n
}

// compareSteps is the additional cost of numbers when a value is compared with those
// that a schema lists: the library converts both to fractions each time.
func (w *estimator) compareSteps(s *jsonschema.Schema, values []any, n *node) int {
	const maxSteps = 2_000
	if n.numbers == 0 {
		return 0
	}
	cost, known := w.listedCost[s]
	if !known {
		cost = numbersCost(values)
		w.listedCost[s] = cost
	}
	if cost == 0 {
		return 0
	}
	return cost + len(values)*min(n.numbers, maxSteps)
}

func numbersCost(v any) (cost int) {
	switch v := v.(type) {
	case json.Number:
		return numberCost(string(v))
	case []any:
		for _, item := range v {
			cost += numbersCost(item)
		}
	case map[string]any:
		for _, item := range v {
			cost += numbersCost(item)
		}
	}
	return cost
}
