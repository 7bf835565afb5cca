package jsonedit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
)

func parse(t *testing.T, text string) *Text {
	t.Helper()
	parsed, err := Parse([]byte(text), Relaxed)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// TestAppend adds a value and removes it again, which must restore the old text.
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
		{"a comma behind the last member",
			"{\n  \"a\": [1,], // one,\n  \"b\": {\"c\": 2,}, // two,\n}\n",
			"{\n  \"a\": [1,], // one,\n  \"b\": {\"c\": 2,}, // two,\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  },\n}\n"},
		{"commas behind last ones on the way", "{\"hooks\": {\"Pre\": [2,], },}", "{\"hooks\": {\"Pre\": [2, {\"n\": 1},], },}"},
		{"a byte order mark", "\ufeff{\n  \"a\": 1\n}", "\ufeff{\n  \"a\": 1,\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}"},
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
			// The reverse: what has become empty is removed too.
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
		{"the last, behind a comment, the end on its line", "[\n  1, // one\n  2 ]", 1, "[\n  1 // one\n   ]"},
		{"the first, a comma behind the last", "[1, 2,]", 0, "[2,]"},
		{"the last, with a comma", "[1, 2 , ]", 1, "[1,  ]"},
		{"the last, with a comma, behind a comment", "[\n  1, // one\n  2, // two\n]", 1, "[\n  1, // one // two\n]"},
		{"the only, with a comma", "[ 1, ]", 0, "[]"},
		{"the only, with a comma and comments", "[ // a\n  1 /* b */, // c\n]", 0, "[ // a /* b */ // c\n]"},
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
		if !ok || kind.path != path {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		dialect    Dialect
	}{
		{"nothing", "", Comments},
		{"comments", "{} // no", Plain},
		{"a comment without an end", "{} /* ", Comments},
		{"a trailing comma", "{\"a\": 1,}", Comments},
		{"two trailing commas", "[1,,]", Relaxed},
		{"nothing but a comma", "[,]", Relaxed},
		{"a comma behind a name", "{\"a\":,}", Relaxed},
		{"a comma behind everything", "{},", Relaxed},
		{"a mark in the middle", "{\ufeff}", Relaxed},
		{"a name twice", `{"a": 1, "a": 2}`, Comments},
		{"a name twice, escaped", `{"a": 1, "\u0061": 2}`, Comments},
		{"two values", "{} {}", Comments},
		{"a byte order mark", "\ufeff{}", Comments},
		{"no UTF-8", "{\"a\": \"\xff\"}", Comments},
		{"too deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), Comments},
		{"a string without an end", `{"a": "b`, Comments},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.text), tt.dialect); err == nil {
				t.Error("it was read")
			}
		})
	}
}

func TestParseErrorPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}":             "line 3: column 3: ",
		"{\n  \"a\": 1,\n  \"b\": 2,\n\n\"a\": 3}": "line 5: column 1: ",
		"{\n":                      "line 2: column 1: ",
		"\n\n[1, x]":               "line 3: column 5: ",
		"[1,\n2,,\n3]\n":           "line 2: column 3: ",
		"":                         "line 1: column 1: ",
		"// nothing\n":             "line 2: column 1: it has no value",
		"[1]\n /* 2":               "line 2: column 2: a comment is not closed",
		"[1] // \r[2]\n":           "line 1: column 8: a carriage return in a line comment",
		"[1, // \u2028\n2]":        "line 1: column 8: ",
		"{\"k\":\n\"canary\x1b\"}": "line 2: column 1: invalid literal",
	} {
		_, err := Parse([]byte(text), Relaxed)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"{\n\"a\": [1, 2 , ]}": "line 2: column 12: a comma after the last value",
		"{\"a\": 1,}":          "line 1: column 8: a comma after the last value",
	} {
		if _, err := Parse([]byte(text), Comments); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestParseDepth: hujson alone would overflow the stack on the last of these.
func TestParseDepth(t *testing.T) {
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	const limit = strictjson.MaxDepth
	brackets := strings.Repeat("[{", 2*limit)
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"arrays", nested("[", "1", "]", limit), true},
		{"arrays, one more", nested("[", "1", "]", limit+1), false},
		{"objects", nested(`{"a":`, "1", "}", limit), true},
		{"objects, one more", nested(`{"a":`, "1", "}", limit+1), false},
		{"arrays one after the other", "[" + strings.Repeat("[],", 2*limit) + "]", true},
		{"brackets in strings", `["` + brackets + `", "\"` + brackets + `", "\\"]`, true},
		{"brackets in comments", "[ // \"" + brackets + "\r\n /* \"" + brackets + "\n*/ ] // " + brackets, true},
		{"a string in a comment", "[ // \"\n" + nested("[", "", "]", limit) + "]", false},
		{"a comment in a string", `["//", ` + nested("[", "", "]", limit) + "]", false},
		{"a comment that is none", "/" + nested("[", "", "]", limit+1), false},
		{"ten million", strings.Repeat("[", 10_000_000), false},
		{"ten million as names", strings.Repeat("{", 10_000_000), false},
		{"ten million after a bracket that closes nothing", "]" + strings.Repeat("[", 10_000_000), false},
	} {
		if _, err := Parse([]byte(tt.text), Relaxed); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	_, err := Parse([]byte("[\n"+nested("[", "", "]", limit)+"]"), Relaxed)
	if !errors.Is(err, strictjson.ErrDepth) || !strings.HasPrefix(err.Error(), fmt.Sprintf("line 2: column %d: ", limit)) {
		t.Errorf("too deep: %v", err)
	}
}

