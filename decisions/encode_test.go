package decisions

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// drawInto fills a value at random, also with text that must be escaped or is not
// UTF-8. It skips fields that JSON leaves out.
func drawInto(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			at := time.Unix(rapid.Int64Range(-1<<33, 1<<37).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
			zone := rapid.SampledFrom([]int{0, 3600, -5400, 23*3600 + 59*60, 1234}).Draw(t, "zone")
			at = at.In(time.FixedZone("", zone))
			if zone == 0 {
				at = at.UTC()
			}
			v.Set(reflect.ValueOf(at))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				drawInto(t, v.Field(i))
			}
		}
	case reflect.String:
		words := []string{"", "plain text", "a/b <c> & 'd'", "\"\\\n\t\b\x00\x1f\x7f", "café ☃ 𝄞 \u2028", "not \xff UTF-8 \xc3"}
		v.SetString(rapid.SampledFrom(words).Draw(t, "text"))
	case reflect.Slice:
		n := rapid.IntRange(-1, 2).Draw(t, "n")
		if n < 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			drawInto(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			drawInto(t, v.Elem())
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1<<31, 1<<31-1).Draw(t, "int"))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64Range(0, 255).Draw(t, "uint"))
	default:
		t.Fatalf("fields of kind %s are not known", v.Kind())
	}
}

// TestAppendJSON compares with encoding/json for random values.
func TestAppendJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Record
		drawInto(t, reflect.ValueOf(&r).Elem())
		want, err := json.Marshal(&r, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Skip("the library refuses it: ", err) // a year that RFC 3339 does not have
		}
		got, err := r.AppendJSON([]byte("x"))
		if string(got) != "x"+string(want) {
			t.Fatalf("have %s\nwant x%s", got, want)
		}
		if _, strict := json.Marshal(&r); (strict != nil) != (err != nil) {
			t.Fatalf("the error is %v, the library's %v", err, strict)
		}
		want, err = json.Marshal(&r.Decision, jsontext.AllowInvalidUTF8(true))
		if got, _ := r.Decision.AppendJSON(nil); err != nil || string(got) != string(want) {
			t.Fatalf("have %s\nwant %s", got, want)
		}
	})
}

// TestAppendJSONRefuses: a time that has no JSON form is an error.
func TestAppendJSONRefuses(t *testing.T) {
	r := Record{Time: time.Date(12_345, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got, err := r.AppendJSON(nil); err == nil || errors.Is(err, ErrNotUTF8) || !strings.Contains(string(got), `"time":null`) {
		t.Errorf("have %s, %v", got, err)
	}
}
