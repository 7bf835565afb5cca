package rules

import "testing"

func TestTypo(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"git", "gti", true}, {"git", "gitt", true}, {"git", "gt", true}, {"git", "got", true}, {"git", "tig", false},
		{"git", "git", false}, {"make", "cmake", true}, {"npm", "pnpm", true}, {"abcd", "badc", false}, {"ab", "ba", true},
	} {
		if got := isTypo(tt.a, tt.b); got != tt.want {
			t.Errorf("slip(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}
