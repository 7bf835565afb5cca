package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// Arithmetic whose value is known: sums, differences and products of decimal numbers and of
// variables that hold such numbers. Shells differ in the rest: in what a leading zero means
// (octal in bash and dash, nothing in zsh), where a number overflows, and in what they
// evaluate of a value that is no number, which can run commands.

const (
	maxDigits  = 9       // of a number and of a value
	maxResult  = 1 << 31 // of each step, either way
	maxOperand = 64      // numbers and variables of one expression
)

// calculate returns the value of an arithmetic expansion, if it is known.
func (s *walker) calculate(a *syntax.ArithmExp, at *scope) (string, bool) {
	c := calculation{s: s, at: at}
	if a.Bracket || a.Unsigned {
		return "", false
	}
	n, ok := c.value(a.X)
	return strconv.FormatInt(n, 10), ok
}

// calculates is calculate for an expansion with variables: where its value is not known,
// the text is not plain.
func (s *walker) calculates(a *syntax.ArithmExp, at *scope) bool {
	_, ok := s.calculate(a, at)
	if !ok && s.refusal == nil {
		s.refusal = &plainshell.Refusal{Construct: plainshell.Arithmetic, Offset: int(a.Pos().Offset()), Detail: "$((…)) with a variable that is not known to hold a number, or with more than + - *"}
	}
	return ok
}

type calculation struct {
	s        *walker
	at       *scope
	operands int
}

func (c *calculation) value(x syntax.ArithmExpr) (int64, bool) {
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return c.value(x.X)
	case *syntax.BinaryArithm:
		a, ok := c.value(x.X)
		if !ok {
			return 0, false
		}
		b, ok := c.value(x.Y)
		if !ok {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			a += b
		case syntax.Sub:
			a -= b
		case syntax.Mul:
			a *= b
		default:
			return 0, false
		}
		return a, a < maxResult && a > -maxResult
	case *syntax.Word:
		if c.operands++; c.operands > maxOperand || len(x.Parts) != 1 {
			return 0, false
		}
		switch part := x.Parts[0].(type) {
		case *syntax.Lit:
			if syntax.ValidName(part.Value) {
				return c.variable(part.Value)
			}
			return number(part.Value)
		case *syntax.ParamExp:
			if part.Param != nil && plainParam(part) {
				return c.variable(part.Param.Value)
			}
		}
	}
	return 0, false
}

// variable returns the value of a variable that the text has set.
func (c *calculation) variable(name string) (int64, bool) {
	value, ok := c.at.valueOf(name)
	if !ok || c.s.anyAssigned {
		return 0, false
	}
	return number(value)
}

// number returns the value of text that is a number to all shells.
func number(text string) (int64, bool) {
	if len(text) > maxDigits || !plainNumber(text) || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
