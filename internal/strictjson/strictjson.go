// Package strictjson reads JSON in exactly one way, or not at all.
//
// A permission daemon and the agent behind it must read a message alike. Go's
// encoding/json matches member names without regard to case and lets the last
// duplicate win, so one message can show the daemon one command and the agent
// another (measured on coder/acp-go-sdk; the same class as CVE-2026-27896).
// This package refuses duplicate names, invalid UTF-8, trailing data, deep
// nesting, and names that differ from a known one only by case.
//
// It is the only place of the project that decodes JSON. It knows nothing of
// any protocol: callers name the members they know.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the maximum nesting of arrays and objects. The underlying decoder allows
// 10,000 levels, too deep for the input of a policy.
const MaxDepth = 128

// ErrDepth means that a value is nested deeper than MaxDepth.
var ErrDepth = errors.New("nested deeper than 128 levels")

// Value is a JSON value as raw text, so numbers stay exact.
type Value = jsontext.Value

// Check returns an error unless data is exactly one JSON value with optional white space
// around it, in valid UTF-8, without duplicate names, and at most MaxDepth deep.
func Check(data []byte) error {
	// The loop over tokens below is needed only for the text of the error. These checks
	// are many times faster.
	if len(data) > longData {
		if short, ok := shorten(data, longText); ok && shallow(short) && Value(short).IsValid() {
			return nil
		}
	}
	if shallow(data) && Value(data).IsValid() {
		return nil
	}
	return check(data)
}

// shallow reports whether data, if it is valid JSON, is nested at most MaxDepth deep.
// For other data the result is meaningless.
func shallow(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

func check(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		_, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return cleanError(err)
		}
		if dec.StackDepth() > MaxDepth {
			return ErrDepth
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err != nil {
			return cleanError(err)
		}
		return errors.New("more than one value")
	}
	return nil
}

// Unmarshal decodes one value into v, whose type defines the known members. Unknown
// members are ignored. A member whose name differs from a known one only by case or
// folding is an error, at all levels that v describes. data must pass Check.
func Unmarshal(data []byte, v any) error { return unmarshal(data, v, false) }

// UnmarshalChecked is Unmarshal for data that has passed Check, by itself or as part of another
// value, and does not check it again.
func UnmarshalChecked(data Value, v any) error { return unmarshalChecked(data, v, false) }

// UnmarshalMessage is Unmarshal for a message that is decided on. Null is an error for a
// member or an item, unless the field's tag null:"absent" says that it is as if the member
// were absent: a sender may mean something that it does not do. Raw values in v share the
// memory of data, which must not be changed afterwards.
func UnmarshalMessage(data Value, v any) error { return unmarshal(data, v, true) }

func unmarshal(data []byte, v any, message bool) error {
	if err := Check(data); err != nil {
		return err
	}
	return unmarshalChecked(data, v, message)
}

func unmarshalChecked(data Value, v any, message bool) error {
	if err := checkMembers(data, reflect.TypeOf(v), message, 0); err != nil {
		return err
	}
	var opts json.Options
	if message {
		opts = sharedValues
	}
	if err := json.Unmarshal(data, v, opts); err != nil {
		return cleanError(err)
	}
	return nil
}

// sharedValues lets raw values share the memory of what is decoded. The decoder of
// json.Unmarshal reads from the data itself, which it does not change.
var sharedValues = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *Value) error {
	raw, err := dec.ReadValue()
	*v = slices.Clip(raw)
	return err
}))

// Member is a name and its raw value in an object.
type Member struct {
	Name  string
	Value Value
}

// Object holds the members of an object in their order. Names are unique.
type Object []Member

// Get returns the value of the member with exactly that name.
func (o Object) Get(name string) (Value, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// NearMiss returns the first member whose name is none of known but equals one
// of them under case folding, or after NULs and other control characters are
// dropped; "" if there is none.
func (o Object) NearMiss(known ...string) string {
	for _, m := range o {
		if nearMiss(m.Name, known) {
			return m.Name
		}
	}
	return ""
}

// Kind returns the kind of a value by its first character: n, t, f, ", 0, { or [, or 0
// if data holds no value.
func Kind(data Value) jsontext.Kind { return data.Kind() }

// KindName names a kind in messages.
func KindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "no value"
}

