package builtins

import (
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The limits of patterns. A pattern of one line can stand for a program of a hundred
// megabytes: (a{1000}){1000}, and a class such as \pL for a table of some hundred ranges.
const (
	maxPattern      = 16 << 10 // bytes
	maxInstructions = 32 << 10
	bytesPerInstr   = 256 // for the instruction, while it is compiled and afterwards
)

// regex is what is known of a regular expression.
type regex struct {
	instructions int // of its program, with the ranges of its classes, at most
	groups       int
}

// patterns are those that were seen, since each is used many times. They never come from
// the input (policy/validate_patterns.go), so they are few; if there are too many, they are
// forgotten.
var patterns struct {
	sync.RWMutex
	seen map[string]regex
}

const maxPatterns = 4096

// patternOf returns the size of a pattern; not ok if it is too large or none.
func patternOf(text string) (p regex, ok bool) {
	if len(text) > maxPattern {
		return regex{}, false
	}
	patterns.RLock()
	p, ok = patterns.seen[text]
	patterns.RUnlock()
	if !ok {
		if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
			p = regex{instructions: instructions(tree), groups: tree.MaxCap()}
		}
		patterns.Lock()
		if len(patterns.seen) >= maxPatterns || patterns.seen == nil {
			patterns.seen = map[string]regex{}
		}
		patterns.seen[strings.Clone(text)] = p
		patterns.Unlock()
	}
	return p, p.instructions <= maxInstructions
}

// instructions returns how long the program of an expression is, at most.
func instructions(re *syntax.Regexp) int {
	n := 2 + len(re.Rune)
	inner := 0
	for _, sub := range re.Sub {
		inner = min(inner+instructions(sub), 2*maxInstructions)
	}
	if re.Op == syntax.OpRepeat {
		inner *= max(re.Min, re.Max) + 1
	}
	return min(n+inner, 2*maxInstructions)
}

// compiled adds what a pattern takes, and returns what is known of it.
func (c *call) compiled(i int) regex {
	p, ok := patternOf(c.text(i))
	if !ok {
		c.refuse = "memory"
	}
	if c.patterns != nil {
		if _, ok := c.patterns.Get(c.arg(i)); ok {
			return p
		}
	}
	c.product(p.instructions, bytesPerInstr)
	return p
}

// regexParse bounds what only parses a pattern.
func regexParse(c *call) {
	if len(c.text(0)) > maxPattern {
		c.refuse = "memory"
		return
	}
	c.product(len(c.text(0)), 256)
}

// regexMatch: each instruction is tried at each byte, at most.
func regexMatch(c *call) {
	p := c.compiled(0)
	c.steps(p.instructions, len(c.text(1)))
	c.product(p.instructions, 32)
}

// MatchCost returns how many bytes regex.match takes of what an evaluation may allocate, for
// a pattern that was not used before; not ok if it is refused for some text of at most
// textBytes bytes.
func MatchCost(pattern string, textBytes int) (bytes int64, ok bool) {
	c := call{args: []*ast.Term{ast.StringTerm(pattern), ast.StringTerm("")}}
	regexMatch(&c)
	p, _ := patternOf(pattern)
	c.steps(p.instructions, textBytes)
	c.spend(nil)
	return c.bytes, c.refuse == ""
}

// regexFind bounds what returns the parts that match, or those between them.
func regexFind(c *call) {
	p := c.compiled(0)
	n := len(c.text(1)) + 1
	if most, ok := c.arg(2).(ast.Number); ok && len(c.args) > 2 {
		if m, ok := most.Int(); ok && m >= 0 {
			n = min(n, m)
		}
	}
	c.steps(p.instructions, len(c.text(1)))
	c.product(p.instructions, 64)
	c.product(n, bytesPerPart)
}

// regexReplace: OPA has it find all matches with all their groups first.
func regexReplace(c *call) {
	s, value := c.text(0), c.text(2)
	p := c.compiled(1)
	c.steps(p.instructions*(p.groups+1), len(s))
	c.product(p.instructions, 16*(p.groups+1))
	c.product(len(s)+1, 16*(p.groups+1)+24+len(value))
	c.product(strings.Count(value, "$")+1, len(s))
}

// globMatch: a glob is translated into a tree whose size is bounded by its text.
func globMatch(c *call) {
	if len(c.text(0)) > maxPattern {
		c.refuse = "memory"
	}
}
