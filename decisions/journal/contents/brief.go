package contents

import (
	"bytes"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// The members that Brief reads. In a text the quotes would be escaped, and no other member of
// a record has these names.
const (
	project = `,"project":`
	details = `,"details":`
)

var errNoRecord = errors.New("not the text of a record")

// Brief sets rec to no more of a record's JSON, or of the body that it shares with others, than
// its project and of each detail the program, path and host, which is many times as fast as
// reading all of it. What is wrong with the rest is not noticed.
func Brief(rec *decisions.Record, data []byte) error {
	list := rec.Details[:0]
	*rec = decisions.Record{}
	if len(data) == 0 || data[0] != '{' || data[len(data)-1] != '}' {
		return errNoRecord
	}
	if at := bytes.Index(data, []byte(project)); at >= 0 {
		data = data[at+len(project):]
		var ok bool
		if rec.Project, ok = strictjson.ParseString(strictjson.First(data)); !ok {
			return errNoRecord
		}
	}
	if at := bytes.Index(data, []byte(details)); at >= 0 {
		array := strictjson.First(data[at+len(details):])
		if strictjson.Kind(array) != '[' {
			return errNoRecord
		}
		whole := true
		err := strictjson.Each(array, func(_ string, value strictjson.Value) bool {
			var d decisions.EffectDetail
			d, whole = briefDetail(value)
			list = append(list, d)
			return whole
		})
		if err != nil || !whole {
			return errNoRecord
		}
	}
	rec.Details = list
	return nil
}

func briefDetail(value strictjson.Value) (d decisions.EffectDetail, ok bool) {
	ok = true
	for _, member := range []struct {
		name string
		to   *string
	}{{"path", &d.Path}, {"host", &d.Host}} {
		if text := strictjson.Find(value, member.name); text != nil && ok {
			*member.to, ok = strictjson.ParseString(text)
		}
	}
	words := strictjson.Find(value, "words")
	if words == nil {
		return d, ok
	}
	err := strictjson.Each(words, func(_ string, program strictjson.Value) bool {
		var text string
		text, ok = strictjson.ParseString(program)
		d.Words = []string{text}
		return false
	})
	return d, ok && err == nil
}
