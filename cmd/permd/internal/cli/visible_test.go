package cli

import (
	"errors"
	"slices"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2Jb":    `a\u{1b}[2Jb`,
		"a\nb\tc é":    "a\nb\tc é",
		"a\rb\u202ec":  `a\u{d}b\u{202e}c`,
		"a\xffb\u200b": `a\x{ff}b\u{200b}`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestExclusive: two of the flags are a wrong usage, with a hint.
func TestExclusive(t *testing.T) {
	for _, tt := range []struct {
		given []string
		wrong bool
	}{{nil, false}, {[]string{"a"}, false}, {[]string{"a", "b"}, true}, {[]string{"a", "x"}, false}} {
		err := Exclusive(func(name string) bool { return slices.Contains(tt.given, name) }, "a", "b")
		if f, ok := errors.AsType[*Failure](err); ok != tt.wrong || ok && (f.Code != ExitUsage || f.Hint == "") {
			t.Errorf("%q: %v", tt.given, err)
		}
	}
}
