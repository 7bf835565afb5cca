package effects

import (
	"slices"
	"testing"
)

func init() { TakesNothing = takesNothing }

// takesNothing checks that all effects of the table are there with the second
// opinion as well, and that no run looks more harmless.
func takesNothing(t *testing.T, entry string, table, with *Table) {
	t.Helper()
	for _, text := range []string{
		"known", "known a b", "known a b c", "known -q --plain a", "known --out=f --in=g", "known -of a", "known --unknown x", "known one a -x",
		"known one deep --x=y", "known uno -x", "known eins b", "known two .env", "known tw-x a", "known new --x", "known -- -x .env", "known --pl",
		"known 'a b' \"$X\"", "cat x | known", "known <<< x", "known new; cat new/../x", "known -20", "known tvf x", "known again",
	} {
		was, before := ran(t, table, text)
		is, after := ran(t, with, text)
		rest := slices.Clone(kindsIn(after))
		for _, line := range kindsIn(before) {
			i := slices.Index(rest, line)
			if i < 0 {
				t.Errorf("%s: %s: %q is gone: %q", entry, text, line, after)
				continue
			}
			rest = slices.Delete(rest, i, i+1)
		}
		if is.Readonly && !was.Readonly || is.HarmlessFrom < was.HarmlessFrom || is.Subcommand != was.Subcommand ||
			!slices.Equal(is.Flags, was.Flags) || is.Known != was.Known || is.Unvouched != nil {
			t.Errorf("%s: %s: it was %+v and is %+v", entry, text, was, is)
		}
	}
}
