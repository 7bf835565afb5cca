package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// decoded returns the contents of an object or array as the JSON library decodes it;
// names is nil for an array.
func decoded(data []byte) (names []string, values []string, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	open, err := dec.ReadToken()
	if err != nil {
		return nil, nil, err
	}
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		if open.Kind() == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, nil, err
			}
			names = append(names, name.String())
		}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		values = append(values, string(v))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one value")
	}
	return names, values, nil
}

// FuzzSplit compares the members and elements with those of the JSON library.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `[]`, "[\t]\n", `{"a":1}`, `{"a" : -1.5e+3 , "b":[1,{"c":"}"}],"d":"\"","e":"\\","f\u0041":null}`,
		`[1,"]",[[]],{"a":{}},true , false]`, `{"":"","\\":"\\\"","é\n":"\u00e9"}`, `["\\\\","\\\"",""]`,
		strings.Repeat("[", 128) + strings.Repeat("]", 128), `{"a":{"b":[1,2,{"c":"d"}]},"e":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, objectErr := ParseObject(data) // whatever it is: no panic
		array, arrayErr := ParseArray(data)
		if Check(data) != nil {
			return
		}
		kind := Kind(data)
		if (objectErr == nil) != (kind == '{') || (arrayErr == nil) != (kind == '[') {
			t.Fatalf("%s: object: %v, array: %v", KindName(kind), objectErr, arrayErr)
		}
		if kind != '{' && kind != '[' {
			return
		}
		wantNames, wantValues, err := decoded(data)
		if err != nil {
			t.Fatalf("what passes Check is not decoded: %v", err)
		}
		var names, values []string
		for _, m := range object {
			names, values = append(names, m.Name), append(values, string(m.Value))
		}
		for _, v := range array {
			values = append(values, string(v))
		}
		if diff := cmp.Diff(wantNames, names); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantValues, values); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
}

// FuzzParseString compares the fast path with the library.
func FuzzParseString(f *testing.F) {
	for _, s := range []string{`"a"`, `""`, `"`, `"a"b"`, `"\u0041"`, ` "a" `, "\"\x01\"", "\"\xff\"", `"é"`, `1`, `"a\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := ParseString(data)
		if Kind(data) != '"' {
			if ok {
				t.Fatalf("%q was read as a string", data)
			}
			return
		}
		want, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(data))
		if ok != (err == nil) || ok && got != string(want) {
			t.Fatalf("ParseString(%q) = %q, %v; want %q, %v", data, got, ok, want, err)
		}
	})
}

// FuzzFind compares Find with ParseObject.
func FuzzFind(f *testing.F) {
	for _, s := range []string{
		`{"a":{"b":1}}`, `{"\u0061":{"b":1}}`, `{"b":{},"a":{"a":2}}`, `{"a":[{"b":1}]}`, `{"a\"":1}`, `{"":{"":1}}`, `{}`, `1`,
	} {
		f.Add([]byte(s), "a", "b")
	}
	f.Fuzz(func(t *testing.T, data []byte, outer, inner string) {
		got := Find(data, outer, inner) // whatever it is: no panic
		if Check(data) != nil {
			return
		}
		var want Value
		if o, err := ParseObject(data); err == nil {
			v, _ := o.Get(outer)
			if o, err = ParseObject(v); err == nil {
				want, _ = o.Get(inner)
			}
		}
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("Find(%s, %q, %q) = %s, want %s", data, outer, inner, got, want)
		}
	})
}

// TestSplitRefuses: data that has not passed Check gives an error if it cannot be split,
// and never a panic.
func TestSplitRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `{"a"`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`, `{"a":"`, `{"a":"\`, `{"a":"\"}`,
		`{"a":[}`, `{}x`, `{}{}`, `{},"a":1}`, `{}"a":1}`, `[`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `[]]`, `["]`, `["\`, `[[]`, `"a"`, `1`, `null`,
	} {
		if o, err := ParseObject([]byte(in)); err == nil {
			t.Errorf("ParseObject(%s) = %v", in, o)
		}
		if a, err := ParseArray([]byte(in)); err == nil {
			t.Errorf("ParseArray(%s) = %v", in, a)
		}
	}
}

func BenchmarkParseObject(b *testing.B) {
	data := []byte(`{"sessionId":"sess-0123456789","toolCall":{"toolCallId":"call-1","title":"` + strings.Repeat("t", 300) +
		`","kind":"execute","rawInput":{"command":"go test ./...","description":"` + strings.Repeat("d", 100) +
		`"}},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"r","name":"Reject","kind":"reject_once"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseObject(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyEscapes decodes text that consists of escapes: the time per byte must not
// depend on the length.
func BenchmarkManyEscapes(b *testing.B) {
	for _, kib := range []int{1, 16, 256, 4096} {
		data := []byte(`{"a":"` + strings.Repeat(`\n`, kib<<9) + `"}`)
		b.Run(strconv.Itoa(kib)+"KiB", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := ParseObject(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestFirst(t *testing.T) {
	for data, want := range map[string]string{
		`"a\\\"b","c":1}`: `"a\\\"b"`, `[{"a":"]"},[]],"b":2`: `[{"a":"]"},[]]`, `12,3`: `12`, `{"a":{}}`: `{"a":{}}`, ``: ``, `"a`: ``, `[1`: ``, `,1`: ``,
	} {
		if have := string(First(Value(data))); have != want {
			t.Errorf("%s: %s, want %s", data, have, want)
		}
	}
}