func nearMiss(name string, known []string) bool {
	for _, k := range known {
		if k == name {
			return false
		}
	}
	folded, plain := "", isPlain(name)
	for _, k := range known {
		if plain && isPlain(k) {
			if strings.EqualFold(k, name) {
				return true
			}
			continue
		}
		if folded == "" {
			folded = foldName(name)
		}
		if foldName(k) == folded {
			return true
		}
	}
	return false
}

// isPlain reports whether a name consists of printable ASCII characters: then only the
// case of its letters can be confused.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// foldName maps all names that a lenient parser could confuse to the same string: with
// Unicode simple folding (including ſ and the Kelvin sign) and without control and
// format characters.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

var knownMembers sync.Map // reflect.Type -> *members

// members are the JSON names of a struct's fields, with their types.
type members struct {
	list   []string // the names
	fields map[string]field
}

type field struct {
	typ      reflect.Type
	nullable bool // by its tag
}

// membersOf returns the members of a struct.
func membersOf(t reflect.Type) *members {
	if m, ok := knownMembers.Load(t); ok {
		return m.(*members)
	}
	n := map[string]field{}
	for f := range fieldsOf(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		one := field{f.Type, f.Tag.Get("null") == "absent"}
		switch {
		case tag == "-":
		case f.Anonymous && tag == "":
			maps.Copy(n, membersOf(f.Type).fields)
		case tag != "":
			n[tag] = one
		default:
			n[f.Name] = one
		}
	}
	m := &members{slices.Collect(maps.Keys(n)), n}
	knownMembers.Store(t, m)
	return m
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && !yield(f) { // an embedded struct's fields count, whatever its name
				return
			}
		}
	}
}

// checkMembers returns an error for a member whose name differs from a known one only by
// case, and for a null that UnmarshalMessage refuses, at all levels that t describes.
func checkMembers(data Value, t reflect.Type, message bool, depth int) error {
	if t == nil || depth > MaxDepth {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[Value]():
		return nil
	case t.Kind() == reflect.Struct && Kind(data) == '{':
		obj, err := ParseObject(data)
		if err != nil {
			return err
		}
		known := membersOf(t)
		if len(known.list) == 0 {
			return nil
		}
		if name := obj.NearMiss(known.list...); name != "" {
			return fmt.Errorf("member %q differs from a known one only by case", name)
		}
		for _, m := range obj {
			f, ok := known.fields[m.Name]
			if message && ok && !f.nullable && Kind(m.Value) == 'n' {
				return fmt.Errorf("member %q must not be null", m.Name)
			}
			if err := checkMembers(m.Value, f.typ, message, depth+1); err != nil {
				return err
			}
		}
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && Kind(data) == '[':
		items, err := ParseArray(data)
		if err != nil {
			return err
		}
		for _, item := range items {
			if message && Kind(item) == 'n' && t.Elem() != reflect.TypeFor[Value]() {
				return errors.New("an item of a list must not be null")
			}
			if err := checkMembers(item, t.Elem(), message, depth+1); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Map && message && Kind(data) == '{':
		obj, err := ParseObject(data)
		if err != nil {
			return err
		}
		for _, m := range obj {
			if Kind(m.Value) == 'n' && t.Elem() != reflect.TypeFor[Value]() {
				return errors.New("a member of an object must not be null")
			}
		}
	}
	return nil
}

// cleanError removes the decoder's package prefix and any quoted input, which may
// contain secrets.
func cleanError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("ends in the middle of a value")
	}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("at byte %d: %w", syn.ByteOffset, plain(syn.Err))
	}
	if sem, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("at byte %d: %s does not fit %s", sem.ByteOffset, KindName(sem.JSONKind), pointer(sem.JSONPointer))
	}
	return errors.New("not valid JSON")
}

func pointer(p jsontext.Pointer) string {
	if p == "" {
		return "here"
	}
	return "member " + string(p)
}

func plain(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return jsontext.ErrDuplicateName
	}
	return errors.New("not valid JSON")
}
