package builtins

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
)

// bytesPerPart is what one text in an array takes besides its bytes, and what OPA takes on
// the stack when it unifies the array with another.
const bytesPerPart = 256

// texts is the bound of a builtin that makes at most factor bytes of each byte of its texts.
func texts(factor int) bound {
	return func(c *call) {
		for i := range c.args {
			c.product(len(c.text(i)), factor)
		}
	}
}

func concat(c *call) {
	n, members := 0, 0
	each(c.arg(1), func(v ast.Value) { n += length(v); members++ })
	c.add(n)
	c.product(len(c.text(0)), members)
}

// replace: an empty text is found before each character and at the end.
func replace(c *call) {
	s, old := c.text(0), c.text(1)
	c.steps(len(s), min(len(old), 64))
	c.product(len(old), 16) // its table
	c.product(strings.Count(s, old), len(c.text(2)))
	c.product(len(s), 2)
}

// replaceN: Go's replacer has a table of up to 256 entries for each text that is replaced.
func replaceN(c *call) {
	patterns, ok := c.arg(0).(ast.Object)
	if !ok {
		return
	}
	s := c.text(1)
	c.product(patterns.Len(), 4096)
	c.product(len(s), 2)
	c.steps(len(s), patterns.Len())
	patterns.Until(func(k, v *ast.Term) bool {
		old, _ := k.Value.(ast.String)
		c.product(strings.Count(s, string(old)), length(v.Value))
		c.product(len(old), 64)
		return c.refuse != ""
	})
}

func split(c *call) {
	c.product(strings.Count(c.text(0), c.text(1))+1, bytesPerPart)
}

// search: outside of ASCII both texts become arrays of runes, which are compared naively.
func search(c *call) {
	s, part := c.text(0), c.text(1)
	if ascii(s) && ascii(part) {
		c.product(strings.Count(s, part), bytesPerPart)
		return
	}
	c.steps(len(s), len(part))
	c.product(len(s)+len(part), 4)
	c.product(len(s), bytesPerPart/4)
}

// trim looks at each character of the cutset for each of the text.
func trim(c *call) {
	cutset := c.text(1)
	if ascii(cutset) {
		return
	}
	c.steps(len(c.text(0)), len(cutset))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxAffixes bounds the texts of which strings.any_prefix_match makes a tree, which OPA
// keeps for later evaluations.
const maxAffixes = 256 << 10

func anyMatch(c *call) {
	for i := range c.args {
		n, members := 0, 0
		each(c.arg(i), func(v ast.Value) { n += length(v); members++ })
		if i == 1 && n > maxAffixes {
			c.refuse = "memory"
		}
		c.product(n, 16)
		c.product(members, bytesPerPart)
	}
}

// writeOut bounds what writes its operands as text.
func writeOut(c *call) {
	for i := range c.args {
		c.all(i, 32)
	}
}

// printed: print writes each combination of its operands, which are sets.
func printed(c *call) {
	n := 1
	each(c.arg(0), func(v ast.Value) { n = min(n*max(length(v), 1), maxSteps) })
	whole := c.nodes(0)
	c.product(n, 32*whole.nodes+6*whole.bytes)
}

// marshal: a control character takes six bytes.
func marshal(c *call) { c.all(0, bytesPerNode) }

// unmarshal: each value takes much more than its text, which can be one digit and a comma.
func unmarshal(c *call) {
	s := c.text(0)
	values := 1
	for i := range len(s) {
		switch s[i] {
		case ',', ':', '[', '{':
			values++
		}
	}
	c.product(values, 2*bytesPerNode)
	c.product(len(s), 4)
}

// timeFormat: an element of a layout becomes a name or digits, at most ten times as long.
func timeFormat(c *call) {
	numbers(c)
	each(c.arg(0), func(v ast.Value) { c.product(length(v), 16) })
}

// maxFormatted bounds a width and a precision in formats: Go ignores larger ones.
const maxFormatted = 1e6

// sprintf: each verb can write any operand, to any width.
func sprintf(c *call) {
	format := c.text(0)
	args, _ := c.arg(1).(*ast.Array)
	whole, longest, numeric := 0, 0, 0
	if args != nil {
		for i := range args.Len() {
			var s size
			v := args.Elem(i).Value
			if !s.add(v) {
				c.refuse = "memory"
				return
			}
			n := s.bytes + 8*s.nodes
			if number, ok := v.(ast.Number); ok {
				if f, ok := number.Float64(); ok && f > -maxFormatted && f < maxFormatted {
					numeric = max(numeric, int(max(f, -f)))
				}
				n += 400 // %f of a large float
			}
			whole += n
			longest = max(longest, n)
		}
	}
	verbs, indexed, quoted := verbsOf(format, func(width int) { c.add(width) }, numeric)
	factor := 2
	if quoted {
		factor = 6
	}
	if indexed {
		c.product(verbs*longest, factor)
	}
	c.product(whole, factor)
	c.product(verbs, 32)
	c.add(2 * len(format))
}

// verbsOf reads a format: how many verbs it has, whether any names its operand by number,
// and whether any writes more than the operand's text. It calls add with each width and
// precision; star is what a width can be that is an operand.
func verbsOf(format string, add func(int), star int) (verbs int, indexed, quoted bool) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		verbs++
		for i++; i < len(format); i++ {
			ch := format[i]
			switch {
			case ch == '[':
				indexed = true
				for i < len(format) && format[i] != ']' {
					i++
				}
				continue
			case ch == '*':
				add(star)
				continue
			case ch >= '0' && ch <= '9':
				start := i
				for i+1 < len(format) && format[i+1] >= '0' && format[i+1] <= '9' {
					i++
				}
				if width, err := strconv.Atoi(format[start : i+1]); err == nil && width <= maxFormatted {
					add(width)
				}
				continue
			case strings.IndexByte("+-# .", ch) >= 0:
				quoted = quoted || ch == '#' || ch == '+'
				continue
			}
			quoted = quoted || strings.IndexByte("svd%", ch) < 0
			break
		}
	}
	return verbs, indexed, quoted
}
