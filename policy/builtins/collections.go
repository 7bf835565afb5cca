package builtins

import (
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	opabuiltins "github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// bytesPerNode is the memory of one node of a copied value: the term, the value that its
// interface points to, its entry in a table, and the overhead of the garbage collector.
const bytesPerNode = 160

// compare bounds comparisons with the given operand: comparing two values visits a part that
// they share as often as it occurs. An operand without members ends each comparison at once.
func compare(operand int) bound {
	return func(c *call) {
		if !isComposite(c.arg(operand)) {
			return
		}
		for i := range c.args {
			if isComposite(c.arg(i)) {
				c.nodes(i)
			}
		}
	}
}

// subset is naive for two arrays.
func subset(c *call) {
	c.steps(c.nodes(0).nodes, length(c.arg(1)))
	c.nodes(1)
}

// members is the bound of a builtin that copies the members of its operands and nothing
// in them: a pointer and a hash each. Where arrays grow that way, what OPA takes on the stack
// for each member when it unifies two arrays counts as well.
func members(bytes int) bound {
	return func(c *call) {
		for i := range c.args {
			if isComposite(c.arg(i)) {
				c.product(length(c.arg(i)), bytes)
			}
		}
	}
}

// sets bounds the operators of two sets.
func sets(c *call) { members(128)(c) }

// union bounds what makes one set of the sets in another.
func union(c *call) {
	n := 0
	each(c.arg(0), func(v ast.Value) { n += length(v) })
	c.product(n, 128)
}

// flatten makes one array of those in another.
func flatten(c *call) {
	n := 0
	each(c.arg(0), func(v ast.Value) { n += 1 + length(v) })
	c.product(n, 256)
}

// edit bounds what copies a value with changes in it: it may be copied in full, and by
// json.patch for each change.
func edit(c *call) {
	changes := 1
	if v, ok := c.arg(1).(*ast.Array); ok {
		changes += v.Len()
	}
	whole := 0
	for i := range c.args {
		if isComposite(c.arg(i)) {
			whole += c.nodes(i).nodes
		}
	}
	c.product(whole, bytesPerNode)
	c.steps(whole, changes)
	// A path is cut at its slashes.
	paths := 0
	each(c.arg(1), func(v ast.Value) { paths += length(v) })
	c.product(paths, 16)
}

// walk passes what it walks without a look at the deadline where a path says where to go.
func walk(c *call) {
	if c.nodes(0); c.refuse == "" {
		c.add(256)
	}
}

// products bounds what compares each member of one operand with each of the other.
func products(c *call) {
	n := func(v ast.Value) int {
		if isComposite(v) {
			return length(v)
		}
		return 1
	}
	c.product(n(c.arg(0)), 256*n(c.arg(1)))
}

// reachable bounds [reach].
func reachable(c *call) {
	n := length(c.arg(0)) + length(c.arg(1))
	each(c.arg(0), func(v ast.Value) { n += length(v) })
	c.product(n, 96)
}

// reach is graph.reachable. OPA's visits a node as often as there are paths to it of the
// same length, which can be exponentially many; this one once.
func reach(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
	graph, err := opabuiltins.ObjectOperand(operands[0].Value, 1)
	if err != nil {
		return err
	}
	switch operands[1].Value.(type) {
	case *ast.Array, ast.Set:
	default:
		return opabuiltins.NewOperandTypeErr(2, operands[1].Value, "{array, set}")
	}
	reached := ast.NewSet()
	var next []*ast.Term
	visit := func(v ast.Value) {
		if node := ast.NewTerm(v); !reached.Contains(node) && graph.Get(node) != nil {
			reached.Add(node)
			next = append(next, node)
		}
	}
	each(operands[1].Value, visit)
	for len(next) > 0 {
		node := next[len(next)-1]
		next = next[:len(next)-1]
		if edges := graph.Get(node).Value; !isObject(edges) {
			each(edges, visit)
		}
	}
	return iter(ast.NewTerm(reached))
}

func isObject(v ast.Value) bool {
	_, ok := v.(ast.Object)
	return ok
}

// maxDigits bounds a number that is computed with, and its exponent. OPA bounds those that
// it reads, and not those that are computed: with each multiplication of a number by itself
// it has twice as many digits.
const maxDigits = 4096

// numbers bounds calculations.
func numbers(c *call) { c.digits() }

// product bounds the product of numbers, which has as many digits as they have together.
func product(c *call) {
	digits := c.digits()
	c.steps(digits, digits/8)
}

// digits adds what calculating with the numbers among the operands and their members takes,
// and returns how many digits they have together.
func (c *call) digits() int {
	digits := 0
	check := func(v ast.Value) {
		if n, ok := v.(ast.Number); ok {
			d, ok := digitsOf(string(n))
			if digits += d; !ok {
				c.refuse = "memory"
			}
		}
	}
	for i := range c.args {
		check(c.arg(i))
		each(c.arg(i), check)
	}
	c.product(digits, 16)
	return digits
}

// digitsOf returns how many digits a number has, written out; not ok if too many.
func digitsOf(n string) (digits int, ok bool) {
	mantissa, exponent, found := strings.Cut(strings.ToLower(n), "e")
	digits = len(mantissa)
	if found {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxDigits || e < -maxDigits {
			return 0, false
		}
		digits += max(e, -e)
	}
	return digits, digits <= 2*maxDigits
}
