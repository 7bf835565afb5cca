package daemon

import (
	"errors"
	"testing"
)

// TestWithoutRepeating: what is refused for the reason that the first error says is not explained
// twice, and another reason is kept.
func TestWithoutRepeating(t *testing.T) {
	first := errors.New("it is not remembered: it runs what it downloads")
	for second, want := range map[string]string{
		"an answer would not be either: it runs what it downloads": "it is not remembered: it runs what it downloads; an answer would not be either",
		"an answer would not be either: it is too large":           "it is not remembered: it runs what it downloads; an answer would not be either: it is too large",
		"it runs no file": "it is not remembered: it runs what it downloads; it runs no file",
	} {
		got := withoutRepeating(first, errors.New(second))
		if got.Error() != want || !errors.Is(got, first) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
