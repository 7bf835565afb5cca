package gatehttp

import (
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// maxNames is of how many names of members the texts are put together.
const maxNames = 1 << 10

// joined puts the texts of a value together, as a reader may: each kind in their order.
type joined struct {
	all    text // names and values
	names  text
	values text // without those that say what an object is
	named  map[string]*text
}

// text is a text of pieces.
type text struct {
	strings.Builder
	pieces int
}

func (t *text) add(s string) {
	if s != "" {
		t.WriteString(s)
		t.pieces++
	}
}

func (j *joined) addName(name string) {
	j.all.add(name)
	j.names.add(name)
}

// add adds the value of a member, or of a list that is one.
func (j *joined) add(name, value string) {
	j.all.add(value)
	if name != "type" && name != "role" && name != "toolCallId" {
		j.values.add(value)
	}
	t := j.named[name]
	if t == nil {
		if len(j.named) == maxNames {
			return
		}
		t = new(text)
		j.named[name] = t
	}
	t.add(value)
}

// hold reports whether a text of several pieces holds one of the forms.
func (j *joined) hold(f *forms) bool {
	texts := []*text{&j.all, &j.names, &j.values}
	for _, t := range j.named {
		texts = append(texts, t)
	}
	for _, t := range texts {
		if t.pieces > 1 && f.in(t.String()) {
			return true
		}
	}
	return false
}

// Texts returns the texts of a JSON value put together in their order, without names, and
// without those that say of which type an object of AAP or MCP is, or whose. It is for values
// that belong together and come one by one. What cannot be read is left out.
func Texts(v strictjson.Value) string {
	j := joined{named: map[string]*text{}}
	echoesOne(v, "", new(forms), &j)
	return j.values.String()
}
