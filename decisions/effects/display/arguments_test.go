package display

import (
	"strings"
	"testing"
)

// TestArguments: what is shown of arguments is all of them, in plain text, or nothing.
func TestArguments(t *testing.T) {
	long := strings.Repeat("a", 3*displayMax)
	for in, want := range map[string]string{
		`{}`:                                  `{}`,
		`{"a" : [1.50, "` + long + `"]}`:      `{"a":[1.50,"` + long + `"]}`,
		`{"a":"\u0072m \u002d\u002frf"}`:      `{"a":"rm -/rf"}`,
		"{\"a\":\"\u202e\u2028\"}":            `{"a":"\u{202e}\u{2028}"}`,
		`{"password":"hunter2-hunter2"}`:      `{"password":"***"}`,
		`"` + long + `ghp_` + long[:40] + `"`: `"` + long + `ghp_` + long[:40] + `"`,
	} {
		if got, ok := Arguments([]byte(in)); !ok || got != want {
			t.Errorf("%.80s: %.200s, %v", in, got, ok)
		}
	}
	for _, in := range []string{
		``, `{`, `"` + strings.Repeat("a", MaxArguments) + `"`, `"` + strings.Repeat("\u202e", MaxArguments/8+1) + `"`, strings.Repeat(" ", 7*MaxArguments) + `{}`,
	} {
		if got, ok := Arguments([]byte(in)); ok {
			t.Errorf("%.80s: %.80s", in, got)
		}
	}
}
