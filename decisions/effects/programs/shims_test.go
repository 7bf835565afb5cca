package programs

import (
	"testing"
)

// TestShimNames: a file that chooses versions must have a name that can be searched
// for in folders. The table is refused otherwise, so that no file is silently
// ignored.
func TestShimNames(t *testing.T) {
	for line, ok := range map[string]bool{
		".tool-versions": true, "mise.*.toml": true, ".config/mise": true, "MISE.toml": true,
		"versions": false, "config/mise.toml": false, "*.toml": false, ".a*b*": false, ".config/*": false, "../.a": false, "~/.a": false, ".a = none": false,
	} {
		_, err := ParseTable(map[string][]byte{"x.yaml": []byte("shims: {obeys: ['" + line + "']}")})
		if (err == nil) != ok {
			t.Errorf("%s: %v, want it to be taken: %v", line, err, ok)
		}
	}
	if _, err := ParseTable(map[string][]byte{"x.yaml": []byte("shims: {except: [unknown]}")}); err == nil {
		t.Error("an exception for a program that is not in the table")
	}
}
