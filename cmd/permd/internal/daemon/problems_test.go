package daemon

import (
	"strings"
	"testing"

	rules "github.com/permd/permd/policy"
)

// TestProblemsOfWaiting: both pages of permd review say which rules wait, and what to do.
func TestProblemsOfWaiting(t *testing.T) {
	t.Parallel()
	st := Status{Policy: rules.Status{Waiting: &rules.Waiting{
		Mode: "replay-safe", Parts: []string{"user"}, Trial: &rules.Trial{Decided: 9, Loosened: 2, Example: "0198c000-0000-7000-8000-000000000001"},
	}}}
	list := st.Problems()
	if len(list) != 1 {
		t.Fatalf("%q", list)
	}
	for _, want := range []string{"Changed user rules wait since ", "of the latest 9 decisions they would allow 2 calls that are asked or denied, such as 0198c000", "permd policy replay", "permd reload"} {
		if !strings.Contains(list[0], want) {
			t.Errorf("%q does not say %q", list[0], want)
		}
	}
	st.Degraded = true // by something else: rules that wait do not hide it
	if list := st.Problems(); len(list) != 2 || !strings.Contains(list[0], "degraded") {
		t.Errorf("degraded, and rules wait: %q", list)
	}
	if list := (&Status{}).Problems(); len(list) != 0 {
		t.Errorf("nothing waits: %q", list)
	}
}
