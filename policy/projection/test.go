package projection

import (
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/builtins"
	"github.com/permd/permd/policy/input"
)

// subject is a value that a rule compares with something.
type subject struct {
	field input.Parts // one, or none for the kind of the effect
	form  form
	index int // of word
}

// form is what a rule makes of a part of the input before it compares it.
type form int

const (
	entire form = iota
	word        // one of a list of words
	count       // the number of words
	pieces      // the words as deny and ask lines of lists prepare them for joined
	joined      // see pattern.JoinWords
)

// maxTestedBytes bounds the texts and lists that are tested: the evaluator may refuse
// longer ones (see package builtins).
const maxTestedBytes = 2 << 10

// joinCost is at least what the evaluator allocates to join words of maxTestedBytes: for
// each byte and word, four times in replace and twice in concat, and 16 for a table.
const joinCost = 24 * maxTestedBytes

// tooLong reports whether a value is longer than what may be tested. A word counts one
// byte more.
func tooLong(v input.Value) bool {
	n := len(v.Text) + len(v.Words)
	for _, w := range v.Words {
		n += len(w)
	}
	return n > maxTestedBytes
}

// typ returns the type of the value wherever it is defined.
func (s subject) typ() input.Type {
	switch s.form {
	case word, joined:
		return input.Text
	case count:
		return input.Number
	case pieces:
		return input.Other
	case entire:
	}
	if s.field.Empty() {
		return input.Text
	}
	return s.field.Type()
}

// of returns the value, given that of the part.
func (s subject) of(v input.Value) input.Value {
	switch {
	case s.form == joined:
		return input.Value{Type: input.Text, Text: pattern.JoinWords(v.Words)} // also of none
	case v.Type == input.Undefined || s.form == entire:
		return v
	case s.form == count:
		return input.Value{Type: input.Number, Number: len(v.Words)}
	case s.form == word && s.index < len(v.Words):
		return input.Value{Type: input.Text, Text: v.Words[s.index]}
	}
	return input.Value{}
}

// valueOf returns the value in an input.
func (s subject) valueOf(in *decisions.Input) input.Value {
	if s.field.Empty() {
		return input.Value{Type: input.Text, Text: string(in.Effect.Kind)}
	}
	return s.of(input.ValueOf(in, s.field))
}

// op is the operator of a test.
type op int

const (
	defined op = iota
	truthy
	equal
	notEqual
	oneOf // the value is one of the constants
	has   // the constant is one of the words
	begins
	ends
	contains
	matches
	less
	lessOrEqual
	greater
	greaterOrEqual
)

// test compares a value of the input with constants. Where an operand is undefined it
// does not hold. It can fail only because a text is too long, or because of what
// other calls of the evaluation have allocated: see cost.
type test struct {
	subject
	op      op
	negated bool
	cost    int64 // what the evaluator may have to allocate for the call, in bytes

	text    string
	number  int
	flag    bool
	words   []string // of equal
	typ     input.Type
	texts   map[string]bool // of oneOf
	numbers []int
	re      *regexp.Regexp
}

// succeeds reports whether the test succeeds for its value.
func (t *test) passes(v input.Value) bool {
	return (v.Type != input.Undefined && t.compare(v)) != t.negated
}

func (t *test) compare(v input.Value) bool {
	switch t.op {
	case defined:
		return true
	case truthy:
		return v.Type != input.Flag || v.Flag
	case equal:
		return t.equals(v)
	case notEqual:
		return !t.equals(v)
	case oneOf:
		if v.Type == input.Number {
			return slices.Contains(t.numbers, v.Number)
		}
		return v.Type == input.Text && t.texts[v.Text]
	case has:
		return slices.Contains(v.Words, t.text)
	case begins:
		return strings.HasPrefix(v.Text, t.text)
	case ends:
		return strings.HasSuffix(v.Text, t.text)
	case contains:
		return strings.Contains(v.Text, t.text)
	case matches:
		return t.re.MatchString(v.Text)
	case less:
		return v.Number < t.number
	case lessOrEqual:
		return v.Number <= t.number
	case greater:
		return v.Number > t.number
	case greaterOrEqual:
		return v.Number >= t.number
	}
	panic("unknown operator")
}

