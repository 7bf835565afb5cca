package jsonedit

import "testing"

func TestCommented(t *testing.T) {
	root := parse(t, "{\"a\": {/* x */}, /* y */ \"b\": [ ], \"c\": [1 // z\n]}").Root()
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if got := root.Member(name).Commented(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
