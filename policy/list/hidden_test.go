package list

import (
	"strings"
	"testing"
)

// TestHiddenLines: the end of a comment is where a person sees it.
func TestHiddenLines(t *testing.T) {
	const list = "allow:\n  run:\n    # a note%    - \"rm *\"\n    - ls\n"
	for name, hidden := range map[string]string{
		"a lone carriage return": "\r", "next line": "\u0085", "line separator": "\u2028", "paragraph separator": "\u2029", "right to left": "\u202e",
	} {
		entries, err := Parse("rules.yaml", []byte(strings.Replace(list, "%", hidden, 1)))
		if err == nil || len(entries) > 0 || !strings.HasPrefix(err.Error(), "rules.yaml:3: ") {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
	// Ordinary ends of lines, and any other text, are read.
	for _, text := range []string{strings.ReplaceAll(list, "%", " é 日本 שלום\n"), strings.ReplaceAll(strings.ReplaceAll(list, "%", "\n"), "\n", "\r\n")} {
		if entries, err := Parse("rules.yaml", []byte(text)); err != nil || len(entries) != 2 {
			t.Errorf("%q: %d entries, %v", text, len(entries), err)
		}
	}
}
