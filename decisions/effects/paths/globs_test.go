package paths

import "testing"

func TestGlobMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true}, {"*", ".a", false}, {".*", ".a", true}, {"*.md", "a.md", true}, {"*.md", "a.go", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"a?c", "aüc", true}, {"a*b*c", "aXbYc", true}, {"a*b*c", "aXcYb", false}, {"*a*a*a", "aaaa", true}, {"[ab]x", "cx", true}, {"x[ab]", "yx", false},
		{"", "a", false}, {"a", "a", true}, {"**", "a", true}, {"*.tar.gz", "a.tar.gz", true}, {"?", "ü", true}, {"??", "ü", true}, {"???", "ü", false}, {"a??b", "aüb", true}, {"?b?", "üb\xff", true}, {"*ü?", "aüü", true}, {"ü", "u", false}, {"[.]env", ".env", true},
	} {
		if got := GlobMatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.pattern, tt.name, got)
		}
	}
}
