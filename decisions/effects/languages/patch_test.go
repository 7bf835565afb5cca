package languages

import (
	"slices"
	"strings"
	"testing"
)

// TestPatchLineEnds: a heading that follows a character which only some programs treat as the end
// of a line is not understood; CRLF is.
func TestPatchLineEnds(t *testing.T) {
	changes := func(text string) (list []PatchChange) {
		Patch(text, func(c PatchChange, _ string) bool {
			list = append(list, c)
			return true
		})
		return list
	}
	const begin, end = "*** Begin Patch\n*** Add File: a.txt\n", "\n*** End Patch\n"
	for _, mark := range []string{"\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029", "\r \t", "\x1c ", "\u2028\u00a0"} {
		for _, before := range []string{"+x", "", " x", "-", "+x\u2028y"} {
			for _, heading := range []string{"*** Add File: .git/hooks/x", "***Delete File: b", "*** End Patch"} {
				if text := begin + "+a\n" + before + "." + mark + heading + end; !slices.Contains(changes(text), PatchUnknown) {
					t.Errorf("%q is understood", text)
				}
			}
		}
		for _, line := range []string{"+a" + mark + "b", "+a *** b", "+a" + mark, "+" + mark + "** b"} {
			if text := begin + line + end; slices.Contains(changes(text), PatchUnknown) {
				t.Errorf("%q is not understood", text)
			}
		}
	}
	if list := changes(strings.ReplaceAll(begin+"+x\n*** Update File: b"+end, "\n", "\r\n")); !slices.Equal(list, []PatchChange{PatchWrites, PatchWrites}) {
		t.Errorf("with line ends of another system: %v", list)
	}
}
