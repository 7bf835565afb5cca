package gatehttp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// TestEchoesEscaped writes secrets as servers do that show the request they got.
func TestEchoesEscaped(t *testing.T) {
	each := func(s, format string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	eachRune := func(s, format string) string {
		var b strings.Builder
		for _, c := range s {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	eachUnit := func(s, format string) string {
		var b strings.Builder
		for _, c := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	every := func(s string, n int, sep string) string {
		var parts []string
		for len(s) > n {
			parts, s = append(parts, s[:n]), s[n:]
		}
		return strings.Join(append(parts, s), sep)
	}
	lines := func(s string, n int, sep string) string {
		r := []rune(s)
		var parts []string
		for part := range slices.Chunk(r, n) {
			parts = append(parts, string(part))
		}
		return strings.Join(parts, sep)
	}
	inJSON := func(s string) string {
		b, err := json.Marshal(map[string]string{"Authorization": "Bearer " + s})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	writers := map[string]func(string) string{
		"PHP":              func(s string) string { return strings.ReplaceAll(inJSON(s), "/", `\/`) },
		".NET":             func(s string) string { return strings.ReplaceAll(inJSON(s), "+", `\u002B`) },
		"JSON in JSON":     func(s string) string { return inJSON(inJSON(s)) },
		"\\u":              func(s string) string { return eachUnit(s, `\u%04X`) },
		"\\u in JSON":      func(s string) string { return inJSON(eachUnit(s, `\u%04x`)) },
		"\\x":              func(s string) string { return each(s, `\x%02x`) },
		"\\u{ }":           func(s string) string { return eachRune(s, `\u{%x}`) },
		"\\u{ }, zeros":    func(s string) string { return eachRune(s, `\u{%08X}`) },
		"\\U":              func(s string) string { return eachRune(s, `\U%08x`) },
		"\\U in JSON":      func(s string) string { return inJSON(eachRune(s, `\U%08X`)) },
		"lines":            func(s string) string { return lines(s, 7, "\n") },
		"lines, indented":  func(s string) string { return lines(s, 5, " \r\n\t ") },
		"lines in JSON":    func(s string) string { return inJSON(lines(s, 6, "\n")) },
		"lines, continued": func(s string) string { return lines(inJSON(s), 9, "\\\n") },
		"HTML, names": func(s string) string {
			return strings.NewReplacer("/", "&sol;", "+", "&plus;", "=", "&equals;", "&", "&amp;", "<", "&lt;", ":", "&colon;", "\\", "&bsol;", "%", "&percnt;", "-", "&hyphen;").Replace(s)
		},
		"HTML":                  html.EscapeString,
		"HTML, hexadecimal":     func(s string) string { return eachRune(s, "&#x%02X;") },
		"HTML, decimal":         func(s string) string { return eachRune(s, "&#%d;") },
		"HTML twice":            func(s string) string { return html.EscapeString(eachRune(s, "&#%d;")) },
		"JSON in HTML":          func(s string) string { return html.EscapeString(strings.ReplaceAll(inJSON(s), "/", `\/`)) },
		"percent":               url.QueryEscape,
		"percent twice":         func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
		"percent three times":   func(s string) string { return url.QueryEscape(url.QueryEscape(url.QueryEscape(s))) },
		"quoted":                func(s string) string { return fmt.Sprintf("%q", s) },
		"hexadecimal, blanks":   func(s string) string { return each(s, "%02x ") },
		"hexadecimal, colons":   func(s string) string { return each(s, "%02X:") },
		"hexadecimal, 0x":       func(s string) string { return each(s, "0x%02x, ") },
		"hexadecimal, lines":    func(s string) string { return every(hex.EncodeToString([]byte(s)), 8, "\n") },
		"base64, lines":         func(s string) string { return every(b64("user:"+s), 7, "\r\n") },
		"base64, lines in JSON": func(s string) string { return inJSON(every(b64("a"+s), 4, "\n")) },
		"base64, blanks":        func(s string) string { return every(b64(s), 1, " ") },
		"base64, percent, PHP":  func(s string) string { return strings.ReplaceAll(url.QueryEscape(b64(s)), "/", `\/`) },
	}
	secrets := []string{"Key/With+Signs&<4711>=", `C:\new\u0041%41&amp;/+x`, "schlüssel/über+😀😀😀"}
	for name, write := range writers {
		for i, secret := range secrets {
			if i == 1 && strings.HasPrefix(name, "lines") {
				continue // lines break what looks like an escape
			}
			v, err := json.Marshal([]any{1, "before " + write(secret) + " after"})
			if err != nil {
				t.Fatal(err)
			}
			if !Echoes(v, []string{secret}) {
				t.Errorf("%s: %s is not recognised", name, v)
			}
			if other := secrets[(i+1)%len(secrets)]; Echoes(v, []string{other}) {
				t.Errorf("%s: %s is taken for %q", name, v, other)
			}
			if i == 1 {
				continue // its own escapes make two beginnings of one
			}
			// In pieces, the beginning is recognised wherever it ends.
			text := write(secret)
			for n := len(text) * 2 / 3; n < len(text)-16; n++ {
				if !utf8.RuneStart(text[n]) {
					continue
				}
				if begun, _ := Beginning("before "+text[:n], []string{secret}); begun < 4 {
					t.Errorf("%s: the beginning %q is not recognised", name, text[:n])
				}
			}
		}
	}
}

// TestEchoesInPieces cuts a secret between two texts of one value.
func TestEchoesInPieces(t *testing.T) {
	const secret = "Key/With+Signs-4711"
	for name, value := range map[string]func(a, b string) any{
		"a list":       func(a, b string) any { return []any{"x", a, nil, b} },
		"members":      func(a, b string) any { return map[string]any{"a": a, "b": b} },
		"blocks":       func(a, b string) any { return []any{block{"text", a, ""}, block{"text", b, ""}} },
		"other blocks": func(a, b string) any { return []any{block{"text", a, "more"}, block{"text", b, "of it"}} },
		"names":        func(a, b string) any { return map[string]any{"x" + a: 1, b: 1} },
		"a member":     func(a, b string) any { return map[string]any{a: b} },
		"deep":         func(a, b string) any { return map[string]any{"x": []any{[]any{a}, map[string]any{"y": b}}} },
	} {
		for i := range len(secret) {
			v, err := json.Marshal(value(secret[:i], secret[i:]))
			if err != nil {
				t.Fatal(err)
			}
			if name == "names" && (i == 0 || "x"+secret[:i] > secret[i:]) {
				continue // they are sorted
			}
			if !Echoes(v, []string{secret}) {
				t.Errorf("%s: %s is not recognised", name, v)
			}
			if Echoes(v, []string{"another/secret"}) {
				t.Errorf("%s: %s is taken for another", name, v)
			}
		}
	}
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	More string `json:"x,omitempty"`
}

// BenchmarkEchoes reads long answers: prose, and what is nothing but beginnings of escapes.
func BenchmarkEchoes(b *testing.B) {
	for name, unit := range map[string]string{
		"prose": "The quick brown fox jumps over 13 lazy dogs. ", "percent": "%", "backslash": `\`, "ampersand": "&",
		"twice": "%2525", "entity": "&amp;#x26;", "unicode": `\\u005c`, "letters": "&aaaaaaaaaaaaaaaa",
	} {
		for _, size := range []int{1 << 20, 10 << 20} {
			v, err := json.Marshal(strings.Repeat(unit, size/len(unit)))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dMiB", name, size>>20), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					if Echoes(v, []string{"Key/With+Signs-4711"}) {
						b.Fatal("it holds none")
					}
				}
			})
		}
	}
}
