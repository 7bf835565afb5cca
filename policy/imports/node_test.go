package imports

import (
	"strings"
	"testing"
)

// TestParseJSONC reads files as editors write them, with the lines of what is in
// them, and names the place of what cannot be read.
func TestParseJSONC(t *testing.T) {
	for _, text := range []string{"", " \n", "// nothing", "\ufeff/* nothing */\n", "{}"} {
		n, err := parseJSONC(File{Name: "s.json", Data: []byte(text)})
		if err != nil || n.kind != '{' || n.line != 1 || n.members != nil {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	n, err := parseJSONC(File{Name: "s.json", Data: []byte("\ufeff// one\n{\n\"a\":\n[-1e3, \"\\u00e9\",], /*\n*/ \"b\": true,\n} // end")})
	if err != nil {
		t.Fatal(err)
	}
	a, b := n.members[0], n.members[1]
	if n.line != 2 || a.line != 3 || a.value.line != 4 || b.line != 5 || b.value.kind != 't' || b.value.text != "true" {
		t.Errorf("lines: %+v", n)
	}
	if items := a.value.items; len(items) != 2 || items[0].kind != '0' || items[0].text != "-1e3" || items[1].text != "é" {
		t.Errorf("items: %+v", a.value)
	}
	for text, want := range map[string]string{
		"{\n\"a\": 1,\n\"a\": 2}":         "s.json:3: column 1: ",
		"{\n  \"a\" 1}":                   "s.json:2: column 7: ",
		"{} /* ":                          "s.json:1: column 4: a comment is not closed",
		"[,]":                             "s.json:1: column 2: ",
		"{// \"a\": 1,\r\"b\": 2\n}":      "s.json:1: column 12: a carriage return in a line comment",
		strings.Repeat("[", 10_000_000):   "s.json:1: column 129: nested deeper",
		"{\"a\": \"\xff\"}":               "s.json:1: column ",
		"{\"canary\": \"canary\x1b[2J\"}": "s.json:1: column 12: invalid literal",
	} {
		_, err := parseJSONC(File{Name: "s.json", Data: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
