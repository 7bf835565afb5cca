package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVisibleLines(t *testing.T) {
	const text = "a\tb\r\nc \u00e4 \u2014\n"
	if got := visibleLines(text); got != text {
		t.Errorf("%q", got)
	}
	if got, want := visibleLines("a\x1b[2K\rb\u202e\u200b\x07\u00a0"), `a\u{1b}[2K\u{d}b\u{202e}\u{200b}\u{7}\u{a0}`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLineDiff(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"in the middle", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"far apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n1\n2\n3\n4\n5\n6\n7\n8\n", "@@ -1,3 +1,4 @@\n+x\n 1\n 2\n 3\n@@ -6,4 +7,3 @@\n 6\n 7\n 8\n-9\n"},
		{"no line end", "1", "1\n2", "@@ -1,1 +1,2 @@\n-1\n\\ No newline at end of file\n+1\n+2\n\\ No newline at end of file\n"},
		{"all new", "", "1\n", "@@ -0,0 +1,1 @@\n+1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff("--- f\n+++ f\n"+tt.want, lineDiff("f", []byte(tt.before), []byte(tt.after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := lineDiff("f", nil, []byte("1\n")); !strings.HasPrefix(got, "--- /dev/null\n+++ f\n") {
		t.Errorf("a new file: %s", got)
	}
}