func (t *test) equals(v input.Value) bool {
	if v.Type != t.typ {
		return false
	}
	switch t.typ {
	case input.Text:
		return v.Text == t.text
	case input.Flag:
		return v.Flag == t.flag
	case input.Number:
		return v.Number == t.number
	case input.Words:
		return slices.Equal(v.Words, t.words)
	case input.Undefined, input.Other:
	}
	return false
}

// newTest translates a call of a builtin with a value of the input and a
// constant, nil if it is none that is understood.
func newTest(operator string, a, b operand) *test {
	switch operator {
	case "eq":
		if a.constant != nil {
			a, b = b, a
		}
		return equality(equal, a, b)
	case "neq":
		if a.constant != nil {
			a, b = b, a
		}
		return equality(notEqual, a, b)
	case "internal.member_2":
		return membership(a, b)
	case "startswith":
		return textTest(begins, a, b)
	case "endswith":
		return textTest(ends, a, b)
	case "contains":
		return textTest(contains, a, b)
	case "regex.match":
		t := textTest(matches, b, a)
		if t == nil {
			return nil
		}
		var err error
		if t.re, err = regexp.Compile(t.text); err != nil {
			return nil
		}
		bytes, ok := builtins.MatchCost(t.text, maxTestedBytes)
		if t.cost += bytes; !ok {
			return nil
		}
		return t
	case "lt":
		return order(less, greater, a, b)
	case "lte":
		return order(lessOrEqual, greaterOrEqual, a, b)
	case "gt":
		return order(greater, less, a, b)
	case "gte":
		return order(greaterOrEqual, lessOrEqual, a, b)
	}
	return nil
}

// operand is an operand of a builtin: a value of the input, a constant, or
// neither.
type operand struct {
	subject  *subject
	constant ast.Value
}

func equality(op op, a, b operand) *test {
	if a.subject == nil || b.constant == nil {
		return nil
	}
	t := &test{subject: *a.subject, op: op}
	switch c := b.constant.(type) {
	case ast.String:
		t.typ, t.text = input.Text, string(c)
	case ast.Boolean:
		t.typ, t.flag = input.Flag, bool(c)
	case ast.Number:
		n, ok := c.Int()
		if !ok {
			return nil
		}
		t.typ, t.number = input.Number, n
	case *ast.Array:
		t.typ = input.Words
		for i := range c.Len() {
			s, ok := c.Elem(i).Value.(ast.String)
			if !ok {
				return nil
			}
			t.words = append(t.words, string(s))
		}
	default:
		return nil
	}
	if t.typ != t.subject.typ() {
		return nil
	}
	return t
}

func membership(a, b operand) *test {
	switch {
	case a.subject != nil && b.constant != nil:
		typ := a.subject.typ()
		if typ != input.Text && typ != input.Number {
			return nil
		}
		t := &test{subject: *a.subject, op: oneOf, texts: map[string]bool{}}
		ok := true
		add := func(x *ast.Term) {
			switch c := x.Value.(type) {
			case ast.String:
				t.texts[string(c)] = true
			case ast.Number:
				n, isInt := c.Int()
				ok = ok && isInt
				t.numbers = append(t.numbers, n)
			default:
				ok = false
			}
		}
		switch c := b.constant.(type) {
		case ast.Set:
			c.Foreach(add)
		case *ast.Array:
			c.Foreach(add)
		default:
			return nil
		}
		if ok {
			return t
		}
	case a.constant != nil && b.subject != nil && b.subject.typ() == input.Words:
		if s, ok := a.constant.(ast.String); ok {
			return &test{subject: *b.subject, op: has, text: string(s)}
		}
	}
	return nil
}

func textTest(op op, a, b operand) *test {
	if a.subject == nil || b.constant == nil || a.subject.typ() != input.Text {
		return nil
	}
	s, ok := b.constant.(ast.String)
	if !ok {
		return nil
	}
	return &test{subject: *a.subject, op: op, text: string(s)}
}

// order translates a comparison by order; the other operator is for exchanged
// operands.
func order(op, exchanged op, a, b operand) *test {
	if a.constant != nil {
		a, b, op = b, a, exchanged
	}
	if a.subject == nil || b.constant == nil || a.subject.typ() != input.Number {
		return nil
	}
	c, ok := b.constant.(ast.Number)
	if !ok {
		return nil
	}
	n, ok := c.Int()
	if !ok {
		return nil
	}
	return &test{subject: *a.subject, op: op, number: n}
}
