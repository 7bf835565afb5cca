package arguments

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// Texts in arguments may be anything: what is written to a file, what a form is filled with, a
// header. No mask knows all secrets among them. So of the input only those members are kept that
// effects were read from (a command, a path, an address), and of the others numbers and booleans,
// by names that look like names.
// Whether a call without the rest is the same is seen when it is decided again: its effects must
// come out as they were.

// content is what the effects of a call say of what it contains.
type content struct {
	masked     bool     // an effect has a secret
	secretFile bool     // it writes a file of secrets
	uses       bool     // it uses a tool that permd cannot look into, whose arguments rules may see
	members    []string // of the input, that effects were read from
	whole      bool     // an effect was read from the input as such, which may be no object
}

// contentOf looks at the effects of a decision whose Call is not nil.
func contentOf(d *decisions.Deliberation) *content {
	c, from := new(content), cmp.Or(d.Call().InputFrom, "rawInput")
	for i := range d.Len() {
		e := d.Effect(i)
		c.masked = c.masked || strings.Contains(e.Text, display.Masked)
		c.secretFile = c.secretFile || e.Kind == effects.KindWrite && e.Tags.Has(effects.Secret)
		c.uses = c.uses || e.Kind == effects.KindUse || e.Kind == effects.KindUnknown
		head, name, below := strings.Cut(e.From, ".")
		if head != from {
			continue
		}
		if end := strings.IndexAny(name, ".[ "); end >= 0 {
			name = name[:end]
		}
		switch {
		case !below:
			c.whole = true
		case !slices.Contains(c.members, name):
			c.members = append(c.members, name)
		}
	}
	return c
}

// reduced returns a call with the members of its input that effects were read from, and whether
// that is less than it was.
func (c *content) reduced(call *effects.Call) (*effects.Call, bool) {
	copied := *call
	input, less := c.reduce(call.Input)
	copied.Input = input
	if a := call.Announced; a != nil {
		announced, lessOfIt := c.reduced(a)
		copied.Announced, less = announced, less || lessOfIt
	}
	return &copied, less
}

func (c *content) reduce(input jsontext.Value) (_ jsontext.Value, less bool) {
	if len(input) == 0 {
		return input, false
	}
	if input.Kind() != '{' {
		if c.whole {
			return input, false
		}
		kept := empty(input)
		return kept, len(kept) != len(input)
	}
	o, err := strictjson.ParseObject(input)
	if err != nil {
		return nil, true
	}
	b := jsontext.Value{'{'}
	for _, m := range o {
		if !slices.Contains(c.members, m.Name) && !isName(m.Name) {
			less = true
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		if b, err = jsontext.AppendQuote(b, m.Name); err != nil {
			return nil, true
		}
		v := m.Value
		if !slices.Contains(c.members, m.Name) {
			v = empty(v)
			less = less || len(v) != len(m.Value)
		}
		b = append(append(b, ':'), v...)
	}
	return append(b, '}'), less
}

// isName reports whether the name of a member looks like that of a parameter, such as file_path,
// maxResults or base64: words of letters, each followed by a short number at most. Any other
// name may be a secret, since the agent chooses names as freely as values.
func isName(name string) bool {
	if name == "" || len(name) > maxName || display.HoldsSecret(name) {
		return false
	}
	digits := 0
	for i := range len(name) {
		c := name[i]
		isDigit := '0' <= c && c <= '9'
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case isDigit:
			digits++
			if i == 0 || digits > maxDigits {
				return false
			}
		case isLetter && digits > 0, !isLetter && c != '_' && c != '-' && c != '.':
			return false
		default:
			digits = 0
		}
	}
	return true
}

// Bounds of a name, in bytes: of all of it, and of a number in it.
const (
	maxName   = 40
	maxDigits = 3
)

// empty returns a value of the same kind without any text.
func empty(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '"':
		return jsontext.Value(`""`)
	case '{':
		return jsontext.Value(`{}`)
	case '[':
		return jsontext.Value(`[]`)
	}
	return v
}
