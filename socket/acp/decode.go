package acp

import (
	"fmt"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Bounds of the parts of one message; its total length is bounded by the socket.
const (
	maxOptions = 64
	maxID      = 1024 // bytes of a session's, call's or option's id
	maxName    = 4096 // bytes of an option's name
	maxItems   = 256  // locations, and content items, of one call
	maxDefects = 32   // kept of one call; one alone keeps it from being allowed
)

// object reads an object of the protocol. A member that a lenient reader would
// take for a known one makes it ambiguous: that is an error everywhere, even
// where the schema would skip a malformed item.
//
// It is short enough to be inlined, so that the members are on the caller's stack.
func object(v strictjson.Value, at string, known ...string) (strictjson.Object, error) {
	return objectIn(make(strictjson.Object, 0, 8), v, at, known)
}

// objectIn is object with memory for the members.
func objectIn(o strictjson.Object, v strictjson.Value, at string, known []string) (strictjson.Object, error) {
	if strictjson.Kind(v) != '{' {
		return nil, socket.Refuse("%s must be an object, not %s", at, strictjson.KindName(strictjson.Kind(v)))
	}
	o, err := strictjson.AppendObject(o, v)
	if err != nil {
		return nil, socket.Refuse("reading %s: %v", at, err)
	}
	if o.NearMiss(known...) != "" {
		return nil, socket.Refuse("%s has a member whose name differs from a known one only by case", at)
	}
	return o, nil
}

// identifier reads a required string of the object at a place, "" for the params.
func identifier(o strictjson.Object, name, at string) (string, error) {
	v, ok := o.Get(name)
	if !ok {
		return "", socket.Refuse("%s is missing", memberAt(at, name))
	}
	s, ok := strictjson.ParseString(v)
	switch {
	case !ok:
		return "", socket.Refuse("%s must be a string", memberAt(at, name))
	case s == "":
		return "", socket.Refuse("%s is empty", memberAt(at, name))
	case len(s) > maxID:
		return "", socket.Refuse("%s is longer than %d bytes", memberAt(at, name), maxID)
	}
	return s, nil
}

// flag reads an optional boolean of the params.
func flag(o strictjson.Object, name string) (bool, error) {
	v, ok := o.Get(name)
	switch k := strictjson.Kind(v); {
	case !ok || k == 'f':
		return false, nil
	case k == 't':
		return true, nil
	}
	return false, socket.Refuse("%s must be true or false", name)
}

func memberAt(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// places are the names of the first items of a list, as in locations[0], or of a member of
// each: most messages need only these.
type places struct {
	list, member string
	first        [8]string
}

func placesIn(list, member string) *places {
	p := &places{list: list, member: member}
	for i := range p.first {
		p.first[i] = p.format(i)
	}
	return p
}

func (p *places) format(i int) string { return fmt.Sprintf("%s[%d]%s", p.list, i, p.member) }

func (p *places) at(i int) string {
	if i < len(p.first) {
		return p.first[i]
	}
	return p.format(i)
}

var (
	optionPlaces   = placesIn("options", "")
	locationPlaces = placesIn("locations", "")
	locationPaths  = placesIn("locations", ".path")
	contentPlaces  = placesIn("content", "")
	contentBlocks  = placesIn("content", ".content")
)

// lenient reads members for which the schema is tolerant, and records a defect for each
// that it leaves out.
type lenient struct {
	version version
	defects []effects.Defect
}

// drop records that something was left out.
func (l *lenient) drop(at, why string) {
	l.defects = addDefect(l.defects, effects.Defect{Code: effects.DefectDropped, At: at, Text: at + " " + why})
}

// addDefect appends a defect unless it is present, up to maxDefects.
func addDefect(list []effects.Defect, d effects.Defect) []effects.Defect {
	if len(list) >= maxDefects {
		return list
	}
	for _, have := range list {
		if have.Code == d.Code && have.At == d.At {
			return list
		}
	}
	return append(list, d)
}

// get returns a member that is present and not null.
func (l *lenient) get(o strictjson.Object, name string) (strictjson.Value, bool) {
	v, ok := o.Get(name)
	return v, ok && strictjson.Kind(v) != 'n'
}

// text reads a string; false when it is absent, null or something else.
func (l *lenient) text(o strictjson.Object, name, at string) (string, bool) {
	v, ok := l.get(o, name)
	if !ok {
		return "", false
	}
	s, ok := strictjson.ParseString(v)
	if !ok {
		l.drop(at, "is not a string and was left out")
	}
	return s, ok
}

// items reads an array; false when it is absent, null or something else. It is inlined as
// object is.
func (l *lenient) items(o strictjson.Object, name, at string) ([]strictjson.Value, bool) {
	return l.itemsIn(make([]strictjson.Value, 0, 4), o, name, at)
}

func (l *lenient) itemsIn(items []strictjson.Value, o strictjson.Object, name, at string) ([]strictjson.Value, bool) {
	v, ok := l.get(o, name)
	if !ok {
		return nil, false
	}
	if strictjson.Kind(v) != '[' {
		l.drop(at, "is not an array and was left out")
		return nil, false
	}
	items, err := strictjson.AppendArray(items, v)
	if err != nil {
		l.drop(at, "could not be read and was left out")
		return nil, false
	}
	if len(items) > maxItems {
		l.drop(at, fmt.Sprintf("holds more than %d items; the others were left out", maxItems))
		items = items[:maxItems]
	}
	return items, true
}

// meta reads a _meta member; nil when it is absent, null or something else.
func (l *lenient) meta(o strictjson.Object, at string) strictjson.Value {
	v, ok := l.get(o, "_meta")
	if !ok {
		return nil
	}
	if strictjson.Kind(v) != '{' {
		l.drop(at, "is not an object and was left out")
		return nil
	}
	return v
}
