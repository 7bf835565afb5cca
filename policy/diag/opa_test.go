package diag

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"program", "program", 0}, {"progam", "program", 1},
		{"prgoram", "program", 2}, {"host", "port", 2}, {"kitten", "sitting", 3}, {strings.Repeat("x", 65), "x", 64},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
