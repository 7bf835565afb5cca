package toolschema

import (
	"encoding/json"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// work reckons, before a schema is put to the arguments, how much work that will
// be: schemas that refer to others twice, in a row, double it with every step, and
// the library cannot be stopped.
type work struct {
	memo map[pair]*weight
	// names are those of members that the schema has.
	names map[string]bool
	// wanted is what it costs to compute with the numbers that schemas list.
	wanted map[*jsonschema.Schema]int
}

// pair is a schema and the value that it is put to.
type pair struct {
	schema *jsonschema.Schema
	value  *node
}

// weight is what a pair costs.
type weight struct {
	steps int
	// chain is how many schemas the value goes through, one in the other.
	chain int
	known bool // false while it is computed
}

// weigh returns the weight of a pair, or an error where it is too much.
func (w *work) weigh(s *jsonschema.Schema, n *node) (*weight, error) {
	p := pair{s, n}
	if known := w.memo[p]; known != nil {
		if !known.known {
			return nil, unchecked("it refers to itself")
		}
		return known, nil
	}
	sum := &weight{steps: 1 + len(n.children), chain: 1}
	w.memo[p] = sum
	if len(w.memo) > maxPairs {
		return nil, tooMuch()
	}
	if err := w.here(s, n, sum); err != nil {
		return nil, err
	}
	if err := w.below(s, n, sum); err != nil {
		return nil, err
	}
	if sum.steps > maxWork {
		return nil, tooMuch()
	}
	sum.known = true
	return sum, nil
}

func tooMuch() error { return unchecked("it would take too long") }

// here adds what is done with the value itself.
func (w *work) here(s *jsonschema.Schema, n *node, sum *weight) error {
	sum.steps += len(s.Required) + len(s.PatternProperties)
	if s.Enum != nil {
		sum.steps += 4*len(s.Enum.Values)*min(n.size, 64) + w.compared(s, s.Enum.Values, n)
	}
	if s.Const != nil {
		sum.steps += w.compared(s, []any{*s.Const}, n)
	}
	if s.Const != nil || s.UniqueItems {
		sum.steps += 20*n.size + n.numbers
	}
	if _, ok := n.value.(json.Number); ok {
		sum.steps += ranges(s) * n.numbers
		if s.MultipleOf != nil {
			sum.steps += 4 * (n.numbers + (s.MultipleOf.Num().BitLen()+s.MultipleOf.Denom().BitLen())/64)
		}
	}
	if text, ok := n.value.(string); ok {
		sum.steps += len(text)/256 + steps(s.Pattern, text)
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
		more, err := w.weigh(sub, n)
		if err != nil {
			return err
		}
		sum.steps += more.steps
		if sum.chain = max(sum.chain, more.chain+1); sum.chain > maxChain || sum.steps > maxWork {
			return tooMuch()
		}
	}
	return nil
}

// below adds what is done with what is in the value.
func (w *work) below(s *jsonschema.Schema, n *node, sum *weight) error {
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
		more, err := w.weigh(sub, child)
		if err != nil {
			return err
		}
		if sum.steps += more.steps; sum.steps > maxWork {
			return tooMuch()
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
				sum.steps += steps(re, name)
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

// steps is about how much work a pattern has with a text, 0 for none.
func steps(re jsonschema.Regexp, text string) int {
	p, ok := re.(*program)
	if !ok {
		return 0
	}
	return 1 + p.size*(len(text)+1)/16
}

// ranges is how many bounds a schema has for numbers.
func ranges(s *jsonschema.Schema) (n int) {
	for _, r := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if r != nil {
			n++
		}
	}
	return n
}

// compared is what the numbers add where a value is held against those that a
// schema lists: the library makes fractions of both, each time.
func (w *work) compared(s *jsonschema.Schema, values []any, n *node) int {
	const most = 2_000
	if n.numbers == 0 {
		return 0
	}
	cost, known := w.wanted[s]
	if !known {
		cost = numbersIn(values)
		w.wanted[s] = cost
	}
	if cost == 0 {
		return 0
	}
	return cost + len(values)*min(n.numbers, most)
}

func numbersIn(v any) (cost int) {
	switch v := v.(type) {
	case json.Number:
		return costOf(string(v))
	case []any:
		for _, item := range v {
			cost += numbersIn(item)
		}
	case map[string]any:
		for _, item := range v {
			cost += numbersIn(item)
		}
	}
	return cost
}
