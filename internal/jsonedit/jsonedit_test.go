package jsonedit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) *Text {
	t.Helper()
	parsed, err := Parse([]byte(text), true)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// TestAppend adds a value and takes it out again, by text, which must give the
// old text.
func TestAppend(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"empty", "{}\n", "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}\n"},
		{"another member",
			"{\n  \"a\": 1\n}",
			"{\n  \"a\": 1,\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}"},
		{"tabs", "{\n\t\"a\": [1]\n}\n",
			"{\n\t\"a\": [1],\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"n\": 1\n\t\t\t}\n\t\t]\n\t}\n}\n"},
		{"line ends of two characters", "{\r\n    \"hooks\": {\r\n        \"Pre\": [\r\n            2\r\n        ]\r\n    }\r\n}\r\n",
			"{\r\n    \"hooks\": {\r\n        \"Pre\": [\r\n            2,\r\n            {\r\n                \"n\": 1\r\n            }\r\n        ]\r\n    }\r\n}\r\n"},
		{"one line", `{"a": 1, "hooks": {"Pre": [2]}}`, `{"a": 1, "hooks": {"Pre": [2, {"n": 1}]}}`},
		{"one line, other hooks", `{"hooks": {"Post": []}}`, `{"hooks": {"Post": [], "Pre": [{"n": 1}]}}`},
		{"an element that begins on the line of its array", "{\n  \"hooks\": {\"Pre\": [2,\n    3]}\n}",
			"{\n  \"hooks\": {\"Pre\": [2,\n    3,\n    {\n      \"n\": 1\n    }]}\n}"},
		{"comments stay where they belong",
			"// mine\n{\n  \"a\": 1 // one, {\n  /* the end, \"] */\n}\n// over",
			"// mine\n{\n  \"a\": 1, // one, {\n  /* the end, \"] */\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}\n// over"},
		{"names and values that look like others",
			"{\n  \"x\\\"hooks\": \"{ \\\" // no comment\",\n  \"hooks \": null\n}",
			"{\n  \"x\\\"hooks\": \"{ \\\" // no comment\",\n  \"hooks \": null,\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := parse(t, tt.text)
			after, err := before.Append(`{"n":1}`, "hooks", "Pre")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(after.Bytes())); diff != "" {
				t.Fatalf("appended (-want +got):\n%s", diff)
			}
			pre := after.Root().Member("hooks", "Pre")
			if got := string(pre.At(pre.Len() - 1).Member("n").Raw()); got != "1" {
				t.Fatalf("the last element's n is %q", got)
			}
			// The way back: what got empty by it goes too.
			for _, path := range [][]string{{"hooks", "Pre"}, {"hooks"}, nil} {
				holder := after.Root().Member(path...)
				had := before.Root().Member(path...)
				if holder.Len() == had.Len() {
					break
				}
				if after, err = after.Remove(holder, holder.Len()-1); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.text, string(after.Bytes())); diff != "" {
				t.Errorf("removed again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	tests := []struct {
		name, text string
		at         int
		want       string
	}{
		{"the first", "[\n  1,\n  2\n]", 0, "[\n  2\n]"},
		{"the middle", "[1, 2, 3]", 1, "[1, 3]"},
		{"the last", "[1, 2,\n  3 ]", 2, "[1, 2 ]"},
		{"the only", "[ 1 ]", 0, "[]"},
		{"the only, with a comment", "[\n  // why\n  1\n]", 0, "[\n  // why\n]"},
		{"the first, with comments", "[\n  1, // one\n  2\n]", 0, "[\n   // one\n  2\n]"},
		{"the first, with a comma in a comment", "[1 /* , */ , 2]", 0, "[ /* , */  2]"},
		{"the last, with a comma in a comment", "[1 /* , */, 2]", 1, "[1 /* , */]"},
		{"a member", "{\"a\": 1, \"b\": 2}", 0, "{\"b\": 2}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := parse(t, tt.text)
			after, err := text.Remove(text.Root(), tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(after.Bytes())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSet(t *testing.T) {
	text := parse(t, "{\n  \"hooks\": {}\n}\n")
	set, err := text.Set("1", "version")
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"hooks\": {},\n  \"version\": 1\n}\n"; string(set.Bytes()) != want {
		t.Errorf("set: %q", set.Bytes())
	}
	again, err := set.Set("2", "version")
	if err != nil || again.Compact() != `{"hooks":{},"version":1}` {
		t.Errorf("set again: %s, %v", again.Compact(), err)
	}
	deep, err := set.Set("true", "a", "b")
	if err != nil || deep.Compact() != `{"hooks":{},"version":1,"a":{"b":true}}` {
		t.Errorf("set below: %s, %v", deep.Compact(), err)
	}
	if deep, err = deep.Set("false", "a", "c"); err != nil || deep.Compact() != `{"hooks":{},"version":1,"a":{"b":true,"c":false}}` {
		t.Errorf("set beside: %s, %v", deep.Compact(), err)
	}
	if _, err := parse(t, "[]").Set("1", "version"); err == nil {
		t.Error("an array took a member")
	}
}

func TestAppendToOther(t *testing.T) {
	for text, path := range map[string]string{
		`[]`:                         "",
		`{"hooks": []}`:              "hooks",
		`{"hooks": null}`:            "hooks",
		`{"hooks": {"Pre": {}}}`:     "hooks.Pre",
		`{"hooks": {"Pre": "none"}}`: "hooks.Pre",
	} {
		_, err := parse(t, text).Append("1", "hooks", "Pre")
		kind, ok := errors.AsType[*KindError](err)
		if !ok || kind.Path != path {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		comments   bool
	}{
		{"nothing", "", true},
		{"comments", "{} // no", false},
		{"a comment without an end", "{} /* ", true},
		{"a trailing comma", "{\"a\": 1,}", true},
		{"a name twice", `{"a": 1, "a": 2}`, true},
		{"a name twice, escaped", `{"a": 1, "\u0061": 2}`, true},
		{"two values", "{} {}", true},
		{"a byte order mark", "\ufeff{}", true},
		{"no UTF-8", "{\"a\": \"\xff\"}", true},
		{"too deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), true},
		{"a string without an end", `{"a": "b`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.text), tt.comments); err == nil {
				t.Error("it was read")
			}
		})
	}
}

// FuzzEdit: what is appended is there, everything else says what it said, and
// removing it gives a text that says what the old one did.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"{}", "{\n\t\"hooks\": {\"Pre\": [1 // x\n]}}", `{"a":{},"hooks":{"b":[]}}`, "[1]", "{/**/}", "{\"hooks\":{//\n}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := Parse([]byte(s), true)
		if err != nil {
			return
		}
		after, err := text.Append(`{"n":[1,"x"]}`, "hooks", "Pre")
		if err != nil {
			if _, ok := errors.AsType[*KindError](err); !ok {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		pre := after.Root().Member("hooks", "Pre")
		if string(pre.At(pre.Len()-1).Member("n").Raw()) == "" {
			t.Fatalf("%q: not appended: %q", s, after.Bytes())
		}
		for _, path := range [][]string{{"hooks", "Pre"}, {"hooks"}, nil} {
			holder := after.Root().Member(path...)
			if holder.Len() == text.Root().Member(path...).Len() {
				break
			}
			if after, err = after.Remove(holder, holder.Len()-1); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
		}
		if after.Compact() != text.Compact() {
			t.Fatalf("%q became %q", s, after.Bytes())
		}
	})
}