func TestLines(t *testing.T) {
	root := parse(t, "\ufeff// one\n{\n\"a\":\n1, /*\r\n*/ \"b\": [\n2]} // end").Root()
	for i, tt := range []struct{ got, want int }{
		{root.Line(), 2},
		{root.Member("a").NameLine(), 3},
		{root.Member("a").Line(), 4},
		{root.Member("b").NameLine(), 5},
		{root.Member("b").At(0).Line(), 6},
	} {
		if tt.got != tt.want {
			t.Errorf("%d: line %d, want %d", i, tt.got, tt.want)
		}
	}
}

// TestPrepend adds elements at the beginning and removes them again. A comment before
// the first element is kept once.
func TestPrepend(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", `{"a": []}`, `{"a": [1, 2]}`},
		{"one line", `{"a": [3,4]}`, `{"a": [1, 2, 3,4]}`},
		{"lines", "{\n\t\"a\": [\n\t\t3,\n\t\t4\n\t]\n}", "{\n\t\"a\": [\n\t\t1,\n\t\t2,\n\t\t3,\n\t\t4\n\t]\n}"},
		{"line ends of two characters", "{\r\n\"a\": [\r\n 3\r\n]}", "{\r\n\"a\": [\r\n 1,\r\n 2,\r\n 3\r\n]}"},
		{"a comment above", "{\"a\": [\n  // three,\n  3,\n]}", "{\"a\": [\n  // three,\n  1,\n  2,\n  3,\n]}"},
		{"a comment on its line", "{\"a\": [\n  /* three */ 3,\n  4\n]}", "{\"a\": [\n  /* three */ 1, 2, 3,\n  4\n]}"},
		{"a comment that ends on its line", "{\"a\": [\n  /* thr\n  ee */ 3\n]}", "{\"a\": [\n  /* thr\n  ee */ 1, 2, 3\n]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := parse(t, tt.text)
			after, err := text.Prepend(text.Root().Member("a"), "1", "2")
			if err != nil || string(after.Bytes()) != tt.want {
				t.Fatalf("%v, %q", err, after.Bytes())
			}
			for range 2 {
				if after, err = after.Remove(after.Root().Member("a"), 0); err != nil {
					t.Fatal(err)
				}
			}
			if string(after.Bytes()) != tt.text {
				t.Errorf("removed again: %q", after.Bytes())
			}
		})
	}
	text := parse(t, `{"a": {}}`)
	if _, err := text.Prepend(text.Root().Member("a"), "1"); err == nil {
		t.Error("an object took an element")
	}
	if _, err := text.Prepend(text.Root().Member("b"), "1"); err == nil {
		t.Error("nothing took an element")
	}
}

func TestReplace(t *testing.T) {
	text := parse(t, "{\"a\": /* x */ \"old\" , // y\n}")
	after, err := text.Replace(text.Root().Member("a"), `"new"`)
	if want := "{\"a\": /* x */ \"new\" , // y\n}"; err != nil || string(after.Bytes()) != want {
		t.Errorf("%v, %q", err, after.Bytes())
	}
	if _, err := after.Replace(text.Root().Member("a"), "1"); err == nil {
		t.Error("a value of another text was replaced")
	}
	if _, err := after.Replace(after.Root().Member("a"), "}"); err == nil {
		t.Error("it took what is no value")
	}
}

func TestDrop(t *testing.T) {
	text := parse(t, `{"a": {"b": 1, "c": 2}, "d": [1]}`)
	for _, tt := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b"}, `{"a": {"c": 2}, "d": [1]}`},
		{[]string{"d"}, `{"a": {"b": 1, "c": 2}}`},
		{[]string{"a", "d"}, `{"a": {"b": 1, "c": 2}, "d": [1]}`},
		{[]string{"d", ""}, `{"a": {"b": 1, "c": 2}, "d": [1]}`},
		{[]string{"x", "y"}, `{"a": {"b": 1, "c": 2}, "d": [1]}`},
	} {
		if after, err := text.Drop(tt.path...); err != nil || string(after.Bytes()) != tt.want {
			t.Errorf("%q: %v, %s", tt.path, err, after.Bytes())
		}
	}
}

// FuzzEdit checks that an appended value is there, that nothing else has changed, and
// that removing the value gives a text with the old contents.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"{}", "{\n\t\"hooks\": {\"Pre\": [1 // x\n]}}", `{"a":{},"hooks":{"b":[]}}`, "[1]", "{/**/}", "{\"hooks\":{//\n}}", "\ufeff{\"a\":[1,],\"hooks\":{\"Pre\":[2,// x\n],},}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := Parse([]byte(s), Relaxed)
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
