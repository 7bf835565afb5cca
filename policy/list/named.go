package list

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/pattern"
)

// restTest tests the words after those that an entry spells out: they are
// harmless, or those that are not are exactly the words that it names.
func restTest(r *pattern.Run) body {
	n := len(r.Words)
	if len(r.Named) == 0 {
		return body{fmt.Sprintf("input.effect.harmless_from <= %d", n)}
	}
	b := body{
		fmt.Sprintf("input.effect.options_from <= %d", n),
		fmt.Sprintf("named := [i | some i in input.effect.harmful; i >= %d]", n),
		fmt.Sprintf("count(named) == %d", len(r.Named)),
	}
	for k, word := range r.Named {
		b = append(b, fmt.Sprintf("input.effect.args[named[%d]] == %s", k, strconv.Quote(word)))
		if !pattern.IsOption(word) {
			b = append(b, fmt.Sprintf("named[%d] == named[%d] + 1", k, k-1))
		}
	}
	// The last word that is not harmless is among them.
	return append(b, fmt.Sprintf("input.effect.harmless_from <= named[%d] + 1", len(r.Named)-1))
}

// namedTest tests that everything an entry names is among the words, in any
// order and position; a value may be in the word of its option.
func namedTest(args string, r *pattern.Run) body {
	var b body
	for k, option := range r.Named {
		if !pattern.IsOption(option) {
			continue
		}
		value, has := r.ValueOf(k)
		if !has {
			b = append(b, anyOf(args, is("word", option), begins("word", option+"=")))
			continue
		}
		same := option + "=" + value
		ways := []string{is("word", same)}
		if len(option) == 2 {
			ways = append(ways, is("word", option+value))
		}
		b = append(b, anyOf(args, append(ways, is("word", option))...), anyOf(args, append(ways, is("word", value))...))
	}
	return b
}

// anyOf tests that one of the words has one of the forms.
func anyOf(args string, ways ...string) string {
	all := make([]string, len(ways))
	for i, way := range ways {
		all[i] = fmt.Sprintf("count([1 | some word in %s; %s])", args, way)
	}
	return strings.Join(all, " + ") + " > 0"
}
