package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFolded: no line is longer than the width unless a single word is, nothing is lost,
// and without a width nothing is changed.
func TestFolded(t *testing.T) {
	const path = "/home/somebody/.config/permd/policy.d/a-very-long-name-that-fits-no-line-of-forty.yaml"
	text := "  policy   one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n" +
		"short\n\n           " + path + " is not read, and there are words after it that are folded\nwörter mit ä ö ü, die länger sind als eine Zeile von vierzig Zeichen\n"
	for _, width := range []int{0, 5, 40, 80} {
		var b bytes.Buffer
		f := &folded{w: &b, column: 11, width: width}
		for _, part := range strings.SplitAfter(text, " ") { // in pieces
			fmt.Fprint(f, part)
		}
		got := b.String()
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Errorf("%d: other words:\n%s", width, got)
		}
		if width <= 11 {
			if got != text {
				t.Errorf("%d: it is changed:\n%s", width, got)
			}
			continue
		}
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > width && len(strings.Fields(line)) > 1 {
				t.Errorf("%d: a line of %d: %q", width, utf8.RuneCountInString(line), line)
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprint(&folded{w: &b, column: 4, width: 20}, "  a  bb ccc dddd eeeee ffffff\n")
	if want := "  a  bb ccc dddd\n    eeeee ffffff\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
