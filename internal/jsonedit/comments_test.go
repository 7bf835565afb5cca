package jsonedit

import "testing"

// TestPrependBehindComment: a comment in front of the first element stays there,
// once.
func TestPrependBehindComment(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"on its line", "{\"a\": [\n  /* three */ 3,\n  4\n]}", "{\"a\": [\n  /* three */ 1, 2, 3,\n  4\n]}"},
		{"that ends on its line", "{\"a\": [\n  /* thr\n  ee */ 3\n]}", "{\"a\": [\n  /* thr\n  ee */ 1, 2, 3\n]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := parse(t, tt.text)
			after, err := text.Prepend(text.Root().Member("a"), "1", "2")
			if err != nil || string(after.Bytes()) != tt.want {
				t.Fatalf("%v, %q", err, after.Bytes())
			}
			for range 2 {
				if after, err = after.Remove(after.Root().Member("a"), 0); err != nil {
					t.Fatal(err)
				}
			}
			if string(after.Bytes()) != tt.text {
				t.Errorf("removed again: %q", after.Bytes())
			}
		})
	}
}

func TestCommented(t *testing.T) {
	root := parse(t, "{\"a\": {/* x */}, /* y */ \"b\": [ ], \"c\": [1 // z\n]}").Root()
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if got := root.Member(name).Commented(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
