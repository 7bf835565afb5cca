package strictjson

import (
	"strings"
	"testing"
)

// TestLong has every kind of text in a long string, where it is looked at in
// another way than in a short one.
func TestLong(t *testing.T) {
	pad := strings.Repeat("words é ", longData/4)
	cases := []struct {
		name string
		in   string
		ok   bool
	}{
		{"text", `{"a":"` + pad + `"}`, true},
		{"escapes", `{"a":"` + pad + `\"\\\/\b\f\n\r\t\u0041\uFFff\u00e9"}`, true},
		{"a pair of halves", `{"a":"` + pad + `\ud83d\ude00"}`, true},
		{"half a character", `{"a":"` + pad + `\ud83d"}`, false},
		{"the other half", `{"a":"` + pad + `\uDe00"}`, false},
		{"an escape that there is not", `{"a":"` + pad + `\x"}`, false},
		{"half an escape", `{"a":"` + pad + `\u00g0"}`, false},
		{"an escaped end", `{"a":"` + pad + `\"}`, false},
		{"no end", `{"a":"` + pad, false},
		{"a control character", `{"a":"` + pad + "\x1f" + `"}`, false},
		{"a line", `{"a":"` + pad + "\n" + `"}`, false},
		{"not UTF-8", `{"a":"` + pad + "\xc3" + `"}`, false},
		{"a long surrogate", `{"a":"` + pad + "\xed\xa0\x80" + `"}`, false},
		{"names that differ", `{"` + pad + `1":1,"` + pad + `2":1}`, true},
		{"two names", `{"` + pad + `":1,"` + pad + `":1}`, false},
		{"two short names", `{"a":"` + pad + `","a":1}`, false},
		{"two names, one escaped", `{"a":"` + pad + `","\u0061":1}`, false},
		{"a name with space behind it", `{"` + pad + `" : 1, "` + pad + "\" \t\r\n: 1}", false},
		{"two values", `"` + pad + `""` + pad + `"`, false},
		{"text behind", `{"a":"` + pad + `"}"`, false},
		{"no comma", `["` + pad + `""` + pad + `"]`, false},
		{"deep", strings.Repeat("[", MaxDepth) + `"` + pad + `"` + strings.Repeat("]", MaxDepth), true},
		{"too deep", strings.Repeat("[", MaxDepth+1) + `"` + pad + `"` + strings.Repeat("]", MaxDepth+1), false},
		{"brackets in text", `["` + pad + strings.Repeat("[", 2*MaxDepth) + `"]`, true},
		{"many short ones", `[` + strings.Repeat(`"a",`, longData) + `"b"]`, true},
		{"many short ones and a bad one", `[` + strings.Repeat(`"a",`, longData) + "\"\x01\"]", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := Check([]byte(c.in)); (err == nil) != c.ok {
				t.Errorf("Check: %v", err)
			}
			if want := check([]byte(c.in)) == nil; want != c.ok {
				t.Errorf("read token by token it is valid: %v", want)
			}
		})
	}
}

// FuzzShorten compares what is left of data with data itself.
func FuzzShorten(f *testing.F) {
	for _, s := range []string{
		`{"a":"text","b":["more text",1]}`, `"\u0041\ud83d\ude00"`, `"\ud800 and more"`, `{"name 1":1,"name 2":2}`, "\"a\x00bcdefghijk\"", "\"\xff2345678\"",
		`"12345678\"`, `"1234567\\"`, `["long enough""long enough"]`, `"é and ü and 12345678"`, `{"a" : "b b b b b" , "a":1}`, `"\u00zz"`, `"\`, `"`,
	} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, least int) {
		short, ok := shorten(data, least)
		if !ok {
			return
		}
		got := shallow(short) && Value(short).IsValid()
		if want := check(data) == nil; got != want {
			t.Errorf("%q is valid: %v; %q is valid: %v", data, want, short, got)
		}
	})
}

func BenchmarkCheckLong(b *testing.B) {
	for name, text := range map[string]string{
		"words": strings.Repeat("words ", 10<<20/6), "code": strings.Repeat(`\tif err != nil {\n\t\treturn \"x\"\n\t}\n`, 10<<20/40),
		"accents": strings.Repeat("é è ", 10<<20/6), "short strings": strings.Repeat(`abc","`, 10<<20/6),
	} {
		data := []byte(`{"jsonrpc":"2.0","method":"x","params":["` + text + `"]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
