package pattern

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"github.com/permd/permd/decisions/effects"
)

// TestFoldTool: names with the same full case folding are one, whatever letters they have.
func TestFoldTool(t *testing.T) {
	last := unicode.MaxRune
	if testing.Short() {
		last = 0x1ffff // nothing above is folded
	}
	fold := cases.Fold()
	for r := range last + 1 {
		if !utf8.ValidRune(r) {
			continue
		}
		if folded := fold.String(string(r)); FoldTool("a"+string(r)) != FoldTool("a"+folded) {
			t.Errorf("%U: %q, its folding %q", r, FoldTool(string(r)), FoldTool(folded))
		}
		if once := FoldTool(string(r)); FoldTool(once) != once {
			t.Errorf("%U: %q becomes %q", r, once, FoldTool(once))
		}
	}
}

// TestFoldedTools: a deny of one form of a name holds for the others, and an allow does not.
func TestFoldedTools(t *testing.T) {
	for _, names := range [][]string{
		{"stra\u00dfe", "STRASSE", "strasse", "STRA\u1e9eE", "\u017ftra\u017f\u017fe"}, {"\ufb01le", "file", "FILE", "F\u0130LE", "fi\u0307le", "f\u0131le"}, {"\u212ai\u212a", "kik", "KIK"},
		{"\u1fd3", "\u0390"}, {"\u03c3\u03c2", "\u03a3\u03a3"},
	} {
		for _, line := range names {
			for _, name := range names {
				pattern, err := parseTool("hub:" + line)
				if err != nil {
					t.Fatal(err)
				}
				e := &effects.Effect{Kind: effects.KindUse, Use: &effects.Use{Server: "Hub", Tool: name}}
				if !pattern.touches(e) {
					t.Errorf("a deny of %+q misses %+q", line, name)
				}
				if e.Use.Server = "hub"; pattern.match(e.Use) != (line == name) {
					t.Errorf("an allow of %+q: %+q is %t", line, name, line != name)
				}
			}
		}
	}
}
