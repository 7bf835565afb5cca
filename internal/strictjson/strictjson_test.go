package strictjson

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"object", ` {"a":[1,"x",null,true]} `, true},
		{"scalar", `7`, true},
		{"big number kept", `{"n":123456789012345678901234567890}`, true},
		{"empty", ``, false},
		{"half", `{"a":`, false},
		{"trailing value", `{} {}`, false},
		{"trailing bytes", `{}x`, false},
		{"duplicate", `{"a":1,"a":2}`, false},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, false},
		{"duplicate deep", `{"b":[{"a":1,"a":2}]}`, false},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", false},
		{"lone surrogate", `{"a":"\ud800"}`, false},
		{"control character", "{\"a\":\"\x01\"}", false},
		{"128 deep", strings.Repeat("[", 128) + strings.Repeat("]", 128), true},
		{"129 deep", strings.Repeat("[", 129) + strings.Repeat("]", 129), false},
		{"a million deep", strings.Repeat("[", 1_000_000), false},
		{"comment", `{"a":1}//`, false},
		{"NaN", `NaN`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := Check([]byte(tt.in)); (err == nil) != tt.ok {
				t.Errorf("Check(%.40q) = %v, want ok %v", tt.in, err, tt.ok)
			}
		})
	}
}

func TestUnmarshalNearMiss(t *testing.T) {
	type inner struct {
		Kind string `json:"kind"`
	}
	type outer struct {
		Kind  string  `json:"kind"`
		Inner *inner  `json:"inner"`
		List  []inner `json:"list"`
		Raw   Value   `json:"raw"`
		Long  string  `json:"sessionId"`
	}
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"exact", `{"kind":"a","inner":{"kind":"b"},"list":[{"kind":"c"}]}`, true},
		{"unknown kept apart", `{"kind":"a","other":1}`, true},
		{"case", `{"kind":"a","Kind":"b"}`, false},
		{"case alone", `{"KIND":"b"}`, false},
		{"Kelvin sign", `{"\u212aind":"b"}`, false},
		{"long s", `{"\u017fessionId":"b"}`, false},
		{"NUL at the end", `{"kind\u0000":"b"}`, false},
		{"zero width inside", `{"ki\u200bnd":"b"}`, false},
		{"in an object", `{"inner":{"Kind":"b"}}`, false},
		{"in a list", `{"list":[{"kinD":"b"}]}`, false},
		{"inside raw is not ours", `{"raw":{"Kind":"b"}}`, true},
		{"wrong type", `{"kind":7}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v outer
			if err := Unmarshal([]byte(tt.in), &v); (err == nil) != tt.ok {
				t.Errorf("Unmarshal(%s) = %v, want ok %v", tt.in, err, tt.ok)
			}
		})
	}
}

func TestErrorsNeverRepeatInput(t *testing.T) {
	const canary = "canary-secret-51b7"
	for _, in := range []string{
		`{"` + canary + `":1,"` + canary + `":2}`,
		`{"a":"` + canary + `"`,
		`"` + canary + `" x`,
		`{"kind":["` + canary + `"]}`,
	} {
		var v struct {
			Kind string `json:"kind"`
		}
		err := Unmarshal([]byte(in), &v)
		if err == nil {
			t.Fatalf("Unmarshal(%s) passed", in)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("error repeats the input: %v", err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{}`, `[1,{"a":"b"}]`, `{"a":1,"a":2}`, "\xff", `"\ud83d\ude00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data) != nil {
			return
		}
		// Valid data is also valid in its canonical form.
		v := Value(data).Clone()
		if err := v.Compact(); err != nil {
			t.Fatalf("passed Check but does not compact: %v", err)
		}
		if err := Check(v); err != nil {
			t.Fatalf("compact form refused: %v", err)
		}
	})
}

// FuzzFastCheck compares the fast path with the loop over tokens.
func FuzzFastCheck(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,"x\"]",null,true]}`, `{"a":1,"\u0061":2}`, "\xff", `"\ud800"`, `{} {}`, ``, ` 1 `,
		strings.Repeat("[", 128) + strings.Repeat("]", 128), strings.Repeat("[", 129) + strings.Repeat("]", 129),
		strings.Repeat(`{"a":`, 128) + "1" + strings.Repeat("}", 128),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fast, slow := Check(data), check(data)
		if (fast == nil) != (slow == nil) {
			t.Fatalf("Check: %v, check: %v", fast, slow)
		}
	})
}
