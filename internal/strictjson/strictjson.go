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
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the deepest nesting of arrays and objects that is read. The
// underlying decoder stops at 10,000, which is deep for a policy's input.
const MaxDepth = 128

// ErrDepth is returned for a value nested deeper than MaxDepth.
var ErrDepth = errors.New("nested deeper than 128 levels")

// Value is one JSON value as its raw text; numbers stay exact in it.
type Value = jsontext.Value

// Check reports whether data is exactly one JSON value, white space around it
// aside: valid UTF-8, no duplicate names, at most MaxDepth deep.
func Check(data []byte) error {
	// The token by token way below is needed only for the error's words: these
	// are many times as fast.
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

// shallow reports whether data, if it is JSON at all, nests at most MaxDepth
// deep. Of what is no JSON it may say anything.
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

// Unmarshal reads one value into v, whose type names the known members.
// Unknown members are kept out of v and tolerated; a member whose name differs
// from a known one only by case or folding is an error, at every level that v
// describes. Data must be exactly one value, as in Check.
func Unmarshal(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	if err := nearMisses(data, reflect.TypeOf(v), 0); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return cleanError(err)
	}
	return nil
}

// Member is one name and its value, as it stood in an object.
type Member struct {
	Name  string
	Value Value
}

// Object is a JSON object's members in their order, names unique.
type Object []Member

// Get returns the value of the member of exactly that name.
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

// Kind is the kind of a value by its first character: one of n t f " 0 { [,
// or 0 when data holds no value.
func Kind(data Value) jsontext.Kind { return data.Kind() }

// KindName is a kind in words, for messages.
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
			folded = fold(name)
		}
		if fold(k) == folded {
			return true
		}
	}
	return false
}

// isPlain reports whether a name is of printable ASCII characters alone: only
// the case of its letters can be taken for another.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// fold maps every name that a lenient reader might take for another onto one
// spelling: Unicode simple folding (ſ and the Kelvin sign included), with
// control and format characters dropped.
func fold(s string) string {
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

var knownNames sync.Map // reflect.Type -> map[string]reflect.Type

// names returns a struct's JSON member names with their types, nil for a type
// that is no struct.
func names(t reflect.Type) map[string]reflect.Type {
	if n, ok := knownNames.Load(t); ok {
		return n.(map[string]reflect.Type)
	}
	n := map[string]reflect.Type{}
	for f := range fieldsOf(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "":
			for name, ft := range names(f.Type) {
				n[name] = ft
			}
		case tag != "":
			n[tag] = f.Type
		default:
			n[f.Name] = f.Type
		}
	}
	knownNames.Store(t, n)
	return n
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

func nearMisses(data Value, t reflect.Type, depth int) error {
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
		known := names(t)
		list := make([]string, 0, len(known))
		for name := range known {
			list = append(list, name)
		}
		if len(list) == 0 {
			return nil
		}
		if name := obj.NearMiss(list...); name != "" {
			return fmt.Errorf("member %q differs from a known one only by case", name)
		}
		for _, m := range obj {
			if err := nearMisses(m.Value, known[m.Name], depth+1); err != nil {
				return err
			}
		}
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && Kind(data) == '[':
		items, err := ParseArray(data)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := nearMisses(item, t.Elem(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// cleanError drops the decoder's package prefix and never repeats the input, which
// may hold secrets.
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
