package gatehttp

import (
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// maxNames is of how many names of members the texts are put together.
const maxNames = 1 << 10

// joined puts the texts of a value together, as a reader may: each kind in their order.
type joined struct {
	f      *forms
	all    text // names and values
	names  text
	values text // without those that say what an object is
	named  map[string]*text
	found  bool // a form was in texts that are read already
}

// text is the end of a text of pieces, of which what was before has been read.
type text struct {
	strings.Builder

	pieces int
}

func (j *joined) addTo(t *text, s string) {
	if s == "" || j.found || len(j.f.all) == 0 {
		return
	}
	t.pieces++
	overlap := j.f.overlap()
	if len(s) >= 2*overlap {
		// It was read by itself, so its ends are enough.
		t.WriteString(s[:overlap])
		j.read(t)
		t.Reset()
		s = s[len(s)-overlap:]
	}
	t.WriteString(s)
	if t.Len() >= j.f.window() {
		j.read(t)
		rest := strings.Clone(t.String()[t.Len()-overlap:])
		t.Reset()
		t.WriteString(rest)
	}
}

func (j *joined) read(t *text) { j.found = j.found || t.pieces > 1 && j.f.in(t.String()) }

func (j *joined) addName(name string) {
	j.addTo(&j.all, name)
	j.addTo(&j.names, name)
}

// add adds the value of a member, or of a list that is one.
func (j *joined) add(name, value string) {
	j.addTo(&j.all, value)
	if isValue(name) {
		j.addTo(&j.values, value)
	}
	t := j.named[name]
	if t == nil {
		if len(j.named) == maxNames {
			return
		}
		t = new(text)
		j.named[name] = t
	}
	j.addTo(t, value)
}

// isValue reports whether the member of that name does not say what an object is.
func isValue(name string) bool { return name != "type" && name != "role" && name != "toolCallId" }

// hold reports whether a text of several pieces holds one of the forms.
func (j *joined) hold() bool {
	for _, t := range []*text{&j.all, &j.names, &j.values} {
		j.read(t)
	}
	for _, t := range j.named {
		j.read(t)
	}
	return j.found
}

// Texts returns the texts of a JSON value put together in their order, without names, and
// without those that say of which type an object of AAP or MCP is, or whose. It is for values
// that belong together and come one by one. What cannot be read is left out.
func Texts(v strictjson.Value) string {
	var b strings.Builder
	addTexts(&b, "", v)
	return b.String()
}

func addTexts(b *strings.Builder, name string, v strictjson.Value) {
	switch k := strictjson.Kind(v); k {
	case '{', '[':
		_ = strictjson.Each(v, func(member string, value strictjson.Value) bool {
			if k == '[' {
				member = name
			}
			addTexts(b, member, value)
			return true
		})
	case 'n', 't', 'f':
	case '"':
		if s, _ := strictjson.ParseString(v); isValue(name) {
			b.WriteString(s)
		}
	default:
		if isValue(name) {
			b.Write(v)
		}
	}
}
