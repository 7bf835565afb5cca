package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCells counts the columns of text.
func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "寿司": 4, "ｱ": 1, "Ａ": 2, "😀": 2, "a\u200db": 2, "…": 1, "\xff\xfe": 2,
		"\x1b[31mdeny\x1b[0m": 4, "\x1b[31": 4, "\x1b[2J": 4, "\x1b[": 2,
	} {
		if got := Cells(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

// TestWideTable: letters that are two columns wide are counted so, what is cut fits, and a
// place keeps its line number.
func TestWideTable(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 60, 40} {
		table := &Table{Flexible: []int{1, 2}, Ends: []int{2}}
		table.Row("ask", strings.Repeat("寿司", 40), "/a/folder/with/a/long/name/policy.d/rules.yaml:123")
		table.Row("allow", "e\u0301"+strings.Repeat("e\u0301", 100), "base/allow.rego:7")
		var b bytes.Buffer
		if err := table.write(&b, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d: %d columns: %s", width, n, line)
			}
		}
		if got := b.String(); !strings.Contains(got, "yaml:123\n") || !strings.Contains(got, "allow.rego:7\n") {
			t.Errorf("%d: a line number is cut:\n%s", width, got)
		}
	}
	// Cells are aligned by columns, not by bytes or letters.
	table := &Table{}
	table.Row("寿司", "x")
	table.Row("abc", "x")
	var b bytes.Buffer
	if err := table.write(&b, 80); err != nil {
		t.Fatal(err)
	}
	if want := "寿司  x\nabc   x\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
