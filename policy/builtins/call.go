package builtins

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
)

// budget is what one evaluation may take. The Cancel of a query implements it; without
// one each call has its own limit only.
type budget interface {
	topdown.Cancel
	// Spend takes so many bytes of what the evaluation may take, and reports whether
	// there was so much left.
	Spend(bytes int64) bool
}

// The limits of one call.
const (
	maxBytes = 16 << 20 // allocated for the result and on the way to it
	maxSteps = 1 << 27  // simple steps, of which a processor does a hundred millions a second and more
	maxNodes = 1 << 20  // values that a comparison or a copy passes, also repeatedly
)

// bound estimates what a call takes, before it is made. A nil bound is that of a builtin
// which the compiler replaces, or which is plain.
type bound func(c *call)

// plain is the bound of a builtin that needs none: see [allowed].
var plain bound

// call is one call of a builtin.
type call struct {
	args     []*ast.Term
	patterns cache.InterQueryValueCache // those that are compiled already; may be nil
	bytes    int64                      // that it allocates, at most
	refuse   string                     // what there is too much of; "" if nothing
}

// limit returns a builtin with a bound.
func (b bound) limit(name string, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		limits, _ := bctx.Cancel.(budget)
		c := call{args: operands, patterns: bctx.InterQueryBuiltinValueCache}
		if b != nil {
			b(&c)
		}
		c.spend(limits)
		if c.refuse != "" {
			return c.refused(name, bctx.Location)
		}
		err := original(bctx, operands, iter)
		// Errors quote the operands, and OPA keeps them until the evaluation ends.
		if failed, ok := err.(*topdown.Error); ok && (failed.Code == topdown.BuiltinErr || failed.Code == topdown.TypeErr) { //nolint:errorlint // not one of the rest of the evaluation
			c.bytes = 4 * int64(len(failed.Message)) // with the errors that it wraps
			if c.spend(limits); c.refuse != "" {
				return c.refused(name, bctx.Location)
			}
		}
		return err
	}
}

// spend takes what the call allocates from the budget, nil if there is none.
func (c *call) spend(b budget) {
	if c.bytes > maxBytes || c.bytes > 0 && b != nil && !b.Spend(c.bytes) {
		c.refuse = "memory"
	}
}

// refused ends the evaluation.
func (c *call) refused(name string, at *ast.Location) error {
	return topdown.Halt{Err: &topdown.Error{
		Code: topdown.BuiltinErr, Location: at, Message: fmt.Sprintf("%s would take too much %s here", name, c.refuse),
	}}
}

// and returns the bound of a builtin that has two.
func (b bound) and(other bound) bound {
	return func(c *call) {
		b(c)
		other(c)
	}
}

// arg returns an operand's value, nil if there are fewer.
func (c *call) arg(i int) ast.Value {
	if i >= len(c.args) {
		return nil
	}
	return c.args[i].Value
}

// text returns an operand that is a text, "" if it is another value; then the builtin fails.
func (c *call) text(i int) string {
	s, _ := c.arg(i).(ast.String)
	return string(s)
}

// add adds to what the call allocates.
func (c *call) add(bytes int) { c.product(bytes, 1) }

// product adds a*b bytes to what the call allocates.
func (c *call) product(a, b int) {
	if a > maxBytes || b > maxBytes || a*b > maxBytes {
		c.refuse = "memory"
		return
	}
	c.bytes += int64(a * b)
}

// steps refuses a call that takes a*b steps, if those are too many.
func (c *call) steps(a, b int) {
	if a > 0 && b > maxSteps/a {
		c.refuse = "time"
	}
}

// all adds n bytes for each value in an operand, however deep and however often it occurs
// there, and six for each byte of its texts, as \u0000 has.
func (c *call) all(i, n int) {
	s := c.nodes(i)
	c.product(s.nodes, n)
	c.product(s.bytes, 6)
}

// nodes returns the size of an operand, and refuses one that is too large.
func (c *call) nodes(i int) size {
	var s size
	if v := c.arg(i); v != nil && !s.add(v) {
		c.refuse = "time"
		return size{}
	}
	return s
}

// size is that of a value that is written out: what occurs in it several times counts as
// often. A value can hold one other twice, that another twice and so on, and is small in
// memory but not when it is copied or written.
type size struct {
	nodes int // values
	bytes int // of texts and numbers
}

// add adds a value. It returns false as soon as there is too much.
func (s *size) add(v ast.Value) bool {
	s.nodes++
	ok := s.nodes <= maxNodes
	member := func(t *ast.Term) bool { // reports whether to stop
		ok = ok && s.add(t.Value)
		return !ok
	}
	switch v := v.(type) {
	case ast.String:
		s.bytes += len(v)
	case ast.Number:
		s.bytes += len(v)
	case *ast.Array:
		v.Until(member)
	case ast.Set:
		v.Until(member)
	case ast.Object:
		v.Until(func(k, v *ast.Term) bool { return member(k) || member(v) })
	}
	return ok
}

// length returns how many members a collection has, or bytes a text.
func length(v ast.Value) int {
	switch v := v.(type) {
	case ast.String:
		return len(v)
	case *ast.Array:
		return v.Len()
	case ast.Set:
		return v.Len()
	case ast.Object:
		return v.Len()
	}
	return 0
}

// each calls fn for each member of an array or a set, and for each value of an object.
func each(v ast.Value, fn func(ast.Value)) {
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(func(t *ast.Term) { fn(t.Value) })
	case ast.Set:
		v.Foreach(func(t *ast.Term) { fn(t.Value) })
	case ast.Object:
		v.Foreach(func(_, t *ast.Term) { fn(t.Value) })
	}
}

// isComposite reports whether a value has members.
func isComposite(v ast.Value) bool {
	switch v.(type) {
	case *ast.Array, ast.Set, ast.Object:
		return true
	}
	return false
}
