package chars_test

import (
	"encoding/json"
	"testing"
	"unicode"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/testload"
)

// TestEscapeJSON: of every character, the text has its value, and itself only where it is seen. Of
// characters that are seen a sample is tried.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	unseen := []*unicode.RangeTable{unicode.Cf, unicode.Bidi_Control, unicode.Zl, unicode.Zp, unicode.Cc}
	sample := testload.OneIn(t, 16)
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if 0xd800 <= c && c < 0xe000 {
			continue
		}
		if c > unicode.MaxLatin1 && !unicode.In(c, unseen...) && !sample() {
			continue
		}
		want := "a" + string(c) + "b"
		text, err := json.Marshal(map[string]string{want: want})
		if err != nil {
			t.Fatal(err)
		}
		escaped := chars.EscapeJSON(text)
		got := map[string]string{}
		if err := json.Unmarshal(escaped, &got); err != nil || got[want] != want {
			t.Fatalf("%U: %s, %v", c, escaped, err)
		}
		for _, r := range string(escaped) {
			if unicode.In(r, unseen...) {
				t.Fatalf("%U is printed as it is: %s", c, escaped)
			}
		}
	}
}
